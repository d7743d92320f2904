/** The account's balance, and how much of it is held. Who operates the gateway adds funds here, too. */
import { Group, Stack, Text } from "@mantine/core";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Money } from "../../parts/money.tsx";
import { Section } from "../../parts/section.tsx";
import { useUser } from "../../session.tsx";
import { AddFunds } from "../operator/add-funds.tsx";

const said = texts(
  {
    title: "Balance",
    held: "Held by running calls",
    recharged: "Recharged in all, less refunds",
    postpaid: "This account is billed afterwards: its balance may go below zero.",
  },
  {
    title: "余额",
    held: "进行中的调用已预留",
    recharged: "累计充值（扣除退款）",
    postpaid: "此账户为后付费，余额可以为负。",
  },
);

export function Balance({ of: account }: { readonly of: Account }) {
  const { balance, held, recharged, postpaid } = account;
  const t = useTexts(said);
  const { operator } = useUser();
  const format = useFormat();
  return (
    <Section title={t.title} actions={operator && <AddFunds account={account} as="figure" />}>
      <Text fz={32} lh={1.2} fw={600} style={{ fontVariantNumeric: "tabular-nums" }}>
        <Money of={balance} />
      </Text>
      <Stack gap={4} component="dl" m={0}>
        <Fact name={t.held} value={format.money(held)} />
        <Fact name={t.recharged} value={format.money(recharged)} />
      </Stack>
      {postpaid && (
        <Text size="sm" c="dimmed">
          {t.postpaid}
        </Text>
      )}
    </Section>
  );
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <Group justify="space-between" gap="0 12px">
      <Text component="dt" size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="dd" size="sm" m={0} style={{ fontVariantNumeric: "tabular-nums" }}>
        {value}
      </Text>
    </Group>
  );
}
