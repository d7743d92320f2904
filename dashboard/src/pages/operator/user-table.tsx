/** Users, one a row, with their actions. */
import type { User } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Moment } from "../../parts/moment.tsx";
import text from "../../parts/text.module.css";
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
  },
);

interface Props {
  readonly users: readonly User[];
  readonly withAccount: boolean;
}

export function UserTable({ users, withAccount }: Props) {
  const t = useTexts(said);
  const account: ListColumn<User> = {
    ...{ name: "account", head: t.account, isName: true },
    cell: ({ accountId, accountName }) => (
      <AccountLink id={accountId} fz="inherit" title={accountName}>
        {accountName}
      </AccountLink>
    ),
  };
  const nowrap = { cellProps: { className: text.nowrap } };
  const columns: readonly ListColumn<User>[] = [
    {
      ...{ name: "email", head: t.email, isHeadline: true, isName: true },
      cell: ({ email }) => <span title={email}>{email}</span>,
    },
    ...(withAccount ? [account] : []),
    { name: "role", head: t.role, cell: ({ operator }) => (operator ? t.operator : t.user) },
    { name: "factor", head: t.factor, cell: ({ secondFactor }) => (secondFactor ? t.on : t.off) },
    {
      ...{ name: "created", head: t.created, ...nowrap },
      cell: ({ createdAt }) => <Moment at={createdAt} as="day" />,
    },
    {
      ...{ name: "seen", head: t.seen, ...nowrap },
      cell: ({ lastSeenAt }) => <Moment at={lastSeenAt} as="ago" />,
    },
  ];
  return (
    <ColumnList
      label={t.users}
      entries={users}
      columns={columns}
      idOf={({ id }) => id}
      minWidth={withAccount ? 860 : 720}
      actions={(user) => <UserMenu user={user} />}
    />
  );
}
