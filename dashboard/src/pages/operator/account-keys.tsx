/** An account's keys. The operator sees them, disables and deletes them; what a key may do is set by its account. */
import { IconKey } from "@tabler/icons-react";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Moment } from "../../parts/moment.tsx";
import { PagedList } from "../../parts/paged-list.tsx";
import { Section } from "../../parts/section.tsx";
import text from "../../parts/text.module.css";
import { KeyModels, KeySpend, KeyStatus } from "../keys/key-facts.tsx";
import { KeyBounds } from "../keys/limits/key-bounds.tsx";
import { KeyName } from "../keys/limits/key-name.tsx";
import { AccountKeyMenu } from "./account-key-menu.tsx";
import { useAccountKeys } from "./use-lists.ts";

const said = texts(
  {
    title: "API keys",
    name: "Key",
    owner: "Owner",
    status: "Status",
    models: "Models",
    spent: "Spent of limit",
    created: "Created",
    used: "Last used",
    never: "Never",
    none: "No keys yet",
    noneHow: "Keys are created by the account's users, or on the command line.",
  },
  {
    title: "API 密钥",
    name: "密钥",
    owner: "负责人",
    status: "状态",
    models: "模型",
    spent: "已消费 / 上限",
    created: "创建时间",
    used: "最近使用",
    never: "从未",
    none: "此账户还没有密钥",
    noneHow: "密钥由此账户的用户创建，也可以通过命令行创建。",
  },
);

export function AccountKeys({ accountId }: { readonly accountId: string }) {
  const t = useTexts(said);
  const nowrap = { cellProps: { className: text.nowrap } };
  const columns: readonly ListColumn<ApiKey>[] = [
    { name: "name", head: t.name, isHeadline: true, cell: (key) => <KeyName of={key} /> },
    { name: "owner", head: t.owner, isName: true, cell: ({ owner }) => owner ?? "–" },
    { ...{ name: "status", head: t.status, ...nowrap }, cell: (key) => <KeyStatus of={key} /> },
    {
      ...{ name: "models", head: t.models },
      cell: (key) => (
        <>
          <KeyModels of={key} />
          <KeyBounds of={key} />
        </>
      ),
    },
    { ...{ name: "spent", head: t.spent, isLong: true }, cell: (key) => <KeySpend of={key} /> },
    {
      ...{ name: "created", head: t.created, ...nowrap },
      cell: ({ createdAt }) => <Moment at={createdAt} as="day" />,
    },
    {
      ...{ name: "used", head: t.used, ...nowrap },
      cell: ({ lastUsedAt }) => <Moment at={lastUsedAt} as="ago" none={t.never} />,
    },
  ];
  return (
    <Section title={t.title}>
      <PagedList
        of={useAccountKeys(accountId)}
        entriesOf={(page) => page.keys}
        lines={2}
        empty={
          <Empty icon={IconKey} title={t.none}>
            {t.noneHow}
          </Empty>
        }
      >
        {(keys) => (
          <ColumnList
            label={t.title}
            entries={keys}
            columns={columns}
            idOf={({ id }) => id}
            minWidth={940}
            actions={(key) => <AccountKeyMenu accountId={accountId} of={key} />}
          />
        )}
      </PagedList>
    </Section>
  );
}
