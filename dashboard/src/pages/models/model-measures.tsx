/** Shows how reliable and how fast a model was for all accounts together. */
import { useQuery } from "@connectrpc/connect-query";
import { Paper, SimpleGrid, Text } from "@mantine/core";
import { keepPreviousData } from "@tanstack/react-query";
import { AccountService, type ModelMeasures as Measures } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { MeasureCharts } from "../../charts/measure-charts.tsx";
import { bucketsOf, type SpanName, spans } from "../../charts/span.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Fact } from "../../parts/fact.tsx";

const said = texts(
  {
    about: "As the gateway measured the calls of all accounts. Times with few calls are left out.",
    few: "There were too few calls in this time to tell how it does.",
    answered: "Answered",
    firstByte: "First byte, median",
    slowByte: "First byte, 95th percentile",
    duration: "Duration, median",
    slow: "Duration, 95th percentile",
    pace: "Output tokens a second",
  },
  {
    about: "由网关对所有账户的调用测得，调用较少的时段不显示。",
    few: "此时段内的调用太少，无法判断其表现。",
    answered: "应答率",
    firstByte: "首字节中位数",
    slowByte: "首字节 P95",
    duration: "耗时中位数",
    slow: "耗时 P95",
    pace: "每秒输出 Token 数",
  },
);

const days: Readonly<Record<SpanName, number>> = { day: 1, week: 7, month: 30 };

interface Props {
  readonly model: string;
  readonly spanName: SpanName;
}

export function ModelMeasures({ model, spanName }: Props) {
  const t = useTexts(said);
  const span = spans[spanName];
  const asked = { model, days: days[spanName] };
  const measures = useQuery(AccountService.method.measureModels, asked, {
    refetchInterval: 60_000,
    placeholderData: keepPreviousData,
  });
  return (
    <Answer of={measures} lines={6}>
      {({ models: [total], sums }) =>
        total ? (
          <>
            <Totals of={total} />
            <MeasureCharts
              sums={sums}
              buckets={{ bucket: span.bucket, begins: bucketsOf(span, Date.now()) }}
              parts="calls"
            />
          </>
        ) : (
          <Text size="sm" c="dimmed">
            {t.few}
          </Text>
        )
      }
    </Answer>
  );
}

function Totals({ of }: { readonly of: Measures }) {
  const t = useTexts(said);
  const format = useFormat();
  const ms = (value: number | undefined) => (value === undefined ? "–" : format.duration(value));
  const { tokensPerSecondP50: pace } = of;
  return (
    <Paper withBorder p={{ base: "md", sm: "lg" }}>
      <SimpleGrid component="dl" cols={{ base: 2, xs: 3, md: 6 }} m={0} verticalSpacing="xs">
        <Fact name={t.answered}>{format.percent(of.answered)}</Fact>
        <Fact name={t.firstByte}>{ms(of.firstByteP50Ms)}</Fact>
        <Fact name={t.slowByte}>{ms(of.firstByteP95Ms)}</Fact>
        <Fact name={t.duration}>{ms(of.durationP50Ms)}</Fact>
        <Fact name={t.slow}>{ms(of.durationP95Ms)}</Fact>
        <Fact name={t.pace}>{pace === undefined ? "–" : format.count(Math.round(pace))}</Fact>
      </SimpleGrid>
      <Text size="xs" c="dimmed" mt="sm">
        {t.about}
      </Text>
    </Paper>
  );
}
