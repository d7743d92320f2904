/** Ledger entries as a table, or as a list where there is no room for it. */
import { Anchor, Group, Stack, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { EntryKind, type LedgerEntry } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { counted } from "../language/counted.ts";
import { useFormat } from "../language/format.ts";
import { texts, useTexts } from "../language/language.tsx";
import { Moment } from "./moment.tsx";
import { Money } from "./money.tsx";
import { WideTable } from "./wide-table.tsx";

const said = texts(
  {
    entries: "Ledger entries",
    when: "Time",
    what: "Kind",
    note: "Details",
    amount: "Amount",
    recharge: "Recharge",
    refund: "Refund",
    grant: "Grant",
    charge: "Charge",
    charges: "Charges of a month",
    ofCalls: (month: string, calls: string) => `${month}: ${counted(calls, "call")} no longer kept`,
    other: "Other",
  },
  {
    entries: "资金变动",
    when: "时间",
    what: "类型",
    note: "详情",
    amount: "金额",
    recharge: "充值",
    refund: "退款",
    grant: "赠送",
    charge: "消费",
    charges: "月度消费合计",
    ofCalls: (month: string, calls: string) => `${month}：${calls} 次调用，明细已不再保留`,
    other: "其他",
  },
);

interface Props {
  readonly of: readonly LedgerEntry[];
  /** linked is where the pages of the charged calls are. */
  readonly linked: "/usage/$requestId" | "/operator/requests/$requestId";
}

/** withoutCharges are the other kinds of entries: there is a charge for each call. */
export const withoutCharges = [EntryKind.RECHARGE, EntryKind.REFUND, EntryKind.GRANT];

export function EntryList({ of, linked }: Props) {
  const t = useTexts(said);
  const kindOf = useEntryKinds();
  return (
    <WideTable label={t.entries} minWidth={600} cards={<Lines {...{ of, linked }} />} flush>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.when}</Table.Th>
          <Table.Th>{t.what}</Table.Th>
          <Table.Th>{t.note}</Table.Th>
          <Table.Th ta="right">{t.amount}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {of.map((entry) => (
          <Table.Tr key={entry.id}>
            <Table.Td>
              <Moment at={entry.createdAt} />
            </Table.Td>
            <Table.Td>{kindOf(entry)}</Table.Td>
            <Table.Td>
              <Details of={entry} linked={linked} />
            </Table.Td>
            <Table.Td ta="right">
              <Amount of={entry} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}

function Lines({ of, linked }: Props) {
  const t = useTexts(said);
  const kindOf = useEntryKinds();
  return (
    <Stack component="ul" gap="md" m={0} p={0} aria-label={t.entries}>
      {of.map((entry) => (
        <Stack component="li" key={entry.id} gap={2} display="flex">
          <Group justify="space-between" wrap="nowrap">
            <Text size="sm" fw={600}>
              {kindOf(entry)}
            </Text>
            <Amount of={entry} />
          </Group>
          <Details of={entry} linked={linked} />
          <Text size="xs" c="dimmed">
            <Moment at={entry.createdAt} />
          </Text>
        </Stack>
      ))}
    </Stack>
  );
}

function useEntryKinds(): (entry: LedgerEntry) => string {
  const t = useTexts(said);
  const kinds: Partial<Record<EntryKind, string>> = {
    [EntryKind.RECHARGE]: t.recharge,
    [EntryKind.REFUND]: t.refund,
    [EntryKind.GRANT]: t.grant,
    [EntryKind.CHARGE]: t.charge,
  };
  return ({ kind, calls }) => (calls === undefined ? kinds[kind] : t.charges) ?? t.other;
}

function Amount({ of: { amount } }: { readonly of: LedgerEntry }) {
  return (
    <Text size="sm" style={{ fontVariantNumeric: "tabular-nums", whiteSpace: "nowrap" }}>
      {amount > 0n && "+"}
      <Money of={amount} />
    </Text>
  );
}

interface DetailsProps {
  readonly of: LedgerEntry;
  readonly linked: Props["linked"];
}

function Details({ of: { requestId, note, calls, createdAt }, linked }: DetailsProps) {
  const t = useTexts(said);
  const format = useFormat();
  if (requestId === undefined) {
    return (
      <Text size="sm" maw={420} style={{ overflowWrap: "anywhere" }}>
        {calls !== undefined && createdAt ? t.ofCalls(format.month(createdAt), format.count(calls)) : note || "–"}
      </Text>
    );
  }
  return (
    <Anchor
      size="sm"
      ff="monospace"
      style={{ overflowWrap: "anywhere" }}
      renderRoot={(props) => <Link to={linked} params={{ requestId }} {...props} />}
    >
      {requestId}
    </Anchor>
  );
}
