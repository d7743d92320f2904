/** Accounts, one a row. The name links to the account's page. */
import { Table } from "@mantine/core";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Money } from "../../parts/money.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";
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
  return (
    <WideTable label={t.accounts} minWidth={860}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.name}</Table.Th>
          <Table.Th>{t.tier}</Table.Th>
          <Table.Th className={text.number}>{t.balance}</Table.Th>
          <Table.Th className={text.number}>{t.held}</Table.Th>
          <Table.Th className={text.number}>{t.recharged}</Table.Th>
          <Table.Th>{t.billing}</Table.Th>
          <Table.Th>{t.state}</Table.Th>
          <Table.Th>{t.created}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {accounts.map((account) => (
          <Table.Tr key={account.id}>
            <Table.Td className={text.name}>
              <AccountLink id={account.id} fz="inherit" fw={500} title={account.name}>
                {account.name}
              </AccountLink>
            </Table.Td>
            <Table.Td>{account.tier?.name}</Table.Td>
            <Table.Td className={text.number}>
              <Money of={account.balance} />
            </Table.Td>
            <Table.Td className={text.number}>
              <Money of={account.held} />
            </Table.Td>
            <Table.Td className={text.number}>
              <Money of={account.recharged} />
            </Table.Td>
            <Table.Td className={text.nowrap}>{billing(account)}</Table.Td>
            <Table.Td className={text.nowrap}>
              <AccountState of={account} />
            </Table.Td>
            <Table.Td className={text.nowrap}>
              <Moment at={account.createdAt} as="day" />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}
