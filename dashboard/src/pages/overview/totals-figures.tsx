/** The totals of a time, each with its change against the period before. */
import { Anchor, SimpleGrid } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { RequestTotals } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { tokensOf } from "../../charts/split.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Change } from "../../parts/change.tsx";
import { Figure, Note } from "../../parts/figure.tsx";
import { Money } from "../../parts/money.tsx";

const said = texts(
  {
    spend: "Spend",
    each: (amount: string) => `${amount} a request`,
    requests: "Requests",
    cached: (count: string) => `${count} from the cache`,
    refused: (count: string) => `${count} refused besides`,
    tokens: "Tokens",
    inOut: (input: string, output: string) => `${input} in, ${output} out`,
    errors: "Errors",
    ofAll: (count: string) => `${count} failed or were broken off`,
    noErrors: "None failed",
    latency: "Latency",
    slow: (duration: string) => `Median; 95 of 100 within ${duration}`,
    none: "–",
  },
  {
    spend: "消费",
    each: (amount: string) => `平均每次 ${amount}`,
    requests: "请求数",
    cached: (count: string) => `其中 ${count} 次命中缓存`,
    refused: (count: string) => `另有 ${count} 次被拒绝`,
    tokens: "Token",
    inOut: (input: string, output: string) => `输入 ${input}，输出 ${output}`,
    errors: "错误率",
    ofAll: (count: string) => `${count} 次失败或中断`,
    noErrors: "没有失败",
    latency: "耗时中位数",
    slow: (duration: string) => `95% 在 ${duration} 内完成`,
    none: "–",
  },
);

/** Sums is what is known exactly, of all calls, kept or not. */
export interface Sums {
  readonly cost: bigint;
  readonly requests: bigint;
  readonly tokens: bigint;
}

interface Props {
  /** now and before are the sums of the time and of the period before; undefined while they load. */
  readonly now: Sums | undefined;
  readonly before: Sums | undefined;
  /** calls and callsBefore have what the sums do not. */
  readonly calls: RequestTotals | undefined;
  readonly callsBefore: RequestTotals | undefined;
  /** hasFailed tells which of them could not be had. */
  readonly hasFailed: { readonly now: boolean; readonly calls: boolean };
  /** refused is the number of refused calls of the time, and where they are listed. */
  readonly refused?: { readonly count: bigint; readonly at: "/usage" | "/operator/requests" } | undefined;
  /** children are figures before these. */
  readonly children?: ReactNode;
}

export function TotalsFigures({ now, before, calls, callsBefore, hasFailed, refused, children }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const { usage } = calls ?? {};
  const input = usage ? usage.inputTokens + usage.cacheReadTokens + usage.cacheWriteTokens : 0n;
  const duration = (ms: number | undefined) => (ms === undefined ? t.none : format.duration(ms));
  return (
    <SimpleGrid cols={{ base: 1, xs: 2, md: 3, ...(children ? {} : { lg: 5 }) }}>
      {children}
      <Figure
        title={t.spend}
        value={now && <Money of={now.cost} />}
        hasFailed={hasFailed.now}
        change={changeOf("cost", now, before)}
      >
        {now && <Note>{now.requests > 0n ? t.each(format.rounded(now.cost / now.requests)) : t.none}</Note>}
      </Figure>
      <Figure
        title={t.requests}
        value={now && format.count(now.requests)}
        hasFailed={hasFailed.now}
        change={changeOf("requests", now, before)}
      >
        {calls && calls.cached > 0n && <Note>{t.cached(format.count(calls.cached))}</Note>}
        {refused && refused.count > 0n && (
          <Note>
            <Anchor component={Link} to={refused.at} search={{ view: "refused" } as never} fz="inherit">
              {t.refused(format.count(refused.count))}
            </Anchor>
          </Note>
        )}
      </Figure>
      <Figure
        title={t.tokens}
        value={now && <span title={format.count(now.tokens)}>{format.compact(now.tokens)}</span>}
        hasFailed={hasFailed.now}
        change={changeOf("tokens", now, before)}
      >
        {usage && <Note>{t.inOut(format.compact(input), format.compact(usage.outputTokens))}</Note>}
      </Figure>
      <Figure
        title={t.errors}
        value={calls && format.percent(errorShare(calls) ?? 0)}
        hasFailed={hasFailed.calls}
        change={<Change now={calls ? (errorShare(calls) ?? 0) : 0} before={errorShare(callsBefore)} good="down" />}
      >
        {calls && <Note>{calls.errors > 0n ? t.ofAll(format.count(calls.errors)) : t.noErrors}</Note>}
      </Figure>
      <Figure
        title={t.latency}
        value={calls && duration(calls.durationP50Ms)}
        hasFailed={hasFailed.calls}
        change={
          calls?.durationP50Ms !== undefined && (
            <Change now={calls.durationP50Ms} before={callsBefore?.durationP50Ms} good="down" />
          )
        }
      >
        {calls?.durationP95Ms !== undefined && <Note>{t.slow(duration(calls.durationP95Ms))}</Note>}
      </Figure>
    </SimpleGrid>
  );
}

function changeOf(measure: keyof Sums, now: Sums | undefined, before: Sums | undefined) {
  return now && before && <Change now={Number(now[measure])} before={Number(before[measure])} />;
}

/** errorShare returns the share of calls that failed; undefined where there were no calls. */
function errorShare(calls: RequestTotals | undefined): number | undefined {
  if (!calls || calls.requests === 0n) return undefined;
  return Number(calls.errors) / Number(calls.requests);
}

/** sumsOf returns the sums that are within totals. */
export function sumsOf(calls: RequestTotals | undefined): Sums | undefined {
  return calls && { cost: calls.cost, requests: calls.requests, tokens: tokensOf(calls) };
}
