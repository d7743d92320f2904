/** The models as a table, or as cards where there is no room for it. */
import { Group, Text } from "@mantine/core";
import { ModelKind, type ModelPrice } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import type { AttemptMeasures, DescribedModel } from "../../../../gen/modelgateway/v1/measures_pb.ts";
import { answeredShare } from "../../charts/measure-charts.tsx";
import { useFormat } from "../../language/format.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { ColumnList, type ListColumn } from "../../parts/column-list.tsx";
import { useDollars } from "../../parts/dollars.ts";
import text from "../../parts/text.module.css";
import { Aliases, ModelLink, useKindNames } from "../models/model-facts.tsx";
import { OriginMark } from "./origin-mark.tsx";
import { modelOriginOf } from "./use-models.ts";

const said = texts(
  {
    models: "Models",
    model: "Model",
    kind: "Kind",
    window: "Context window",
    input: "Input price",
    output: "Output price",
    targets: "Targets",
    answered: "Answered, 24\u00a0h",
    firstByte: "First byte",
    vendor: (price: string) => `vendor ${price}`,
    none: "No price",
    characters: (price: string) => `${price} / 1M characters`,
    notServed: "Not served",
  },
  {
    models: "模型",
    model: "模型",
    kind: "类型",
    window: "上下文窗口",
    input: "输入价格",
    output: "输出价格",
    targets: "目标",
    answered: "应答率（24 小时）",
    firstByte: "首字节",
    vendor: (price: string) => `厂商价 ${price}`,
    none: "未定价",
    characters: (price: string) => `${price} / 百万字符`,
    notServed: "未提供",
  },
);

interface Props {
  readonly models: readonly DescribedModel[];
  readonly configuration: Configuration;
  /** totalOf returns the measures of the last 24 hours. */
  readonly totalOf: (model: string) => AttemptMeasures | undefined;
}

export function ModelList(props: Props) {
  const t = useTexts(said);
  const columns = useColumns(props);
  return (
    <ColumnList
      label={t.models}
      entries={props.models}
      columns={columns}
      idOf={({ model }) => model?.id ?? ""}
      minWidth={900}
      table={{ fz: "sm", verticalSpacing: 7, horizontalSpacing: "xs" }}
    />
  );
}

function useColumns({ configuration, totalOf }: Props): readonly ListColumn<DescribedModel>[] {
  const t = useTexts(said);
  const format = useFormat();
  const kinds = useKindNames();
  const measured = ({ model }: DescribedModel) => totalOf(model?.id ?? "");
  const share = (of: DescribedModel) => {
    const total = measured(of);
    return total && answeredShare(total);
  };
  return [
    {
      ...{ name: "model", head: t.model, isHeadline: true },
      cell: (of) => <Name of={of} configuration={configuration} />,
    },
    { name: "kind", head: t.kind, cell: ({ model }) => kinds[model?.kind ?? ModelKind.UNSPECIFIED] },
    {
      name: "window",
      head: t.window,
      numeric: true,
      cell: ({ model }) => (model?.contextWindow === undefined ? "–" : format.compact(model.contextWindow)),
    },
    { name: "input", head: t.input, numeric: true, cell: (of) => <Price of={of} rate="input" /> },
    { name: "output", head: t.output, numeric: true, cell: (of) => <Price of={of} rate="output" /> },
    { name: "targets", head: t.targets, isName: true, cell: (of) => <Targets of={of} /> },
    {
      name: "answered",
      head: t.answered,
      numeric: true,
      cell: (of) => {
        const answered = share(of);
        return answered === undefined ? "–" : format.percent(answered);
      },
    },
    {
      name: "firstByte",
      head: t.firstByte,
      numeric: true,
      cell: (of) => {
        const ms = measured(of)?.firstByteP50Ms;
        return ms === undefined ? "–" : format.duration(ms);
      },
    },
  ];
}

function Name({ of, configuration }: { readonly of: DescribedModel; readonly configuration: Configuration }) {
  const { id = "", aliases = [] } = of.model ?? {};
  return (
    <>
      <Group gap="xs">
        <ModelLink id={id} to="/operator/models/$modelId" />
        <OriginMark origin={modelOriginOf(configuration, of)} fileName={configuration.fileName} />
      </Group>
      <Aliases of={aliases} />
    </>
  );
}

type Rate = "input" | "output";

/** Price shows our rate, and below it the vendor's in dollars. A speech model has one, for characters. */
function Price({ of, rate }: { readonly of: DescribedModel; readonly rate: Rate }) {
  const t = useTexts(said);
  const format = useFormat();
  const dollars = useDollars();
  const isSpeech = of.model?.kind === ModelKind.SPEECH;
  const { price } = of.model ?? {};
  if (rate === "output" && (isSpeech || of.model?.kind === ModelKind.EMBEDDING)) return "–";
  const ours = price && amountOf(price, rate, isSpeech);
  const vendors = of.vendorPrice && amountOf(of.vendorPrice, rate, isSpeech);
  return (
    <>
      <div>{ours === undefined ? t.none : isSpeech ? t.characters(format.money(ours)) : format.money(ours)}</div>
      {vendors !== undefined && (
        <Text size="xs" c="dimmed">
          {t.vendor(dollars(vendors))}
        </Text>
      )}
    </>
  );
}

function amountOf(price: ModelPrice, rate: Rate, isSpeech: boolean): bigint {
  return isSpeech ? price.characters : price[rate];
}

function Targets({ of: { targets, served } }: { readonly of: DescribedModel }) {
  const t = useTexts(said);
  const join = useJoin();
  if (!served) return <Text size="sm">{t.notServed}</Text>;
  return (
    <Text size="sm" miw={96} className={text.anywhere}>
      {join.list(targets.map(({ upstream }) => upstream))}
    </Text>
  );
}
