/** The models as a table, a row for each and a second one across all columns for further prices; or as cards where there is no room. */
import { Table } from "@mantine/core";
import { type CatalogModel, ModelKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Breakable } from "../../parts/breakable.tsx";
import text from "../../parts/text.module.css";
import { WideTable } from "../../parts/wide-table.tsx";
import { FurtherPrices, useFurtherPrices } from "./further-prices.tsx";
import { ModelCards } from "./model-cards.tsx";
import { ModelDoor, ModelNames, useFigures, useKindNames } from "./model-facts.tsx";
import classes from "./models.module.css";

const said = texts(
  {
    models: "Models",
    model: "Model",
    family: "Family",
    kind: "Kind",
    vendor: "Vendor",
    window: "Context window",
    output: "Max output",
    priceIn: "Input price",
    priceCache: "Cache read price",
    priceOut: "Output price",
    call: "Call it",
    characters: (price: string) => `${price} per million characters`,
    none: "No price",
  },
  {
    models: "模型",
    model: "模型",
    family: "系列",
    kind: "类型",
    vendor: "厂商",
    window: "上下文窗口",
    output: "最大输出",
    priceIn: "输入价格",
    priceCache: "缓存读取价格",
    priceOut: "输出价格",
    call: "调用",
    characters: (price: string) => `每百万字符 ${price}`,
    none: "未定价",
  },
);

export function ModelTable({ models }: { readonly models: readonly CatalogModel[] }) {
  const t = useTexts(said);
  const numbers = [t.window, t.output, t.priceIn, t.priceCache, t.priceOut];
  return (
    <WideTable
      label={t.models}
      minWidth={900}
      cards={<ModelCards models={models} />}
      fz="sm"
      verticalSpacing={7}
      horizontalSpacing={8}
    >
      <Table.Thead>
        <Table.Tr>
          {[t.model, t.family, t.kind, t.vendor].map((head) => (
            <Table.Th key={head} scope="col">
              {head}
            </Table.Th>
          ))}
          {numbers.map((head) => (
            <Table.Th key={head} scope="col" ta="right">
              {head}
            </Table.Th>
          ))}
          <Table.Th scope="col">{t.call}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      {models.map((model) => (
        <ModelRows key={model.id} model={model} />
      ))}
    </WideTable>
  );
}

function ModelRows({ model }: { readonly model: CatalogModel }) {
  const names = useKindNames();
  const { tokens } = useFigures();
  const prices = useFurtherPrices(model);
  return (
    <Table.Tbody className={classes.model}>
      <Table.Tr>
        <Table.Td miw={160} maw={260}>
          <ModelNames model={model} />
        </Table.Td>
        <Table.Td miw={110} className={text.name}>
          <Breakable>{model.family}</Breakable>
        </Table.Td>
        <Table.Td>{names[model.kind]}</Table.Td>
        <Table.Td>{model.vendor || "–"}</Table.Td>
        <Table.Td className={text.number}>{tokens(model.contextWindow)}</Table.Td>
        <Table.Td className={text.number}>{tokens(model.maxOutputTokens)}</Table.Td>
        <Prices model={model} />
        <Table.Td>
          <ModelDoor model={model} />
        </Table.Td>
      </Table.Tr>
      {prices.length > 0 && (
        <Table.Tr>
          <Table.Td colSpan={10} pt={0}>
            <FurtherPrices prices={prices} />
          </Table.Td>
        </Table.Tr>
      )}
    </Table.Tbody>
  );
}

/** Prices shows the three prices of a model's kind. A single price spans their columns. */
function Prices({ model: { price, kind } }: { readonly model: CatalogModel }) {
  const t = useTexts(said);
  const figures = useFigures();
  if (!price || kind === ModelKind.SPEECH) {
    return (
      <Table.Td colSpan={3} className={text.number}>
        {price ? t.characters(figures.price(price.characters)) : t.none}
      </Table.Td>
    );
  }
  const isChat = kind === ModelKind.CHAT;
  return (
    <>
      <Table.Td className={text.number}>{figures.price(price.input)}</Table.Td>
      <Table.Td className={text.number}>{figures.price(isChat ? price.cacheRead : undefined)}</Table.Td>
      <Table.Td className={text.number}>{figures.price(isChat ? price.output : undefined)}</Table.Td>
    </>
  );
}
