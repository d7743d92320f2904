/** Tells what limits the account's calls of a model: its tier, its budgets, and what its keys may. */
import { useQuery } from "@connectrpc/connect-query";
import { Anchor, SimpleGrid, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  AccountService,
  type CatalogModel,
  type GetAccountResponse,
} from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { type ApiKey, KeyService, type ModelRate } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { BudgetMeters } from "../../budgets/budget-meters.tsx";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Section } from "../../parts/section.tsx";
import { KeySpend } from "../keys/key-facts.tsx";
import { stateOf } from "../keys/key-state.ts";
import { mayUse } from "../keys/snippets.ts";

const said = texts(
  {
    title: "Limits",
    about: "What holds for your calls of it. The nearest of all limits refuses a call; an answer's headers name it.",
    tier: "Tier",
    requests: "Requests a minute",
    tokens: "Tokens a minute",
    now: "Requests left now",
    noLimit: "No limit",
    keys: "Keys that may call it",
    noKeys: "None of your keys may call it.",
    some: (some: string, all: string) => `${some} of ${all} keys may call it.`,
    bounded: "These have limits of their own, beside the account’s:",
    all: "All keys",
    key: "Key",
    ofModel: "For this model",
    ofKey: "For the key",
    spend: "Spending",
    aMinute: (requests: string, tokens: string) => `${requests} requests, ${tokens} tokens/min`,
    perRequests: (count: string) => `${count} requests/min`,
    perTokens: (count: string) => `${count} tokens/min`,
    atOnce: (count: string) => `${count} at a time`,
  },
  {
    title: "限制",
    about: "适用于您调用此模型的限制。最先触及的限制会拒绝调用，应答头会指明是哪一个。",
    tier: "等级",
    requests: "每分钟请求数",
    tokens: "每分钟 Token 数",
    now: "当前剩余请求数",
    noLimit: "不限",
    keys: "可调用的密钥",
    noKeys: "您没有可调用此模型的密钥。",
    some: (some: string, all: string) => `${all} 个密钥中有 ${some} 个可调用。`,
    bounded: "以下密钥除账户限制外另有限制：",
    all: "全部密钥",
    key: "密钥",
    ofModel: "针对此模型",
    ofKey: "针对密钥",
    spend: "消费",
    aMinute: (requests: string, tokens: string) => `每分钟 ${requests} 次请求、${tokens} Token`,
    perRequests: (count: string) => `${count} 请求/分钟`,
    perTokens: (count: string) => `${count} Token/分钟`,
    atOnce: (count: string) => `同时 ${count} 个调用`,
  },
);

/** shownKeys is the most keys that are listed. */
const shownKeys = 8;

interface Props {
  readonly model: CatalogModel;
}

export function ModelLimits({ model }: Props) {
  const t = useTexts(said);
  const account = useQuery(AccountService.method.getAccount, {});
  const keys = useQuery(KeyService.method.listKeys, {});
  return (
    <Section title={t.title} about={t.about}>
      <Answer of={account} lines={3}>
        {(answer) => <OfAccount of={answer} />}
      </Answer>
      <Answer of={keys} lines={3}>
        {({ keys }) => <OfKeys keys={keys} model={model} />}
      </Answer>
    </Section>
  );
}

function OfAccount({ of: { account, requestsRemaining } }: { readonly of: GetAccountResponse }) {
  const t = useTexts(said);
  const format = useFormat();
  const { tier, budgets = [] } = account ?? {};
  return (
    <>
      {tier && (
        <SimpleGrid component="dl" cols={{ base: 2, sm: 4 }} m={0} verticalSpacing="xs">
          <Fact name={t.tier}>{tier.name}</Fact>
          <Fact name={t.requests}>{format.count(tier.requestsPerMinute)}</Fact>
          <Fact name={t.tokens}>
            {tier.tokensPerMinute === undefined ? t.noLimit : format.count(tier.tokensPerMinute)}
          </Fact>
          <Fact name={t.now}>{format.count(requestsRemaining)}</Fact>
        </SimpleGrid>
      )}
      {budgets.length > 0 && <BudgetMeters budgets={budgets} />}
    </>
  );
}

