/** All accounts with their tier, balance and what they spent, as the operator filters and orders them. */
import { Button, Paper, Stack } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBuilding, IconPlus } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { PagedList } from "../../parts/paged-list.tsx";
import { type AccountSearch, changed } from "../../search.ts";
import { orderOf } from "./account-choice.ts";
import { AccountFilters } from "./account-filters.tsx";
import { AccountTable } from "./account-table.tsx";
import { CreateAccount } from "./create-account.tsx";
import { OperatorsLoss } from "./operators-loss.tsx";
import { SearchField, useSearch } from "./search-field.tsx";
import { useAccounts } from "./use-lists.ts";

const said = texts(
  {
    title: "Accounts",
    about: "The accounts that pay for calls: tier, balance, and what they spent in a period.",
    create: "Create account",
    search: "Search accounts",
    hint: "Name or acc_…",
    none: "No accounts yet",
    noneHow: "An account holds money, keys and users. Create one, or invite somebody, who then gets one.",
    notFound: "No accounts match",
    notFoundHow: "Change the filters, or clear them. Accounts are found by a part of their name, or by their whole id.",
  },
  {
    title: "账户",
    about: "为调用付费的账户：等级、余额和某段时间内的消费。",
    create: "创建账户",
    search: "搜索账户",
    hint: "名称或 acc_…",
    none: "还没有账户",
    noneHow: "账户包含余额、密钥和用户。您可以创建账户，或邀请他人注册并获得自己的账户。",
    notFound: "没有匹配的账户",
    notFoundHow: "请更改或清除筛选条件。可按名称的一部分或完整 ID 查找账户。",
  },
);

const route = getRouteApi("/signed-in/operator/accounts");

export function AccountsPage() {
  const t = useTexts(said);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const choose = (search: AccountSearch) => void navigate({ search, replace: true });
  const { find: kept = "" } = search;
  const { search: find, field } = useSearch(kept);
  // The list is still the same when the reader comes back to it.
  useEffect(() => {
    if (find === kept) return;
    void navigate({ search: (now) => changed(now, "find", find), replace: true });
  }, [find, kept, navigate]);
  const [creating, create] = useDisclosure();
  const accounts = useAccounts(search);
  const isSome = Object.keys(search).some((name) => name !== "order" && name !== "from" && name !== "to");
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
        <AccountFilters search={search} onChange={choose} />
        <PagedList
          of={accounts}
          entriesOf={({ accounts, uses }) => accounts.map((account, at) => ({ account, use: uses[at] }))}
          empty={
            <Paper withBorder>
              <Empty icon={IconBuilding} title={isSome ? t.notFound : t.none}>
                {isSome ? t.notFoundHow : t.noneHow}
              </Empty>
            </Paper>
          }
        >
          {(found) => (
            <AccountTable accounts={found} order={orderOf(search)} onOrder={(order) => choose({ ...search, order })} />
          )}
        </PagedList>
      </Stack>
      <CreateAccount opened={creating} onClose={create.close} />
    </Page>
  );
}
