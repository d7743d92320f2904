/** The codes of a batch, masked, with their state. */
import { Group, Table } from "@mantine/core";
import { IconBan, IconCircleCheck, IconCircleDashed, IconClockX } from "@tabler/icons-react";
import type { RedeemCode } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Moment } from "../../parts/moment.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";
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
  const row = (code: RedeemCode) => {
    const state = codeState(code, Date.now());
    const Icon = icons[state];
    const when = { open: undefined, claimed: code.claimedAt, revoked: code.revokedAt, expired: code.expiresAt }[state];
    return (
      <Table.Tr key={code.id}>
        <Table.Td ff="monospace">{code.mask}</Table.Td>
        <Table.Td>
          <Group gap={6} wrap="nowrap">
            <Icon size={16} aria-hidden />
            {t[state]}
          </Group>
        </Table.Td>
        <Table.Td className={text.nowrap}>
          <Moment at={when} />
        </Table.Td>
        <Table.Td>
          {code.claimedBy ? (
            <AccountLink id={code.claimedBy} fz="xs" ff="monospace">
              {code.claimedBy}
            </AccountLink>
          ) : (
            "–"
          )}
        </Table.Td>
      </Table.Tr>
    );
  };
  return (
    <WideTable label={t.codes} minWidth={600} flush>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.code}</Table.Th>
          <Table.Th>{t.state}</Table.Th>
          <Table.Th>{t.when}</Table.Th>
          <Table.Th>{t.by}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>{codes.map(row)}</Table.Tbody>
    </WideTable>
  );
}
