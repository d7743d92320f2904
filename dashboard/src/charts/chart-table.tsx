/** ChartTable has a chart's values as a table, for readers who cannot see the chart. */
import { Box, VisuallyHidden } from "@mantine/core";
import { texts, useTexts } from "../language/language.tsx";

const said = texts({ time: "Time" }, { time: "时间" });

interface Props {
  readonly caption: string;
  /** columns are those behind the time, by names of their own: labels may be alike. */
  readonly columns: readonly { readonly name: string; readonly label: string }[];
  /** rows have the values of the columns, in their order. */
  readonly rows: readonly { readonly begins: number; readonly when: string; readonly values: readonly string[] }[];
}

export function ChartTable({ caption, columns, rows }: Props) {
  const t = useTexts(said);
  return (
    <Box pos="relative">
      <VisuallyHidden>
        <table>
          <caption>{caption}</caption>
          <thead>
            <tr>
              <th scope="col">{t.time}</th>
              {columns.map(({ name, label }) => (
                <th scope="col" key={name}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ begins, when, values }) => (
              <tr key={begins}>
                <th scope="row">{when}</th>
                {values.map((value, i) => (
                  <td key={columns[i]?.name}>{value}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </VisuallyHidden>
    </Box>
  );
}
