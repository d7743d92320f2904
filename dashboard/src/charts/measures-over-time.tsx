/** Shows how an upstream or a model did, over a span of time that the reader chooses. */
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { useQuery } from "@connectrpc/connect-query";
import { Group, SimpleGrid, Stack, Text, Title } from "@mantine/core";
import { useInterval } from "@mantine/hooks";
import { keepPreviousData } from "@tanstack/react-query";
import { useState } from "react";
import type { AttemptMeasures } from "../../../gen/modelgateway/v1/measures_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { SpanControl } from "../pages/overview/span-control.tsx";
import { Answer } from "../parts/answer.tsx";
import { Fact } from "../parts/fact.tsx";
import { answeredShare, MeasureCharts } from "./measure-charts.tsx";
import { PartialFigures } from "./partial-figures.tsx";
import { bucketsOf, type SpanName, spans } from "./span.ts";

const said = texts(
  {
    title: "Over time",
    about: "Of the calls that are kept.",
    none: "No calls in this time.",
    attempts: "Attempts",
    answered: "Answered",
    firstByte: "First byte, median",
    slow: "First byte, 95th percentile",
    duration: "Duration, median",
    pace: "Output tokens a second",
  },
  {
    title: "走势",
    about: "基于保留的调用记录。",
    none: "此时段内没有调用。",
    attempts: "尝试次数",
    answered: "应答率",
    firstByte: "首字节中位数",
    slow: "首字节 P95",
    duration: "耗时中位数",
    pace: "每秒输出 Token 数",
  },
);

const refreshMs = 60_000;

interface Props {
  readonly upstream?: string;
  readonly model?: string;
}

export function MeasuresOverTime(of: Props) {
  const t = useTexts(said);
  const [spanName, setSpanName] = useState<SpanName>("day");
  const [now, setNow] = useState(Date.now);
  useInterval(() => setNow(Date.now()), refreshMs, { autoInvoke: true });
  const span = spans[spanName];
  const begins = bucketsOf(span, now);
  const request = { ...of, bucket: span.bucket, from: timestampFromMs(begins[0] ?? now) };
  const measures = useQuery(OperatorService.method.measureAttempts, request, {
    refetchInterval: refreshMs,
    placeholderData: keepPreviousData,
  });
  return (
    <Stack gap="md" component="section" aria-label={t.title}>
      <Group justify="space-between" align="flex-end" gap="sm">
        <div>
          <Title order={2} size="h4">
            {t.title}
          </Title>
          <Text size="sm" c="dimmed">
            {t.about}
          </Text>
        </div>
        <SpanControl value={spanName} onChange={setSpanName} />
      </Group>
      <Answer of={measures} lines={6}>
        {({ total, sums, completeFrom }) =>
          !total || total.attempts === 0n ? (
            <Text size="sm" c="dimmed">
              {t.none}
            </Text>
          ) : (
            <>
              {completeFrom && (
                <Text size="sm">
                  <PartialFigures since={completeFrom} />
                </Text>
              )}
              <Totals of={total} />
              <MeasureCharts
                sums={sums.map((sum) => ({ ...sum, answered: answeredShare(sum) }))}
                buckets={{ bucket: span.bucket, begins }}
                parts="attempts"
              />
            </>
          )
        }
      </Answer>
    </Stack>
  );
}

function Totals({ of }: { readonly of: AttemptMeasures }) {
  const t = useTexts(said);
  const format = useFormat();
  const ms = (value: number | undefined) => (value === undefined ? "–" : format.duration(value));
  const { tokensPerSecondP50: pace } = of;
  const share = answeredShare(of);
  return (
    <SimpleGrid component="dl" cols={{ base: 2, xs: 3, md: 6 }} m={0} verticalSpacing="xs">
      <Fact name={t.attempts}>{format.count(of.attempts)}</Fact>
      <Fact name={t.answered}>{share === undefined ? "–" : format.percent(share)}</Fact>
      <Fact name={t.firstByte}>{ms(of.firstByteP50Ms)}</Fact>
      <Fact name={t.slow}>{ms(of.firstByteP95Ms)}</Fact>
      <Fact name={t.duration}>{ms(of.durationP50Ms)}</Fact>
      <Fact name={t.pace}>{pace === undefined ? "–" : format.count(Math.round(pace))}</Fact>
    </SimpleGrid>
  );
}
