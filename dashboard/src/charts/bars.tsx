/** Stacked bars. Loaded on first use, since the chart library is large. */
import { BarChart } from "@mantine/charts";
import "@mantine/charts/styles.css";
import { timeAxis, valueAxis } from "./axes.ts";

export interface BarsProps {
  /** title names what the chart shows. */
  readonly title: string;
  /** `at` names the bar; each series' value has the series' name. */
  readonly rows: readonly Readonly<Record<string, string | number>>[];
  readonly series: readonly { readonly name: string; readonly label: string; readonly color: string }[];
  readonly write: (value: number) => string;
  /** one is what a chart without any value goes up to. */
  readonly one: number;
}

export function Bars({ title, rows, series, write, one }: BarsProps) {
  const isEmpty = rows.every((row) => series.every(({ name }) => !row[name]));
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
      xAxisProps={timeAxis(rows.length)}
      yAxisProps={{ width: "auto", allowDecimals: false, ...valueAxis(isEmpty, one) }}
    />
  );
}