function OfKeys({ keys, model }: Props & { readonly keys: readonly ApiKey[] }) {
  const t = useTexts(said);
  const format = useFormat();
  const now = Date.now();
  const usable = keys.filter((key) => ["active", "expiring"].includes(stateOf(key, now)));
  const permitted = usable.filter(({ models }) => mayUse(models, model));
  const bounded = permitted.filter((key) => isBounded(key, model));
  if (permitted.length === 0) return <Text size="sm">{t.noKeys}</Text>;
  return (
    <Stack gap="xs">
      <Text size="sm">
        {t.some(format.count(permitted.length), format.count(usable.length))} {bounded.length > 0 && t.bounded}{" "}
        <Anchor component={Link} to="/keys" size="sm" underline="always">
          {t.all}
        </Anchor>
      </Text>
      {bounded.length > 0 && <KeyTable keys={bounded.slice(0, shownKeys)} model={model} />}
    </Stack>
  );
}

function KeyTable({ keys, model }: Props & { readonly keys: readonly ApiKey[] }) {
  const t = useTexts(said);
  const columns: readonly ListColumn<ApiKey>[] = [
    {
      ...{ name: "key", head: t.key, isHeadline: true, isName: true },
      cell: ({ id, name }) => (
        <Anchor component={Link} to="/keys" search={{ find: id } as never} fz="inherit" title={name}>
          {name}
        </Anchor>
      ),
    },
    { name: "ofModel", head: t.ofModel, cell: (key) => <Rates of={ratesFor(key, model)} /> },
    {
      ...{ name: "ofKey", head: t.ofKey },
      cell: (key) => (
        <>
          <Rates of={[key]} />
          {key.maxConcurrent !== undefined && <AtOnce count={key.maxConcurrent} />}
        </>
      ),
    },
    { name: "spend", head: t.spend, isLong: true, cell: (key) => <KeySpend of={key} /> },
  ];
  return (
    <ColumnList
      label={t.keys}
      entries={keys}
      columns={columns}
      idOf={({ id }) => id}
      minWidth={560}
      table={{ fz: "sm", style: { verticalAlign: "top" } }}
      flush
    />
  );
}

interface Rate {
  readonly requestsPerMinute?: number | undefined;
  readonly tokensPerMinute?: number | undefined;
}

/** Rates shows a dash where nothing is bounded. */
function Rates({ of }: { readonly of: readonly Rate[] }) {
  const t = useTexts(said);
  const format = useFormat();
  const lines = of.flatMap(({ requestsPerMinute: requests, tokensPerMinute: tokens }) => {
    if (requests !== undefined && tokens !== undefined) {
      return [t.aMinute(format.count(requests), format.compact(tokens))];
    }
    if (requests !== undefined) return [t.perRequests(format.count(requests))];
    return tokens === undefined ? [] : [t.perTokens(format.compact(tokens))];
  });
  if (lines.length === 0) return "–";
  return lines.map((line) => <div key={line}>{line}</div>);
}

function AtOnce({ count }: { readonly count: number }) {
  const t = useTexts(said);
  const format = useFormat();
  return <div>{t.atOnce(format.count(count))}</div>;
}

/** ratesFor returns a key's rates that count calls of the model. */
function ratesFor({ modelRates }: ApiKey, { id, family }: CatalogModel): readonly ModelRate[] {
  return modelRates.filter(({ model }) => model === id || model === `family:${family}`);
}

function isBounded(key: ApiKey, model: CatalogModel): boolean {
  const { creditLimit, budgets, requestsPerMinute, tokensPerMinute, maxConcurrent } = key;
  const own = [creditLimit, requestsPerMinute, tokensPerMinute, maxConcurrent];
  return budgets.length > 0 || ratesFor(key, model).length > 0 || own.some((limit) => limit !== undefined);
}
