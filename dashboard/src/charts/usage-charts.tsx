/** Several measures of the same groups, side by side, with one legend. */
import { SimpleGrid, Stack } from "@mantine/core";
import { texts, useTexts } from "../language/language.tsx";
import type { Buckets } from "./span.ts";
import type { Measure, Split } from "./split.ts";
import { ChartLegend, UsageChart } from "./usage-chart.tsx";

const said = texts(
  { cost: "Spend", requests: "Requests", tokens: "Tokens", errors: "Errors" },
  { cost: "消费", requests: "请求数", tokens: "Token", errors: "错误" },
);

interface Props {
  readonly of: Split;
  readonly measures: readonly Measure[];
  /** span says whether the buckets are hours or days. */
  readonly span: Pick<Buckets, "bucket">;
  readonly nameOf: (id: string) => string;
}

export function UsageCharts({ of, measures, span, nameOf }: Props) {
  const t = useTexts(said);
  return (
    <Stack gap="sm">
      <SimpleGrid cols={{ base: 1, lg: measures.length }}>
        {measures.map((measure) => (
          <UsageChart key={measure} title={t[measure]} {...{ measure, of, span, nameOf }} />
        ))}
      </SimpleGrid>
      <ChartLegend of={of} nameOf={nameOf} />
    </Stack>
  );
}
