/** The models that the gateway serves: names, capabilities, prices, and whether the account may call them. */
import { useQuery } from "@connectrpc/connect-query";
import { Button, Group, Select, Text } from "@mantine/core";
import { IconSearch, IconStack2 } from "@tabler/icons-react";
import { useState } from "react";
import { AccountService, type CatalogModel, type ModelKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { SearchInput } from "../../parts/search-input.tsx";
import { kinds, useKindNames } from "./model-facts.tsx";
import { ModelTable } from "./model-table.tsx";

const said = texts(
  {
    title: "Models",
    about:
      "Call a model by its name or any of its aliases. Prices are per million tokens; for speech, per million characters.",
    search: "Search",
    hint: "Name, alias or vendor",
    family: "Family",
    kind: "Kind",
    all: "All",
    none: "No models yet",
    add: "The gateway has no models to serve. They are set in its configuration.",
    noneSuch: "No models match",
    widen: "Change the filters, or clear them to see all models.",
    clear: "Clear filters",
    count: (shown: string, all: string) => `${shown} of ${all}`,
  },
  {
    title: "模型",
    about: "可用模型名称或任一别名调用模型。价格按每百万 Token 计；语音按每百万字符计。",
    search: "搜索",
    hint: "名称、别名或厂商",
    family: "系列",
    kind: "类型",
    all: "全部",
    none: "还没有模型",
    add: "网关没有可用的模型，模型在网关配置中设置。",
    noneSuch: "没有匹配的模型",
    widen: "请更改筛选条件，或清除筛选以查看全部模型。",
    clear: "清除筛选",
    count: (shown: string, all: string) => `${shown} / ${all}`,
  },
);

interface Sought {
  readonly text: string;
  readonly family: string | null;
  readonly kind: string | null;
}

const everything: Sought = { text: "", family: null, kind: null };

export function ModelsPage() {
  const t = useTexts(said);
  const catalog = useQuery(AccountService.method.listCatalog, {});
  return (
    <Page title={t.title} about={t.about}>
      <Answer of={catalog} lines={8}>
        {({ models }) =>
          models.length > 0 ? (
            <Catalog models={models} />
          ) : (
            <Empty icon={IconStack2} title={t.none}>
              {t.add}
            </Empty>
          )
        }
      </Answer>
    </Page>
  );
}

function Catalog({ models }: { readonly models: readonly CatalogModel[] }) {
  const t = useTexts(said);
  const format = useFormat();
  const names = useKindNames();
  const [sought, setSought] = useState(everything);
  const shown = models.filter((model) => fits(model, sought));
  const clear = (
    <Button variant="default" onClick={() => setSought(everything)}>
      {t.clear}
    </Button>
  );
  return (
    <>
      <Group gap="sm" align="flex-end" role="search">
        <SearchInput
          label={t.search}
          hint={t.hint}
          value={sought.text}
          onChange={(text) => setSought({ ...sought, text })}
          w={{ base: "100%", xs: 260 }}
        />
        <Select
          {...{ label: t.family, placeholder: t.all, value: sought.family }}
          data={[...new Set(models.map(({ family }) => family))]}
          onChange={(family) => setSought({ ...sought, family })}
          clearable
          searchable
          w={{ base: "100%", xs: 160 }}
        />
        <Select
          {...{ label: t.kind, placeholder: t.all, value: sought.kind }}
          data={kinds.map((kind) => ({ value: String(kind), label: names[kind] }))}
          onChange={(kind) => setSought({ ...sought, kind })}
          clearable
          w={{ base: "100%", xs: 140 }}
        />
        <Text size="sm" c="dimmed" role="status" pb={8}>
          {t.count(format.count(shown.length), format.count(models.length))}
        </Text>
      </Group>
      {shown.length > 0 ? (
        <ModelTable models={shown} />
      ) : (
        <Empty icon={IconSearch} title={t.noneSuch} action={clear}>
          {t.widen}
        </Empty>
      )}
    </>
  );
}

function fits(model: CatalogModel, { text, family, kind }: Sought): boolean {
  const looked = text.trim().toLowerCase();
  const names = [model.id, ...model.aliases, model.vendor, model.family];
  return (
    names.some((name) => name.toLowerCase().includes(looked)) &&
    (family === null || model.family === family) &&
    (kind === null || model.kind === (Number(kind) as ModelKind))
  );
}
