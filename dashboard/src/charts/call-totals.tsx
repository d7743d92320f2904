/** The totals of calls as a list of facts: requests, errors, tokens, spend and latency. */
import { SimpleGrid } from "@mantine/core";
import type { RequestTotals } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Fact } from "../parts/fact.tsx";
import { Money } from "../parts/money.tsx";
import { errorsOf } from "./group-table.tsx";
import { tokensOf } from "./split.ts";

const said = texts(
  {
    requests: "Requests",
    errors: "Errors",
    tokens: "Tokens",
    cost: "Spend",
    median: "Latency, median",
    slow: "95th percentile",
  },
  {
    requests: "请求数",
    errors: "错误",
    tokens: "Token",
    cost: "消费",
    median: "耗时中位数",
    slow: "P95",
  },
);

export function CallTotals({ of }: { readonly of: RequestTotals }) {
  const t = useTexts(said);
  const format = useFormat();
  const ms = (value: number | undefined) => (value === undefined ? "–" : format.duration(value));
  return (
    <SimpleGrid component="dl" cols={{ base: 2, xs: 3, lg: 6 }} m={0} verticalSpacing="xs">
      <Fact name={t.requests}>{format.count(of.requests)}</Fact>
      <Fact name={t.errors}>{errorsOf(of, format.percent)}</Fact>
      <Fact name={t.tokens}>
        <span title={format.count(tokensOf(of))}>{format.compact(tokensOf(of))}</span>
      </Fact>
      <Fact name={t.cost}>
        <Money of={of.cost} />
      </Fact>
      <Fact name={t.median}>{ms(of.durationP50Ms)}</Fact>
      <Fact name={t.slow}>{ms(of.durationP95Ms)}</Fact>
    </SimpleGrid>
  );
}
