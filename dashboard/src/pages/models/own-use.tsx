/** Shows what the account itself used of a model, by its keys. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Anchor, Text } from "@mantine/core";
import { keepPreviousData } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { RequestGroup, UsageService } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { CallTotals } from "../../charts/call-totals.tsx";
import { PartialFigures } from "../../charts/partial-figures.tsx";
import { bucketsOf, type SpanName, spans } from "../../charts/span.ts";
import { type Measure, splitSummary } from "../../charts/split.ts";
import { UsageCharts } from "../../charts/usage-charts.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Section } from "../../parts/section.tsx";

const said = texts(
  {
    title: "Your use of it",
    about: "By key. Nobody else sees it but the operator.",
    none: "You have not called it in this time.",
    all: "Its requests",
  },
  {
    title: "您的用量",
    about: "按密钥显示，除网关管理员外他人不可见。",
    none: "此时段内您没有调用过。",
    all: "查看请求",
  },
);

const measures = ["cost", "requests", "tokens"] as const satisfies readonly Measure[];

interface Props {
  readonly model: string;
  readonly spanName: SpanName;
}

export function OwnUse({ model, spanName }: Props) {
  const t = useTexts(said);
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
              {answer.completeFrom && (
                <Text size="sm">
                  <PartialFigures since={answer.completeFrom} />
                </Text>
              )}
              <CallTotals of={answer.total} />
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
