/** The attempts of one call on the time that it took, with their results: those that failed or were overtaken, and the last. */
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { Group, Stack, Table, Text } from "@mantine/core";
import { IconPlayerTrackNext } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { type FailedAttempt, Outcome, type Request } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { OutcomeMark } from "../../parts/outcome.tsx";
import text from "../../parts/text.module.css";
import { useFailureText } from "../../parts/use-failure-text.ts";
import { WideTable } from "../../parts/wide-table.tsx";
import { AttemptBar, type AttemptBarProps } from "./attempt-bar.tsx";

const said = texts(
  {
    asked: "Upstreams that were asked",
    upstream: "Upstream",
    outcome: "Status",
    timeline: "Time",
    firstByte: "First byte",
    duration: "Duration",
    overtaken: "Overtaken",
    quicker: "Another attempt was quicker.",
    told: (input: string, output: string) =>
      `Its upstream reported ${input} input and ${output} output tokens. Not charged to the account.`,
    lost: (amount: string) => `Its upstream may charge the gateway about ${amount} for it. Not charged to the account.`,
  },
  {
    asked: "调用过的上游",
    upstream: "上游",
    outcome: "状态",
    timeline: "时间",
    firstByte: "首字节",
    duration: "耗时",
    overtaken: "已放弃",
    quicker: "另一次尝试更快返回。",
    told: (input: string, output: string) =>
      `上游报告了 ${input} 个输入 Token 和 ${output} 个输出 Token，不计入账户费用。`,
    lost: (amount: string) => `上游可能就此向网关收取约 ${amount}，不计入账户费用。`,
  },
);

interface Row {
  readonly upstream: string;
  /** model is set where the attempts were of several. */
  readonly model: string | undefined;
  readonly outcome: ReactNode;
  readonly bar: AttemptBarProps;
  /** firstByteMs and durationMs count from the attempt's begin. */
  readonly firstByteMs: number | undefined;
  readonly durationMs: number;
}

/** rowsOf returns the attempts, the last one last. */
function rowsOf(request: Request): readonly Row[] {
  const { model, upstream, firstByteMs, durationMs, tried } = request;
  const begins = tried.map((attempt) => beginOf(request, attempt));
  // The last attempt began when the one before had failed; beside one that it overtook, it is not known when.
  const lastBegin = Math.min(
    durationMs,
    Math.max(
      0,
      ...tried.map(({ durationMs, overtaken }, place) => (overtaken ? 0 : (begins[place] ?? 0) + durationMs)),
    ),
  );
  // If all attempts were of one model, it is shown above.
  const several = tried.some((attempt) => attempt.model !== "");
  const earlier = tried.map((attempt, place): Row => {
    const from = begins[place] ?? 0;
    return {
      ...{ upstream: attempt.upstream, model: several ? attempt.model || model : undefined },
      outcome: attempt.overtaken ? <Overtaken of={attempt} /> : <Failed of={attempt} />,
      bar: { from, to: from + attempt.durationMs, of: durationMs, look: lookOf(attempt) },
      ...{ firstByteMs: undefined, durationMs: attempt.durationMs },
    };
  });
  const last: Row = {
    ...{ upstream: upstream || "–", model: several ? model : undefined, outcome: <OutcomeMark of={request} /> },
    bar: {
      from: lastBegin,
      to: durationMs,
      of: durationMs,
      firstByte: firstByteMs,
      look: looks[request.outcome] ?? "answered",
    },
    firstByteMs: firstByteMs === undefined ? undefined : Math.max(0, firstByteMs - lastBegin),
    durationMs: Math.max(0, durationMs - lastBegin),
  };
  return [...earlier, last];
}

