/** The codes of a batch, masked, with their state. */
import { Group, Text } from "@mantine/core";
import { IconBan, IconCircleCheck, IconCircleDashed, IconClockX } from "@tabler/icons-react";
import type { RedeemCode } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Moment } from "../../parts/moment.tsx";
import text from "../../parts/text.module.css";
import { AccountLink } from "./account-link.tsx";
import { codeState } from "./code-state.ts";

const said = texts(
  {
    codes: "Codes of the batch",
    code: "Code",
    state: "Status",
    when: "When",
    by: "Claimed by",
    open: "Open",
    claimed: "Claimed",
    revoked: "Revoked",
    expired: "Expired",
  },
  {
    codes: "本批兑换码",
    code: "兑换码",
    state: "状态",
    when: "时间",
    by: "兑换账户",
    open: "可用",
    claimed: "已兑换",
    revoked: "已撤销",
    expired: "已过期",
  },
);

const icons = { open: IconCircleDashed, claimed: IconCircleCheck, revoked: IconBan, expired: IconClockX } as const;

export function CodeTable({ codes }: { readonly codes: readonly RedeemCode[] }) {
  const t = useTexts(said);
  const columns: readonly ListColumn<RedeemCode>[] = [
    {
      ...{ name: "code", head: t.code, isHeadline: true },
      cell: ({ mask }) => (
        <Text span inherit ff="monospace">
          {mask}
        </Text>
      ),
    },
    { name: "state", head: t.state, isHeadline: true, cell: (code) => <State of={code} /> },
    { name: "when", head: t.when, cellProps: { className: text.nowrap }, cell: (code) => <Moment at={whenOf(code)} /> },
    { name: "by", head: t.by, isLong: true, cell: ({ claimedBy }) => <Claimer id={claimedBy} /> },
  ];
  return <ColumnList label={t.codes} entries={codes} columns={columns} idOf={({ id }) => id} minWidth={560} flush />;
}

function whenOf(code: RedeemCode) {
  const { claimedAt: claimed, revokedAt: revoked, expiresAt: expired } = code;
  return { open: undefined, claimed, revoked, expired }[codeState(code, Date.now())];
}

function State({ of }: { readonly of: RedeemCode }) {
  const t = useTexts(said);
  const state = codeState(of, Date.now());
  const Icon = icons[state];
  return (
    <Group gap={6} wrap="nowrap">
      <Icon size={16} aria-hidden />
      {t[state]}
    </Group>
  );
}

function Claimer({ id }: { readonly id: string | undefined }) {
  if (!id) return "–";
  return (
    <AccountLink id={id} fz="xs" ff="monospace" className={text.anywhere}>
      {id}
    </AccountLink>
  );
}
