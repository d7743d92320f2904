/** All models that the gateway serves or could serve, with the vendors' prices beside ours, and how they did in the last day. */
import { Button, Group, Select, Text } from "@mantine/core";
import { IconPlus, IconStack2 } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import type { DescribedModel } from "../../../../gen/modelgateway/v1/measures_pb.ts";
import { useConfiguration } from "../../configuration/use-configuration.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { useHourlyMeasures } from "../upstreams/use-hourly-measures.ts";
import { ModelList } from "./model-list.tsx";
import { modelOriginOf, useDescribedModels } from "./use-models.ts";

const said = texts(
  {
    title: "Models",
    about: "What callers may ask for, what it costs beside the vendor's price, and where it goes.",
    add: "Add a model",
    search: "Search",
    hint: "Name, alias, vendor or upstream",
    shown: "Show",
    served: "Served",
    all: "All, with the catalogue",
    own: "Own entries",
    count: (shown: string, all: string) => `${shown} of ${all}`,
    none: "No models match",
    nothing: "No model is served",
    how: "Add an upstream: it brings its vendor's models. Or add a model of your own.",
    widen: "Change the search, or show all.",
  },
  {
    title: "模型",
    about: "可调用的模型、与厂商价对照的价格，以及调用的去向。",
    add: "添加模型",
    search: "搜索",
    hint: "名称、别名、厂商或上游",
    shown: "显示",
    served: "已提供",
    all: "全部（含目录）",
    own: "自定义条目",
    count: (shown: string, all: string) => `${shown} / ${all}`,
    none: "没有匹配的模型",
    nothing: "没有提供任何模型",
    how: "添加上游即可获得其厂商的模型，也可添加自己的模型。",
    widen: "请更改搜索条件，或显示全部。",
  },
);

type Shown = "served" | "own" | "all";

export function OperatorModelsPage() {
  const t = useTexts(said);
  const models = useDescribedModels();
  const configuration = useConfiguration();
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        <Button component={Link} to="/operator/add-model" leftSection={<IconPlus size={16} aria-hidden />}>
          {t.add}
        </Button>
      }
    >
      <Answer of={models} lines={8}>
        {({ models }) => (
          <Answer of={configuration} lines={8}>
            {({ configuration }) => configuration && <Catalog models={models} configuration={configuration} />}
          </Answer>
        )}
      </Answer>
    </Page>
  );
}

interface Props {
  readonly models: readonly DescribedModel[];
  readonly configuration: Configuration;
}

function Catalog({ models, configuration }: Props) {
  const t = useTexts(said);
  const format = useFormat();
  const [sought, setSought] = useState("");
  const [shown, setShown] = useState<Shown>("served");
  const measures = useHourlyMeasures({ groupBy: "model" });
  const found = models.filter((one) => isShown(one, shown, configuration) && fits(one, sought));
  const labels = { served: t.served, own: t.own, all: t.all };
  return (
    <>
      <Group gap="sm" align="flex-end" role="search">
        <SearchInput label={t.search} hint={t.hint} value={sought} onChange={setSought} w={{ base: "100%", xs: 280 }} />
        <Select
          label={t.shown}
          data={(["served", "own", "all"] as const).map((value) => ({ value, label: labels[value] }))}
          value={shown}
          onChange={(value) => setShown((value as Shown | null) ?? "served")}
          allowDeselect={false}
          w={{ base: "100%", xs: 220 }}
        />
        <Text size="sm" c="dimmed" role="status" pb={8}>
          {t.count(format.count(found.length), format.count(models.length))}
        </Text>
      </Group>
      {found.length > 0 ? (
        <ModelList models={found} configuration={configuration} totalOf={measures.totalOf} />
      ) : (
        <Empty icon={IconStack2} title={sought === "" && shown === "served" ? t.nothing : t.none}>
          {sought === "" && shown === "served" ? t.how : t.widen}
        </Empty>
      )}
    </>
  );
}

function isShown(one: DescribedModel, shown: Shown, configuration: Configuration): boolean {
  if (shown === "all") return true;
  if (shown === "served") return one.served;
  const origin = modelOriginOf(configuration, one);
  return origin === "file" || origin === "stored";
}

function fits({ model, targets }: DescribedModel, sought: string): boolean {
  const looked = sought.trim().toLowerCase();
  const names = [model?.id ?? "", model?.vendor ?? "", model?.family ?? "", ...(model?.aliases ?? [])];
  return [...names, ...targets.map(({ upstream }) => upstream)].some((name) => name.toLowerCase().includes(looked));
}