export function AttemptTable({ request }: { readonly request: Request }) {
  const t = useTexts(said);
  const format = useFormat();
  const rows = rowsOf(request);
  return (
    <WideTable label={t.asked} minWidth={620} cards={<Cards rows={rows} />} flush>
      <Table.Thead>
        <Table.Tr>
          <Table.Th scope="col">{t.upstream}</Table.Th>
          <Table.Th scope="col">{t.outcome}</Table.Th>
          <Table.Th scope="col" w="40%">
            {t.timeline}
          </Table.Th>
          <Table.Th scope="col" ta="right">
            {t.firstByte}
          </Table.Th>
          <Table.Th scope="col" ta="right">
            {t.duration}
          </Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {rows.map(({ upstream, model, outcome, bar, firstByteMs, durationMs }, place) => (
          <Table.Tr key={place}>
            <Table.Td>
              {upstream}
              {model && <Aside>{model}</Aside>}
            </Table.Td>
            <Table.Td>{outcome}</Table.Td>
            <Table.Td>
              <AttemptBar {...bar} />
            </Table.Td>
            <Table.Td className={text.number}>
              {firstByteMs === undefined ? "–" : format.duration(firstByteMs)}
            </Table.Td>
            <Table.Td className={text.number}>{format.duration(durationMs)}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}

/** Cards show the timeline in its whole width, each attempt below the one before. */
function Cards({ rows }: { readonly rows: readonly Row[] }) {
  const t = useTexts(said);
  const format = useFormat();
  return (
    <Stack component="ul" gap="md" className={text.list} aria-label={t.asked}>
      {rows.map(({ upstream, model, outcome, bar, firstByteMs, durationMs }, place) => (
        <Stack key={place} component="li" gap={6} display="flex">
          <Group justify="space-between" align="flex-start" gap="xs" fz="sm">
            <div>
              {upstream}
              {model && <Aside>{model}</Aside>}
            </div>
            <div>{outcome}</div>
          </Group>
          <AttemptBar {...bar} />
          <Text size="xs" c="dimmed">
            {firstByteMs !== undefined && `${t.firstByte} ${format.duration(firstByteMs)} · `}
            {t.duration} {format.duration(durationMs)}
          </Text>
        </Stack>
      ))}
    </Stack>
  );
}

/** beginOf returns when an attempt began, in milliseconds after the call. */
function beginOf({ createdAt, durationMs }: Request, { at }: FailedAttempt): number {
  if (!createdAt || !at) return 0;
  return Math.min(durationMs, Math.max(0, timestampMs(at) - timestampMs(createdAt)));
}

function lookOf({ overtaken, outcome }: FailedAttempt): AttemptBarProps["look"] {
  if (overtaken || outcome === Outcome.LEFT) return "overtaken";
  return outcome === Outcome.REJECTED ? "rejected" : "failed";
}

const looks: Readonly<Partial<Record<Outcome, AttemptBarProps["look"]>>> = {
  [Outcome.FAILED]: "failed",
  [Outcome.LOST]: "failed",
  [Outcome.REJECTED]: "rejected",
};

function Failed({ of }: { readonly of: FailedAttempt }) {
  const tell = useFailureText();
  return (
    <>
      <OutcomeMark of={{ outcome: of.outcome, cached: false }} />
      <Aside>{tell(of.failure)}</Aside>
      <Told of={of} />
    </>
  );
}

function Overtaken({ of }: { readonly of: FailedAttempt }) {
  const t = useTexts(said);
  const format = useFormat();
  return (
    <>
      <Group gap={6} wrap="nowrap">
        <IconPlayerTrackNext size={16} color="var(--mantine-color-dimmed)" aria-hidden />
        <span>{t.overtaken}</span>
      </Group>
      <Aside>{t.quicker}</Aside>
      <Told of={of} />
      {of.lostCost > 0n && <Aside>{t.lost(format.money(of.lostCost))}</Aside>}
    </>
  );
}

/** Told names the usage that the attempt's upstream reported. */
function Told({ of: { told } }: { readonly of: FailedAttempt }) {
  const [t, format] = [useTexts(said), useFormat()];
  if (!told) return null;
  const input = told.inputTokens + told.cacheReadTokens + told.cacheWriteTokens;
  return <Aside>{t.told(format.count(input), format.count(told.outputTokens))}</Aside>;
}

function Aside({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="xs" c="dimmed">
      {children}
    </Text>
  );
}
