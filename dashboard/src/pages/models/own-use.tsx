/** Shows what the account itself used of a model, by its keys. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Anchor, SimpleGrid, Text } from "@mantine/core";
import { keepPreviousData } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { RequestGroup, type RequestTotals, UsageService } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { errorsOf } from "../../charts/group-table.tsx";
import { bucketsOf, type SpanName, spans } from "../../charts/span.ts";
import { type Measure, splitSummary, tokensOf } from "../../charts/split.ts";
import { UsageCharts } from "../../charts/usage-charts.tsx";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Money } from "../../parts/money.tsx";
import { Section } from "../../parts/section.tsx";

const said = texts(
  {
    title: "Your use of it",
    about: "By key. Nobody else sees it but the operator.",
    none: "You have not called it in this time.",
    all: "Its requests",
    requests: "Requests",
    errors: "Errors",
    tokens: "Tokens",
    cost: "Cost",
    median: "Latency, median",
    slow: "95th percentile",
    partial: (since: string) =>
      `There are more calls than are read at once. These figures are of the calls since ${since}.`,
  },
  {
    title: "您的用量",
    about: "按密钥显示，除网关管理员外他人不可见。",
    none: "此时段内您没有调用过。",
    all: "查看请求",
    requests: "请求数",
    errors: "错误",
    tokens: "Token",
    cost: "费用",
    median: "耗时中位数",
    slow: "P95",
    partial: (since: string) => `调用数超出一次可读取的数量，以下数据仅包含 ${since} 之后的调用。`,
  },
);

const measures = ["cost", "requests", "tokens"] as const satisfies readonly Measure[];

interface Props {
  readonly model: string;
  readonly spanName: SpanName;
}

export function OwnUse({ model, spanName }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const [now] = useState(Date.now);
  const span = spans[spanName];
  const begins = bucketsOf(span, now);
  const filter = { model, from: timestampFromMs(begins[0] ?? now) };
  const summary = useQuery(
    UsageService.method.summarizeRequests,
    { filter, bucket: span.bucket, groupBy: RequestGroup.KEY },
    { refetchInterval: 30_000, placeholderData: keepPreviousData },
  );
  const keys = useQuery(KeyService.method.listKeys, {}).data?.keys ?? [];
  const names = new Map(keys.map(({ id, name }) => [id, name]));
  const link = (
    <Anchor component={Link} to="/usage" search={{ model } as never} size="sm">
      {t.all}
    </Anchor>
  );
  return (
    <Section title={t.title} about={t.about} actions={link}>
      <Answer of={summary} lines={6}>
        {(answer) =>
          !answer.total || answer.total.requests === 0n ? (
            <Text size="sm" c="dimmed">
              {t.none}
            </Text>
          ) : (
            <>
              {answer.completeFrom && <Text size="sm">{t.partial(format.moment(answer.completeFrom))}</Text>}
              <Totals of={answer.total} />
              <UsageCharts
                of={splitSummary(answer, begins)}
                measures={measures}
                span={span}
                nameOf={(id) => names.get(id) ?? id}
              />
            </>
          )
        }
      </Answer>
    </Section>
  );
}

function Totals({ of }: { readonly of: RequestTotals }) {
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
