/** Accounts, one a row. The name links to the account's page. */
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Money } from "../../parts/money.tsx";
import text from "../../parts/text.module.css";
import { AccountLink } from "./account-link.tsx";
import { AccountState, useBillingWord } from "./account-state.tsx";

const said = texts(
  {
    accounts: "Accounts",
    name: "Name",
    tier: "Tier",
    balance: "Balance",
    held: "Held",
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
    held: "预留",
    recharged: "累计充值",
    billing: "计费方式",
    state: "状态",
    created: "创建时间",
  },
);

export function AccountTable({ accounts }: { readonly accounts: readonly Account[] }) {
  const t = useTexts(said);
  const billing = useBillingWord();
  const nowrap = { cellProps: { className: text.nowrap } };
  const columns: readonly ListColumn<Account>[] = [
    {
      ...{ name: "name", head: t.name, isHeadline: true, isName: true },
      cell: ({ id, name }) => (
        <AccountLink id={id} fz="inherit" fw={500} title={name}>
          {name}
        </AccountLink>
      ),
    },
    { name: "tier", head: t.tier, cell: ({ tier }) => tier?.name },
    { ...{ name: "balance", head: t.balance, numeric: true }, cell: ({ balance }) => <Money of={balance} /> },
    { ...{ name: "held", head: t.held, numeric: true }, cell: ({ held }) => <Money of={held} /> },
    { ...{ name: "recharged", head: t.recharged, numeric: true }, cell: ({ recharged }) => <Money of={recharged} /> },
    { ...{ name: "billing", head: t.billing, ...nowrap }, cell: billing },
    { ...{ name: "state", head: t.state, ...nowrap }, cell: (account) => <AccountState of={account} /> },
    {
      ...{ name: "created", head: t.created, ...nowrap },
      cell: ({ createdAt }) => <Moment at={createdAt} as="day" />,
    },
  ];
  return <ColumnList label={t.accounts} entries={accounts} columns={columns} idOf={({ id }) => id} minWidth={860} />;
}
