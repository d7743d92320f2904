/** A call's outcome, or that it is running, as an icon and a word. */
import { Group, Text } from "@mantine/core";
import {
  IconBan,
  IconBolt,
  IconCircleCheck,
  IconCircleX,
  IconGhost,
  IconLoader,
  IconPlugConnectedX,
  IconUserMinus,
} from "@tabler/icons-react";
import type { ComponentType } from "react";
import { Outcome, type Request } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  {
    answered: "Answered",
    failed: "Failed",
    broken: "Broken off",
    left: "Caller left",
    lost: "Lost",
    rejected: "Rejected upstream",
    running: "Under way",
    cached: "Cached",
    answeredMeans: "Answered to the end.",
    failedMeans: "The upstream returned nothing. Not charged.",
    brokenMeans: "The upstream broke off after the answer had begun. Charged up to then.",
    leftMeans:
      "The caller disconnected, or its own time-out passed. Charged for what had come; nothing before the first byte.",
    lostMeans: "The gateway stopped during the call. Not charged.",
    rejectedMeans:
      "The upstream rejected the request itself. Charged for what had come, or what the upstream billed; else nothing.",
    runningMeans: "The most that it may cost is held.",
    cachedMeans: "Answered from the cache. No upstream was asked.",
  },
  {
    answered: "已完成",
    failed: "失败",
    broken: "中断",
    left: "调用方离开",
    lost: "丢失",
    rejected: "上游拒绝",
    running: "进行中",
    cached: "缓存命中",
    answeredMeans: "已完整应答。",
    failedMeans: "上游没有返回任何内容，不收费。",
    brokenMeans: "应答开始后上游中断，按已产生的用量收费。",
    leftMeans: "调用方已断开，或其自设的超时已到：首字节之前不收费，之后按已产生的用量收费。",
    lostMeans: "调用期间网关停止运行，不收费。",
    rejectedMeans: "上游认为请求本身有误而拒绝，仅按已产生或上游已计费的用量收费。",
    runningMeans: "已预留可能产生的最高费用。",
    cachedMeans: "应答来自缓存，未调用上游。",
  },
);

/** outcomes are the outcomes by their public names. */
export const outcomes = {
  answered: Outcome.ANSWERED,
  failed: Outcome.FAILED,
  broken: Outcome.BROKEN,
  left: Outcome.LEFT,
  lost: Outcome.LOST,
  rejected: Outcome.REJECTED,
} as const;

export type OutcomeWord = keyof typeof outcomes;

type Icon = ComponentType<{ readonly size?: number; readonly color?: string }>;

const icons: Readonly<Record<OutcomeWord | "running" | "cached", readonly [icon: Icon, color: string]>> = {
  answered: [IconCircleCheck, "var(--mantine-color-teal-7)"],
  cached: [IconBolt, "var(--mantine-color-teal-7)"],
  failed: [IconCircleX, "var(--mantine-color-red-7)"],
  broken: [IconPlugConnectedX, "var(--mantine-color-orange-7)"],
  left: [IconUserMinus, "var(--mantine-color-dimmed)"],
  lost: [IconGhost, "var(--mantine-color-red-7)"],
  rejected: [IconBan, "var(--mantine-color-yellow-9)"],
  running: [IconLoader, "var(--mantine-color-blue-7)"],
};

function outcomeWord(outcome: Outcome): OutcomeWord | undefined {
  return (Object.keys(outcomes) as OutcomeWord[]).find((word) => outcomes[word] === outcome);
}

/** useOutcomeNames returns the names of the outcomes. */
export function useOutcomeNames(): Readonly<Record<OutcomeWord, string>> {
  return useTexts(said);
}

/** Ended is an ended call; a running one has none. */
type Ended = Pick<Request, "outcome" | "cached">;

function wordOf(call: Ended | undefined): keyof typeof icons | undefined {
  if (!call) return "running";
  return call.cached && call.outcome === Outcome.ANSWERED ? "cached" : outcomeWord(call.outcome);
}

/** useOutcomeMeaning explains a call's outcome, and what is charged for it. */
export function useOutcomeMeaning(call: Ended): string {
  const t = useTexts(said);
  const word = wordOf(call);
  return word ? t[`${word}Means`] : "";
}

/** OutcomeMark shows an outcome. `of` is unset for a running call. */
export function OutcomeMark({ of }: { readonly of: Ended | undefined }) {
  const t = useTexts(said);
  const word = wordOf(of);
  if (!word) return null;
  const [Icon, color] = icons[word];
  return (
    <Group gap={6} wrap="nowrap" title={t[`${word}Means`]}>
      <Icon size={16} color={color} aria-hidden />
      <Text span inherit>
        {t[word]}
      </Text>
    </Group>
  );
}
