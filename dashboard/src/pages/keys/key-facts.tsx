/** Facts of a key: its state, its models, its spending. */
import { Badge, Group, Progress, Stack, Text, Tooltip } from "@mantine/core";
import { IconAlertTriangle, IconBan, IconCircleCheck, IconClockOff, IconShieldLock } from "@tabler/icons-react";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { useFormat } from "../../language/format.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import text from "../../parts/text.module.css";
import { stateOf, stateTexts } from "./key-state.ts";
import { KeyBudgets } from "./limits/key-budgets.tsx";

const said = texts(
  {
    administrator: "Administrator",
    allModels: "All models",
    family: (name: string) => `All of ${name}`,
    more: (count: number) => `and ${count} more`,
    of: (spent: string, limit: string) => `${spent} of ${limit}`,
    noLimit: "no limit",
    held: (amount: string) => `${amount} held by running calls`,
    share: "Share of the credit limit that is spent or held",
  },
  {
    administrator: "管理员",
    allModels: "所有模型",
    family: (name: string) => `${name} 全系列`,
    more: (count: number) => `另有 ${count} 个`,
    of: (spent: string, limit: string) => `${spent} / ${limit}`,
    noLimit: "不限",
    held: (amount: string) => `进行中的调用已预留 ${amount}`,
    share: "消费上限中已消费和已预留的比例",
  },
);

const looks = {
  active: { icon: IconCircleCheck, color: "var(--mantine-color-teal-7)" },
  expiring: { icon: IconAlertTriangle, color: "var(--mantine-color-orange-7)" },
  expired: { icon: IconClockOff, color: "var(--mantine-color-dimmed)" },
  disabled: { icon: IconBan, color: "var(--mantine-color-dimmed)" },
} as const;

export function KeyStatus({ of }: { readonly of: ApiKey }) {
  const t = useTexts(stateTexts);
  const state = stateOf(of, Date.now());
  const { icon: Icon, color } = looks[state];
  return (
    <Group gap={6} wrap="nowrap">
      <Icon size={16} color={color} aria-hidden />
      <Text size="sm">{t[state]}</Text>
    </Group>
  );
}

export function AdministratorBadge() {
  const t = useTexts(said);
  return (
    <Badge variant="default" size="sm" radius="sm" tt="none" leftSection={<IconShieldLock size={12} aria-hidden />}>
      {t.administrator}
    </Badge>
  );
}

const shownModels = 2;

export function KeyModels({ of: { models } }: { readonly of: ApiKey }) {
  const t = useTexts(said);
  const join = useJoin();
  if (models.length === 0) return <Text size="sm">{t.allModels}</Text>;
  const names = models.map((entry) => (entry.startsWith("family:") ? t.family(entry.slice("family:".length)) : entry));
  const rest = names.length - shownModels;
  const lines = (
    <Stack gap={0}>
      {names.slice(0, shownModels).map((name) => (
        <Text key={name} size="sm" className={text.name} title={name}>
          {name}
        </Text>
      ))}
      {rest > 0 && (
        <Text size="xs" c="dimmed">
          {t.more(rest)}
        </Text>
      )}
    </Stack>
  );
  if (rest <= 0) return lines;
  return (
    <Tooltip label={join.list(names)} multiline maw={320}>
      {lines}
    </Tooltip>
  );
}

export function KeySpend({ of: { spent, held, creditLimit, budgets } }: { readonly of: ApiKey }) {
  const t = useTexts(said);
  const format = useFormat();
  const exact = creditLimit === undefined ? format.money(spent) : t.of(format.money(spent), format.money(creditLimit));
  return (
    <Stack gap={4} miw={120}>
      <Group gap={6} justify="space-between" wrap="nowrap">
        <Text size="sm" style={{ fontVariantNumeric: "tabular-nums" }} title={exact}>
          {creditLimit === undefined ? format.rounded(spent) : t.of(format.rounded(spent), format.rounded(creditLimit))}
        </Text>
        {creditLimit === undefined && (
          <Text size="xs" c="dimmed">
            {t.noLimit}
          </Text>
        )}
      </Group>
      {creditLimit !== undefined && (
        <Progress.Root size="sm">
          <Progress.Section value={percentOf(spent, creditLimit)} color="indigo" aria-label={t.share} />
          {held > 0n && (
            <Progress.Section
              value={percentOf(held, creditLimit)}
              color="indigo.4"
              aria-label={t.held(format.money(held))}
            />
          )}
        </Progress.Root>
      )}
      {held > 0n && (
        <Text size="xs" c="dimmed">
          {t.held(format.money(held))}
        </Text>
      )}
      <KeyBudgets of={{ budgets }} />
    </Stack>
  );
}

function percentOf(amount: bigint, limit: bigint): number {
  return limit === 0n ? 100 : Number((amount * 10_000n) / limit) / 100;
}
