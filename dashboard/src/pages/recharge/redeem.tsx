/** Claims a redeem code and shows the result. */
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { Alert, Button, Group, TextInput } from "@mantine/core";
import { IconCircleCheck } from "@tabler/icons-react";
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { type Account, AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { useMadeOnce } from "../../parts/made-once.ts";
import { Section } from "../../parts/section.tsx";

const said = texts(
  {
    title: "Redeem a code",
    about: "Upper or lower case, spaces and hyphens do not matter. Each code is worth its amount once.",
    code: "Redeem code",
    action: "Redeem",
    came: (amount: string, balance: string) => `${amount} was recharged. The balance is ${balance}.`,
    tier: (name: string) => `Your tier is now ${name}.`,
  },
  {
    title: "使用兑换码",
    about: "不区分大小写，空格和连字符可有可无。每个兑换码只能使用一次。",
    code: "兑换码",
    action: "兑换",
    came: (amount: string, balance: string) => `已充值 ${amount}，当前余额 ${balance}。`,
    tier: (name: string) => `您的等级现为 ${name}。`,
  },
);

const changed = [
  createConnectQueryKey({ schema: AccountService.method.getAccount, cardinality: "finite" }),
  createConnectQueryKey({ schema: AccountService.method.listLedger, cardinality: "infinite" }),
];

interface Claimed {
  readonly amount: bigint;
  readonly balance: bigint;
  /** tier is the name of the tier that the account has reached; undefined if it has not changed. */
  readonly tier: string | undefined;
}

export function Redeem({ account }: { readonly account: Account }) {
  const t = useTexts(said);
  const format = useFormat();
  const client = useQueryClient();
  const [code, setCode] = useState("");
  const [claimed, setClaimed] = useState<Claimed>();
  const redeem = useMadeOnce(AccountService.method.redeemCode, {
    onSuccess({ entry, account: after }) {
      const tier = after?.tier?.name;
      setClaimed({
        amount: entry?.amount ?? 0n,
        balance: after?.balance ?? 0n,
        tier: tier === account.tier?.name ? undefined : tier,
      });
      setCode("");
      for (const queryKey of changed) void client.invalidateQueries({ queryKey });
    },
    onError: () => setClaimed(undefined),
  });
  return (
    <Section title={t.title} about={t.about}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          redeem.mutate({ code: code.trim() });
        }}
      >
        <Group align="flex-end" gap="sm">
          <TextInput
            label={t.code}
            value={code}
            onChange={(event) => setCode(event.currentTarget.value)}
            maxLength={100}
            autoComplete="off"
            spellCheck={false}
            flex="1 1 200px"
            styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
          />
          <Button type="submit" loading={redeem.isPending} disabled={code.trim() === ""}>
            {t.action}
          </Button>
        </Group>
      </form>
      <div role="status">
        {claimed && (
          <Alert color="teal" icon={<IconCircleCheck aria-hidden />}>
            {t.came(format.money(claimed.amount), format.money(claimed.balance))}
            {claimed.tier !== undefined && ` ${t.tier(claimed.tier)}`}
          </Alert>
        )}
      </div>
      {redeem.error && <Failure error={redeem.error} />}
    </Section>
  );
}
