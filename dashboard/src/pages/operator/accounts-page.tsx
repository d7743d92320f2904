/** All accounts with their tier and balance. */
import { Button, Paper, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBuilding, IconPlus } from "@tabler/icons-react";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { PagedList } from "../../parts/paged-list.tsx";
import { AccountTable } from "./account-table.tsx";
import { CreateAccount } from "./create-account.tsx";
import { OperatorsLoss } from "./operators-loss.tsx";
import { SearchField, useSearch } from "./search-field.tsx";
import { useAccounts } from "./use-lists.ts";

const said = texts(
  {
    title: "Accounts",
    about: "The accounts that pay for calls, with their tier and balance.",
    create: "Create account",
    search: "Search accounts",
    hint: "Name or acc_…",
    none: "No accounts yet",
    noneHow: "An account holds money, keys and users. Create one, or invite somebody, who then gets one.",
    notFound: "No accounts match",
    notFoundHow: "Accounts are found by a part of their name, or by their whole id.",
  },
  {
    title: "账户",
    about: "为调用付费的账户及其状况。",
    create: "创建账户",
    search: "搜索账户",
    hint: "名称或 acc_…",
    none: "还没有账户",
    noneHow: "账户包含余额、密钥和用户。您可以创建账户，或邀请他人注册并获得自己的账户。",
    notFound: "没有匹配的账户",
    notFoundHow: "可按名称的一部分或完整 ID 查找账户。",
  },
);

export function AccountsPage() {
  const t = useTexts(said);
  const { search, field } = useSearch();
  const [creating, create] = useDisclosure();
  const accounts = useAccounts(search);
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={create.open}>
          {t.create}
        </Button>
      }
    >
      <Stack>
        <OperatorsLoss />
        <SearchField of={field} label={t.search} hint={t.hint} />
        <PagedList
          of={accounts}
          entriesOf={(page) => page.accounts}
          empty={
            <Paper withBorder>
              <Empty icon={IconBuilding} title={search ? t.notFound : t.none}>
                {search ? t.notFoundHow : t.noneHow}
              </Empty>
            </Paper>
          }
        >
          {(found) => <AccountTable accounts={found} />}
        </PagedList>
      </Stack>
      <CreateAccount opened={creating} onClose={create.close} />
    </Page>
  );
}
