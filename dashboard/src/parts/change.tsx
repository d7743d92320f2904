/** Shows how a figure has changed against the period before, as an arrow and a share. */
import { Group, Text } from "@mantine/core";
import { IconArrowDownRight, IconArrowUpRight, IconEqual } from "@tabler/icons-react";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";

const said = texts(
  {
    more: (share: string) => `${share} more than in the period before`,
    less: (share: string) => `${share} less than in the period before`,
    same: "As in the period before",
    none: "Nothing in the period before",
  },
  {
    more: (share: string) => `较上一时段增加 ${share}`,
    less: (share: string) => `较上一时段减少 ${share}`,
    same: "与上一时段相同",
    none: "上一时段没有数据",
  },
);

interface Props {
  readonly now: number;
  /** before is the same figure of the period before; undefined while it loads or where it is unknown. */
  readonly before: number | undefined;
  /** good is the direction that is welcome. Unset: neither. */
  readonly good?: "up" | "down";
}

export function Change({ now, before, good }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  if (before === undefined) return null;
  if (before === 0) {
    return now === 0 ? null : (
      <Text size="xs" c="dimmed" span>
        {t.none}
      </Text>
    );
  }
  const change = now / before - 1;
  const share = format.percent(Math.abs(change));
  const isSame = Math.abs(change) < 0.0005;
  const direction = change > 0 ? "up" : "down";
  const Icon = isSame ? IconEqual : change > 0 ? IconArrowUpRight : IconArrowDownRight;
  const means = isSame ? t.same : change > 0 ? t.more(share) : t.less(share);
  const color = isSame || good === undefined ? "dimmed" : good === direction ? "var(--gateway-good)" : "error";
  return (
    <Group component="span" gap={2} wrap="nowrap" title={means} role="img" aria-label={means} display="inline-flex">
      <Icon size={14} aria-hidden color={colorOf(color)} />
      <Text size="xs" c={colorOf(color)} span aria-hidden>
        {share}
      </Text>
    </Group>
  );
}

function colorOf(color: string): string {
  if (color === "dimmed") return "var(--mantine-color-dimmed)";
  return color === "error" ? "var(--mantine-color-error)" : color;
}
