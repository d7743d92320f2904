/** Tells what a model costs, as the account pays it: its rates, those of long prompts and service modes, and what is added to them. */
import { Alert, Stack, Table, Text } from "@mantine/core";
import {
  type CatalogModel,
  ModelKind,
  type ModelPrice,
  type TokenRates,
} from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import inCards from "../../parts/cards.module.css";
import { Fact } from "../../parts/fact.tsx";
import { Section } from "../../parts/section.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";
import { FurtherPrices, useRateCards, useSurcharges } from "./further-prices.tsx";
import { closedTexts } from "./model-facts.tsx";

const said = texts(
  {
    title: "Price",
    tokens: "Per million tokens. Input from the prompt cache is paid as a cache read.",
    characters: "Per million characters.",
    rates: "Rates",
    ordinary: "Ordinary",
    input: "Input",
    cacheRead: "Cache read",
    cacheWrite: "Cache write",
    output: "Output",
    perCharacters: "Characters",
    none: "It has no price",
    free: "Nothing is charged for it, or it is billed afterwards.",
  },
  {
    title: "价格",
    tokens: "每百万 Token 的价格。来自提示缓存的输入按缓存读取计费。",
    characters: "每百万字符的价格。",
    rates: "费率",
    ordinary: "普通",
    input: "输入",
    cacheRead: "缓存读取",
    cacheWrite: "缓存写入",
    output: "输出",
    perCharacters: "字符",
    none: "未定价",
    free: "不收费，或事后结算。",
  },
);

export function ModelPrices({ model: { kind, price, callable } }: { readonly model: CatalogModel }) {
  const t = useTexts(said);
  const closed = useTexts(closedTexts);
  const surcharges = useSurcharges(price);
  if (!price) {
    return (
      <Section title={t.title}>
        <Alert color="gray" title={t.none}>
          {callable ? t.free : closed.why}
        </Alert>
      </Section>
    );
  }
  return (
    <Section title={t.title} about={kind === ModelKind.SPEECH ? t.characters : t.tokens}>
      {kind === ModelKind.SPEECH ? <Characters of={price} /> : <RateTable of={price} kind={kind} />}
      <FurtherPrices prices={surcharges} />
    </Section>
  );
}

function Characters({ of }: { readonly of: ModelPrice }) {
  const t = useTexts(said);
  const format = useFormat();
  const join = useJoin();
  return <Text size="sm">{join.labelled(t.perCharacters, format.money(of.characters))}</Text>;
}

function RateTable({ of, kind }: { readonly of: ModelPrice; readonly kind: ModelKind }) {
  const t = useTexts(said);
  const format = useFormat();
  const cards = [{ name: t.ordinary, rates: of }, ...useRateCards(of)];
  const columns: readonly (readonly [name: string, of: keyof Rates])[] =
    kind === ModelKind.CHAT
      ? [
          [t.input, "input"],
          [t.cacheRead, "cacheRead"],
          [t.cacheWrite, "cacheWrite"],
          [t.output, "output"],
        ]
      : [[t.input, "input"]];
  const asCards = (
    <Stack component="ul" gap="sm" className={text.list} aria-label={t.rates}>
      {cards.map(({ name, rates }) => (
        <li key={name}>
          <Text size="sm" fw={500} mb={4}>
            {name}
          </Text>
          <dl className={inCards.facts}>
            {columns.map(([column, key]) => (
              <Fact key={column} name={column}>
                {format.money(rates[key])}
              </Fact>
            ))}
          </dl>
        </li>
      ))}
    </Stack>
  );
  return (
    <WideTable label={t.rates} minWidth={columns.length > 1 ? 440 : 180} cards={asCards} flush fz="sm">
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{t.rates}</Table.Th>
          {columns.map(([name]) => (
            <Table.Th key={name} className={text.number}>
              {name}
            </Table.Th>
          ))}
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {cards.map(({ name, rates }) => (
          <Table.Tr key={name}>
            <Table.Th scope="row" fw={400}>
              {name}
            </Table.Th>
            {columns.map(([column, key]) => (
              <Table.Td key={column} className={text.number}>
                {format.money(rates[key])}
              </Table.Td>
            ))}
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  );
}

type Rates = Pick<TokenRates, "input" | "cacheRead" | "cacheWrite" | "output">;
