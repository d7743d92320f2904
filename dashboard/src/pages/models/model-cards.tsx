/** The models as cards, where there is no room for the table. */
import { Box, Group, Paper, Stack } from "@mantine/core";
import { type CatalogModel, ModelKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import inCards from "../../parts/cards.module.css";
import { Fact } from "../../parts/fact.tsx";
import { FurtherPrices, useFurtherPrices } from "./further-prices.tsx";
import { ModelDoor, ModelNames, useFigures, useKindNames } from "./model-facts.tsx";
import classes from "./models.module.css";

const said = texts(
  {
    models: "Models",
    family: "Family",
    kind: "Kind",
    vendor: "Vendor",
    window: "Context window",
    output: "Max output",
    input: "Input price",
    cache: "Cache read price",
    out: "Output price",
    characters: "Per million characters",
  },
  {
    models: "模型",
    family: "系列",
    kind: "类型",
    vendor: "厂商",
    window: "上下文窗口",
    output: "最大输出",
    input: "输入价格",
    cache: "缓存读取价格",
    out: "输出价格",
    characters: "每百万字符",
  },
);

export function ModelCards({ models }: { readonly models: readonly CatalogModel[] }) {
  const t = useTexts(said);
  return (
    <Stack component="ul" gap="sm" aria-label={t.models} className={classes.list}>
      {models.map((model) => (
        <ModelCard key={model.id} model={model} />
      ))}
    </Stack>
  );
}

function ModelCard({ model }: { readonly model: CatalogModel }) {
  const prices = useFurtherPrices(model);
  return (
    <Paper component="li" withBorder p="sm">
      <ModelNames model={model} />
      <Facts model={model} />
      <FurtherPrices prices={prices} />
      <Group mt="sm" className={classes.door}>
        <ModelDoor model={model} />
      </Group>
    </Paper>
  );
}

function Facts({ model }: { readonly model: CatalogModel }) {
  const t = useTexts(said);
  const names = useKindNames();
  const { tokens, price } = useFigures();
  const { family, kind, vendor, contextWindow, maxOutputTokens, price: costs } = model;
  const facts = [
    [t.family, family],
    [t.kind, names[kind]],
    [t.vendor, vendor || "–"],
    ...(kind === ModelKind.CHAT
      ? [
          [t.window, tokens(contextWindow)],
          [t.output, tokens(maxOutputTokens)],
        ]
      : []),
    ...(kind === ModelKind.SPEECH ? [[t.characters, price(costs?.characters)]] : [[t.input, price(costs?.input)]]),
    ...(kind === ModelKind.CHAT
      ? [
          [t.cache, price(costs?.cacheRead)],
          [t.out, price(costs?.output)],
        ]
      : []),
  ];
  return (
    <Box component="dl" className={inCards.facts} mt="xs">
      {facts.map(([name, value]) => (
        <Fact key={name} name={name ?? ""}>
          {value}
        </Fact>
      ))}
    </Box>
  );
}
