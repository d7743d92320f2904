/** An upstream's health and health checks, as an icon and a word. */
import { Badge, Group, Text } from "@mantine/core";
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleX,
  IconPlayerPause,
} from "@tabler/icons-react";
import { UpstreamHealth } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";

const said = texts(
  {
    unknown: "Idle",
    unknownMeans: "No request went to it in the last 15 minutes.",
    good: "Good",
    goodMeans: "Fewer than one attempt in ten failed.",
    poor: "Poor",
    poorMeans: "One attempt in ten failed, or more.",
    failing: "Failing",
    failingMeans: "More than half of the attempts failed, the last among them.",
    passes: "Passing",
    fails: "Failing",
    failsMeans: "It is passed over where a model has another target.",
    off: "Switched off",
    offMeans: "It gets no calls. Its settings are kept.",
  },
  {
    unknown: "空闲",
    unknownMeans: "最近 15 分钟内没有请求。",
    good: "良好",
    goodMeans: "失败率低于十分之一。",
    poor: "较差",
    poorMeans: "失败率达到或超过十分之一。",
    failing: "故障",
    failingMeans: "超过一半的尝试失败，且最近一次也失败。",
    passes: "通过",
    fails: "未通过",
    failsMeans: "模型有其他目标时会跳过此上游。",
    off: "已停用",
    offMeans: "不接收调用，设置予以保留。",
  },
);

const looks = {
  unknown: [IconCircleDashed, "gray"],
  good: [IconCircleCheck, "teal"],
  poor: [IconAlertTriangle, "yellow"],
  failing: [IconCircleX, "red"],
} as const;

const names: Partial<Record<UpstreamHealth, keyof typeof looks>> = {
  [UpstreamHealth.GOOD]: "good",
  [UpstreamHealth.POOR]: "poor",
  [UpstreamHealth.FAILING]: "failing",
};

export function HealthMark({ of }: { readonly of: UpstreamHealth }) {
  const t = useTexts(said);
  const name = names[of] ?? "unknown";
  const [Icon, color] = looks[name];
  return (
    <Group gap={6} wrap="nowrap" title={t[`${name}Means`]}>
      <Icon size={20} color={`var(--mantine-color-${color}-6)`} aria-hidden />
      <Text size="sm" fw={600} style={{ whiteSpace: "nowrap" }}>
        {t[name]}
      </Text>
    </Group>
  );
}

/** OffMark is in the place of the health of an upstream that is switched off. */
export function OffMark() {
  const t = useTexts(said);
  return (
    <Badge
      variant="default"
      tt="none"
      title={t.offMeans}
      leftSection={<IconPlayerPause size={12} aria-hidden />}
      style={{ flex: "none" }}
    >
      {t.off}
    </Badge>
  );
}

export function CheckMark({ passes }: { readonly passes: boolean }) {
  const t = useTexts(said);
  const [Icon, color] = looks[passes ? "good" : "failing"];
  return (
    <Group component="span" gap={4} wrap="nowrap" title={passes ? undefined : t.failsMeans}>
      <Icon size={16} color={`var(--mantine-color-${color}-6)`} aria-hidden />
      {passes ? t.passes : t.fails}
    </Group>
  );
}
