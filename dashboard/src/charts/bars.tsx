/** Stacked bars. Loaded on first use, since the chart library is large. */
import { BarChart } from "@mantine/charts";
import "@mantine/charts/styles.css";

export interface BarsProps {
  /** title names what the chart shows. */
  readonly title: string;
  /** `at` names the bar; each series' value has the series' name. */
  readonly rows: readonly Readonly<Record<string, string | number>>[];
  readonly series: readonly { readonly name: string; readonly label: string; readonly color: string }[];
  readonly write: (value: number) => string;
}

export function Bars({ title, rows, series, write }: BarsProps) {
  // Without any value the axis has 0 alone: the library's own would count in parts of a cent.
  const isEmpty = rows.every((row) => series.every(({ name }) => !row[name]));
  const empty = isEmpty ? { domain: [0, 1], ticks: [0] } : {};
  return (
    <BarChart
      h={200}
      data={[...rows]}
      dataKey="at"
      type="stacked"
      series={[...series]}
      valueFormatter={write}
      tickLine="none"
      maxBarWidth={32}
      barProps={{ isAnimationActive: false }}
      barChartProps={{ title, margin: { left: 0, right: 8, top: 8, bottom: 0 } }}
      xAxisProps={{ interval: "equidistantPreserveStart", minTickGap: 24 }}
      yAxisProps={{ width: "auto", allowDecimals: false, ...empty }}
    />
  );
}
