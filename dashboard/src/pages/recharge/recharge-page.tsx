/** The recharge page: balance, redeem codes, tiers, ledger. */
import { useQuery } from "@connectrpc/connect-query";
import { SimpleGrid, Stack } from "@mantine/core";
import { AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Page } from "../../parts/page.tsx";
import { Balance } from "./balance.tsx";
import { History } from "./history.tsx";
import { OwnBudgets } from "./own-budgets.tsx";
import { Redeem } from "./redeem.tsx";
import { Tiers } from "./tiers.tsx";

const said = texts(
  {
    title: "Recharge",
    about: "Calls are paid from the balance. Recharging raises the tier, which allows more calls a minute.",
  },
  { title: "充值", about: "调用费用从余额中扣除。累计充值可提升等级，每分钟可调用的次数随之增加。" },
);

export function RechargePage() {
  const t = useTexts(said);
  const account = useQuery(AccountService.method.getAccount, {});
  return (
    <Page title={t.title} about={t.about}>
      <Answer of={account} lines={8}>
        {(answer) => (
          <Stack gap="lg">
            {answer.account && (
              <SimpleGrid cols={{ base: 1, md: 2 }} spacing="lg">
                <Balance of={answer.account} />
                <Redeem account={answer.account} />
              </SimpleGrid>
            )}
            {answer.account && <OwnBudgets account={answer.account} />}
            <Tiers of={answer} />
          </Stack>
        )}
      </Answer>
      <History />
    </Page>
  );
}
