/** Users, one a row, with their actions. */
import { Table } from "@mantine/core";
import type { User } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Moment } from "../../parts/moment.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";
import { AccountLink } from "./account-link.tsx";
import { UserMenu } from "./user-menu.tsx";

const said = texts(
  {
    users: "Users",
    email: "E-mail address",
    account: "Account",
    role: "Role",
    operator: "Operator",
    user: "User",
    factor: "Second factor",
    on: "On",
    off: "Off",
    created: "Created",
    seen: "Last active",
    actions: "Actions",
  },
  {
    users: "用户",
    email: "邮箱",
    account: "账户",
    role: "角色",
    operator: "网关管理员",
    user: "用户",
    factor: "两步验证",
    on: "已启用",
    off: "未启用",
    created: "创建时间",
    seen: "最近活动",
    actions: "操作",
  },
);

interface Props {
  readonly users: readonly User[];
  readonly withAccount: boolean;
}

export function UserTable({ users, withAccount }: Props) {
  const t = useTexts(said);
  return (
    <WideTable label={t.users} minWidth={withAccount ? 860 : 720} flush={!withAccount}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.email}</Table.Th>
          {withAccount && <Table.Th>{t.account}</Table.Th>}
          <Table.Th>{t.role}</Table.Th>
          <Table.Th>{t.factor}</Table.Th>
          <Table.Th>{t.created}</Table.Th>
          <Table.Th>{t.seen}</Table.Th>
          <Table.Th ta="right">{t.actions}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {users.map((user) => (
          <Table.Tr key={user.id}>
            <Table.Td className={text.name} title={user.email}>
              {user.email}
            </Table.Td>
            {withAccount && (
              <Table.Td className={text.name}>
                <AccountLink id={user.accountId} fz="inherit" title={user.accountName}>
                  {user.accountName}
                </AccountLink>
              </Table.Td>
            )}
            <Table.Td>{user.operator ? t.operator : t.user}</Table.Td>
            <Table.Td>{user.secondFactor ? t.on : t.off}</Table.Td>
            <Table.Td className={text.nowrap}>
              <Moment at={user.createdAt} as="day" />
            </Table.Td>
            <Table.Td className={text.nowrap}>
              <Moment at={user.lastSeenAt} as="ago" />
            </Table.Td>
            <Table.Td ta="right">
              <UserMenu user={user} />
            </Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}
