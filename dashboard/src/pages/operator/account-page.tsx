/** One account: figures, actions, ledger, users, keys. */
import { useQuery } from "@connectrpc/connect-query";
import { Anchor, Button, Group, Stack } from "@mantine/core";
import { IconArrowLeft, IconBuilding } from "@tabler/icons-react";
import { Link, useParams } from "@tanstack/react-router";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { AccountActions } from "./account-actions.tsx";
import { AccountBudgets } from "./account-budgets.tsx";
import { AccountFigures } from "./account-figures.tsx";
import { AccountKeys } from "./account-keys.tsx";
import { AccountLedger } from "./account-ledger.tsx";
import { AccountRequests } from "./account-requests.tsx";
import { AccountUsers } from "./account-users.tsx";
import { AddFunds } from "./add-funds.tsx";

const said = texts(
  {
    title: "Account",
    all: "All accounts",
    none: "There is no such account",
    noneWhy: "The address names an account that does not exist.",
  },
  { title: "账户", all: "所有账户", none: "找不到此账户", noneWhy: "该地址对应的账户不存在。" },
);

export function AccountPage() {
  const t = useTexts(said);
  const { accountId } = useParams({ from: "/signed-in/operator/accounts/$accountId" });
  const found = useQuery(OperatorService.method.listAccounts, { search: accountId });
  const account = found.data?.accounts.find(({ id }) => id === accountId);
  return (
    <Stack gap="sm">
      <Anchor component={Link} to="/operator/accounts" size="sm">
        <Group gap={4} component="span">
          <IconArrowLeft size={16} aria-hidden />
          {t.all}
        </Group>
      </Anchor>
      <Page title={account?.name ?? t.title} actions={account && <AddFunds account={account} />}>
        <Answer of={found} lines={8}>
          {() => (account ? <Sections account={account} /> : <Missing />)}
        </Answer>
      </Page>
    </Stack>
  );
}

function Sections({ account }: { readonly account: Account }) {
  return (
    <>
      <AccountFigures account={account} />
      <AccountBudgets account={account} />
      <AccountLedger accountId={account.id} />
      <AccountUsers account={account} />
      <AccountKeys accountId={account.id} />
      <AccountRequests accountId={account.id} />
      <AccountActions account={account} />
    </>
  );
}

function Missing() {
  const t = useTexts(said);
  return (
    <Empty
      icon={IconBuilding}
      title={t.none}
      action={
        <Button component={Link} to="/operator/accounts" variant="default">
          {t.all}
        </Button>
      }
    >
      {t.noneWhy}
    </Empty>
  );
}
