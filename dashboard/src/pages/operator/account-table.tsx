/** Accounts, one a row, with what they used. The name links to the account's page. */
import { Text } from "@mantine/core";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { AccountUse } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { counted } from "../../language/counted.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Money } from "../../parts/money.tsx";
import { SortedHead } from "../../parts/sorted-head.tsx";
import text from "../../parts/text.module.css";
import { type ListOrder, type OrderColumn, turned } from "./account-choice.ts";
import { AccountLink } from "./account-link.tsx";
import { AccountState, useBillingWord } from "./account-state.tsx";

const said = texts(
  {
    accounts: "Accounts",
    name: "Name",
    tier: "Tier",
    balance: "Balance",
    spent: "Spent",
    calls: (count: string) => counted(count, "call"),
    recharged: "Recharged",
    billing: "Billing",
    state: "Status",
    created: "Created",
  },
  {
    accounts: "账户",
    name: "名称",
    tier: "等级",
    balance: "余额",
    spent: "消费",
    calls: (count: string) => `${count} 次调用`,
    recharged: "累计充值",
    billing: "计费方式",
    state: "状态",
    created: "创建时间",
  },
);

export interface UsedAccount {
  readonly account: Account;
  readonly use: AccountUse | undefined;
}

interface Props {
  readonly accounts: readonly UsedAccount[];
  readonly order: ListOrder;
  readonly onOrder: (order: string) => void;
}

/** sortable are the columns by which the list can be put in order. */
const sortable: readonly OrderColumn[] = ["name", "balance", "recharged", "spent", "created"];

export function AccountTable({ accounts, order, onOrder }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const billing = useBillingWord();
  const nowrap = { cellProps: { className: text.nowrap } };
  const columns: readonly ListColumn<UsedAccount>[] = [
    {
      ...{ name: "name", head: t.name, isHeadline: true, isName: true },
      cell: ({ account: { id, name } }) => (
        <AccountLink id={id} fz="inherit" fw={500} title={name}>
          {name}
        </AccountLink>
      ),
    },
    { name: "tier", head: t.tier, cell: ({ account: { tier } }) => tier?.name },
    { ...{ name: "balance", head: t.balance, numeric: true }, cell: ({ account }) => <Money of={account.balance} /> },
    {
      ...{ name: "spent", head: t.spent, numeric: true },
      cell: ({ use }) =>
        use && (
          <>
            <Money of={use.spent} />
            <Text size="xs" c="dimmed">
              {t.calls(format.count(use.requests))}
            </Text>
          </>
        ),
    },
    {
      ...{ name: "recharged", head: t.recharged, numeric: true },
      cell: ({ account }) => <Money of={account.recharged} />,
    },
    { ...{ name: "billing", head: t.billing, ...nowrap }, cell: ({ account }) => billing(account) },
    { ...{ name: "state", head: t.state, ...nowrap }, cell: ({ account }) => <AccountState of={account} /> },
    {
      ...{ name: "created", head: t.created, ...nowrap },
      cell: ({ account }) => <Moment at={account.createdAt} as="day" />,
    },
  ];
  const headOf = (name: string) => {
    const [by, column] = [sortable.find((one) => one === name), columns.find((one) => one.name === name)];
    if (!by || !column) return undefined;
    const { head, numeric = false } = column;
    return <SortedHead {...{ by, name: head, order, numeric }} onSort={(clicked) => onOrder(turned(order, clicked))} />;
  };
  return (
    <ColumnList
      {...{ label: t.accounts, entries: accounts, columns, headOf, minWidth: 900 }}
      idOf={({ account }) => account.id}
    />
  );
}
