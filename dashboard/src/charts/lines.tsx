/** Lines over time. Loaded on first use, since the chart library is large. */
import { LineChart } from "@mantine/charts";
import "@mantine/charts/styles.css";

export interface LinesProps {
  /** title names what the chart shows. */
  readonly title: string;
  /** `at` names the moment; each series' value has the series' name, and is null where there is none. */
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
  readonly series: readonly { readonly name: string; readonly label: string; readonly color: string }[];
  readonly write: (value: number) => string;
  /** most is the upper end of the scale; default: that of the values. */
  readonly most?: number;
}

export function Lines({ title, rows, series, write, most }: LinesProps) {
  return (
    <LineChart
      h={180}
      data={[...rows]}
      dataKey="at"
      series={[...series]}
      valueFormatter={write}
      tickLine="none"
      curveType="monotone"
      connectNulls={false}
      withDots
      dotProps={{ r: 2 }}
      lineProps={{ isAnimationActive: false }}
      lineChartProps={{ title, margin: { left: 0, right: 8, top: 8, bottom: 0 } }}
      xAxisProps={{ interval: "equidistantPreserveStart", minTickGap: 24 }}
      yAxisProps={{ width: "auto", ...(most === undefined ? {} : { domain: [0, most] }) }}
    />
  );
}
