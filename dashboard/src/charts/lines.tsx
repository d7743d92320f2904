/** Lines over time. Loaded on first use, since the chart library is large. */
import { LineChart } from "@mantine/charts";
import "@mantine/charts/styles.css";
import { timeAxis, valueAxis } from "./axes.ts";

export interface LinesProps {
  /** title names what the chart shows. */
  readonly title: string;
  /** `at` names the moment; each series' value has the series' name, and is null where there is none. */
  readonly rows: readonly Readonly<Record<string, string | number | null>>[];
  readonly series: readonly { readonly name: string; readonly label: string; readonly color: string }[];
  readonly write: (value: number) => string;
  /** most is the upper end of the scale; default: that of the values. */
  readonly most?: number;
  /** one is what a chart without any value goes up to. */
  readonly one: number;
}

export function Lines({ title, rows, series, write, most, one }: LinesProps) {
  const isEmpty = most === undefined && rows.every((row) => series.every(({ name }) => !row[name]));
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
      xAxisProps={timeAxis(rows.length)}
      yAxisProps={{ width: "auto", ...(most === undefined ? valueAxis(isEmpty, one) : { domain: [0, most] }) }}
    />
  );
}
