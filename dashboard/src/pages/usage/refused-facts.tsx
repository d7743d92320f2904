/** One refused call: why it was refused, of which key and model, and when. */
import { Group, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import type { Refused } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Breakable } from "../../parts/breakable.tsx";
import cards from "../../parts/cards.module.css";
import { Fact, KeyFact } from "../../parts/fact.tsx";
import { useRefusedDetail } from "../../parts/refusal-reasons.ts";
import { ReasonMark } from "../../parts/refused-table.tsx";

const said = texts(
  {
    refused: "Refused",
    means: "Refused before a model was asked. It cost nothing.",
    detail: "Detail",
    model: "Model",
    key: "Key",
    account: "Account",
    operation: "Operation",
    came: "Time",
    reason: "Reason",
    none: "–",
  },
  {
    refused: "被拒绝",
    means: "在调用模型之前被拒绝，不收费。",
    detail: "详情",
    model: "模型",
    key: "密钥",
    account: "账户",
    operation: "操作",
    came: "时间",
    reason: "原因代码",
    none: "–",
  },
);

interface Props {
  readonly of: Refused;
  readonly nameOf: (keyId: string) => string | undefined;
  readonly account?: ((accountId: string) => ReactNode) | undefined;
}

export function RefusedFacts({ of, nameOf, account }: Props) {
  const t = useTexts(said);
  const wordsOf = useRefusedDetail();
  const format = useFormat();
  const { detail, model, keyId, operation, createdAt, reason, accountId } = of;
  return (
    <Paper withBorder p={{ base: "md", sm: "lg" }} component="section" aria-label={t.refused}>
      <Stack gap="md">
        <Group gap="sm" fw={600}>
          <ReasonMark of={of} />
          <Text size="sm" c="dimmed">
            {t.means}
          </Text>
        </Group>
        {detail !== "" && <Text size="sm">{wordsOf(detail)}</Text>}
        <SimpleGrid component="dl" cols={{ base: 2, md: 4 }} m={0} verticalSpacing="md">
          <Fact name={t.model} className={cards.nameOnPhone}>
            <Breakable>{model || t.none}</Breakable>
          </Fact>
          <Fact name={t.key} className={cards.nameOnPhone}>
            <KeyFact id={keyId} name={nameOf(keyId)} />
          </Fact>
          {account && (
            <Fact name={t.account} className={cards.nameOnPhone}>
              {account(accountId)}
            </Fact>
          )}
          <Fact name={t.operation}>{operation}</Fact>
          <Fact name={t.came}>{createdAt && format.exactly(createdAt)}</Fact>
          <Fact name={t.reason}>{reason}</Fact>
        </SimpleGrid>
      </Stack>
    </Paper>
  );
}
