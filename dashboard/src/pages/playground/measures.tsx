/** An answer's usage, cost and duration, in a line below it. */
import { Anchor, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { readAmount } from "../../parts/amount.ts";

const said = texts(
  {
    tokens: (input: string, output: string) => `${input} tokens in, ${output} out`,
    cost: (amount: string) => `Cost ${amount}`,
    firstToken: (time: string) => `First token after ${time}`,
    firstSound: (time: string) => `First sound after ${time}`,
    request: "Details",
  },
  {
    tokens: (input: string, output: string) => `输入 ${input} Token，输出 ${output} Token`,
    cost: (amount: string) => `费用 ${amount}`,
    firstToken: (time: string) => `首个 Token 用时 ${time}`,
    firstSound: (time: string) => `首段音频用时 ${time}`,
    request: "详情",
  },
);

export interface Measured {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  /** cost is in units, as the gateway reported it. */
  readonly cost?: string;
  readonly firstTokenMs?: number;
  readonly firstSoundMs?: number;
  readonly requestId?: string;
}

export function Measures({ of }: { readonly of: Measured }) {
  const t = useTexts(said);
  const format = useFormat();
  const { inputTokens, outputTokens, firstTokenMs, firstSoundMs, requestId } = of;
  const cost = of.cost === undefined ? undefined : readAmount(of.cost);
  const parts = [
    inputTokens !== undefined && t.tokens(format.count(inputTokens), format.count(outputTokens ?? 0)),
    cost !== undefined && t.cost(format.money(cost)),
    firstTokenMs !== undefined && t.firstToken(format.duration(firstTokenMs)),
    firstSoundMs !== undefined && t.firstSound(format.duration(firstSoundMs)),
  ].filter((part) => part !== false);
  if (parts.length === 0) return null;
  return (
    <Group gap="sm" component="footer">
      <Text span size="xs" c="dimmed" style={{ fontVariantNumeric: "tabular-nums" }}>
        {parts.join(" · ")}
      </Text>
      {requestId && (
        <Anchor component={Link} to="/usage/$requestId" params={{ requestId } as never} size="xs">
          {t.request}
        </Anchor>
      )}
    </Group>
  );
}
