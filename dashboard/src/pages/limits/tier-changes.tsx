/** Lists the accounts that other tiers would change, and how. */
import { useQuery } from "@connectrpc/connect-query";
import { Stack, Text } from "@mantine/core";
import type { TierChange } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import type { JsonObject } from "../../configuration/document.ts";
import { counted } from "../../language/counted.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";

const said = texts(
  {
    none: (all: string) =>
      all === "1"
        ? "No account changes: the only one keeps its tier and rates."
        : `No account changes: all ${all} keep their tier and rates.`,
    some: (count: string, all: string) =>
      `${count} of ${counted(all, "account")} ${count === "1" ? "changes" : "change"}:`,
    accounts: "Accounts that change",
    account: "Account",
    tier: "Tier",
    requests: "Requests a minute",
    tokens: "Tokens a minute",
    noLimit: "no limit",
    first: (count: string) => (count === "1" ? "The first is shown." : `The first ${count} are shown.`),
  },
  {
    none: (all: string) => `没有账户受影响：全部 ${all} 个账户的等级和速率保持不变。`,
    some: (count: string, all: string) => `${all} 个账户中有 ${count} 个受影响：`,
    accounts: "受影响的账户",
    account: "账户",
    tier: "等级",
    requests: "每分钟请求数",
    tokens: "每分钟 Token 数",
    noLimit: "不限",
    first: (count: string) => `显示前 ${count} 个。`,
  },
);

export function TierChanges({ tiers }: { readonly tiers: readonly JsonObject[] }) {
  const t = useTexts(said);
  const format = useFormat();
  const preview = useQuery(OperatorService.method.previewTiers, { settings: { tiers: [...tiers] } }, { retry: false });
  return (
    <Answer of={preview} lines={3}>
      {({ total, accounts, changes }) =>
        total === 0 ? (
          <Text size="sm">{t.none(format.count(accounts))}</Text>
        ) : (
          <Stack gap="xs">
            <Text size="sm">{t.some(format.count(total), format.count(accounts))}</Text>
            <Changes of={changes} />
            {changes.length < total && (
              <Text size="xs" c="dimmed">
                {t.first(format.count(changes.length))}
              </Text>
            )}
          </Stack>
        )
      }
    </Answer>
  );
}

function Changes({ of }: { readonly of: readonly TierChange[] }) {
  const t = useTexts(said);
  const format = useFormat();
  const change = (before: string, after: string) => (before === after ? before : `${before} → ${after}`);
  const rate = (count: number | undefined) => (count === undefined ? t.noLimit : format.count(count));
  const columns: readonly ListColumn<TierChange>[] = [
    {
      ...{ name: "account", head: t.account, isHeadline: true, isName: true },
      cell: ({ name }) => <span title={name}>{name}</span>,
    },
    { name: "tier", head: t.tier, cell: ({ before, after }) => change(before, after) },
    {
      ...{ name: "requests", head: t.requests },
      cell: (one) => change(rate(one.requestsPerMinuteBefore), rate(one.requestsPerMinuteAfter)),
    },
    {
      ...{ name: "tokens", head: t.tokens },
      cell: (one) => change(rate(one.tokensPerMinuteBefore), rate(one.tokensPerMinuteAfter)),
    },
  ];
  return (
    <ColumnList
      label={t.accounts}
      entries={of}
      columns={columns}
      idOf={({ accountId }) => accountId}
      minWidth={440}
      table={{ fz: "sm" }}
      flush
    />
  );
}
