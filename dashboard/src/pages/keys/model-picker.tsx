/** Selects models and families. An empty selection permits all. */
import { useQuery } from "@connectrpc/connect-query";
import { MultiSelect } from "@mantine/core";
import { AccountService, type CatalogModel } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";

const said = texts(
  {
    label: "Models",
    about: "A whole family includes models that join it later. None chosen: all models.",
    all: "All models",
    family: (name: string) => `All of ${name}`,
    nothing: "No model has that name",
    gone: "No longer served",
    clear: "Permit all models",
    failed: "The models could not be listed. The key can be made for all of them.",
  },
  {
    label: "模型",
    about: "选择整个系列时，日后加入该系列的模型也包含在内。不选则允许所有模型。",
    all: "所有模型",
    family: (name: string) => `${name} 全系列`,
    nothing: "没有匹配的模型",
    gone: "已不再提供",
    clear: "允许所有模型",
    failed: "无法列出模型，但仍可创建允许所有模型的密钥。",
  },
);

/** shownOptions is the most options shown at once; typing finds the rest. */
const shownOptions = 200;

interface Props {
  readonly value: string[];
  readonly onChange: (value: string[]) => void;
}

export function ModelPicker({ value, onChange }: Props) {
  const t = useTexts(said);
  const { data, error } = useQuery(AccountService.method.listCatalog, {});
  const models = data?.models ?? [];
  const known = modelGroups(models, t.family);
  const listed = new Set(known.flatMap(({ items }) => items.map((item) => item.value)));
  const gone = value.filter((entry) => !listed.has(entry)).map((entry) => ({ value: entry, label: entry }));
  const familyOf = new Map(models.map(({ id, family }) => [id, `family:${family}`]));
  // A model is redundant if its whole family is selected.
  const choose = (chosen: string[]) => onChange(chosen.filter((entry) => !chosen.includes(familyOf.get(entry) ?? "")));
  return (
    <MultiSelect
      label={t.label}
      description={t.about}
      placeholder={value.length === 0 ? t.all : ""}
      data={gone.length > 0 ? [...known, { group: t.gone, items: gone }] : known}
      value={value}
      onChange={choose}
      searchable
      clearable
      limit={shownOptions}
      maxDropdownHeight={280}
      nothingFoundMessage={t.nothing}
      clearButtonProps={{ "aria-label": t.clear }}
      error={error ? t.failed : undefined}
    />
  );
}

/** modelGroups returns models by family for a list to choose from, each family with an entry for all of it. */
export function modelGroups(models: readonly CatalogModel[], nameOf: (family: string) => string) {
  const families = Map.groupBy(models, ({ family }) => family);
  return [...families].map(([family, members]) => ({
    group: family,
    items: [
      { value: `family:${family}`, label: nameOf(family) },
      ...members.map(({ id }) => ({ value: id, label: id })),
    ],
  }));
}
