/** The rates of a key for single models: a row each. */
import { useQuery } from "@connectrpc/connect-query";
import { Group, Select, Stack, Text, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { type ReactNode, useId } from "react";
import { AccountService } from "../../../../../gen/modelgateway/v1/accounts_pb.ts";
import { texts, useTexts } from "../../../language/language.tsx";
import { AddRow, RemoveRow } from "../../../parts/row-buttons.tsx";
import type { KeyValues } from "../key-values.ts";
import { modelGroups } from "../model-picker.tsx";
import { most, newRate } from "./limit-values.ts";

const said = texts(
  {
    rates: "Rates of single models",
    model: "Model",
    pick: "Choose a model",
    requests: "Requests a minute",
    tokens: "Tokens a minute",
    requestsUnit: "req/min",
    tokensUnit: "tokens/min",
    add: "Add a model",
    remove: (model: string) => `Remove the rate of ${model}`,
    unnamed: "the row",
    family: (name: string) => `All of ${name}`,
    nothing: "No model has that name",
  },
  {
    rates: "单个模型的速率",
    model: "模型",
    pick: "选择模型",
    requests: "每分钟请求数",
    tokens: "每分钟 Token 数",
    requestsUnit: "请求/分",
    tokensUnit: "Token/分",
    add: "添加模型",
    remove: (model: string) => `移除 ${model} 的速率`,
    unnamed: "此行",
    family: (name: string) => `${name} 全系列`,
    nothing: "没有匹配的模型",
  },
);

export function ModelRateFields({ form }: { readonly form: UseFormReturnType<KeyValues> }) {
  const t = useTexts(said);
  const { data } = useQuery(AccountService.method.listCatalog, {});
  const groups = modelGroups(data?.models ?? [], t.family);
  const heading = useId();
  const { rates } = form.values;
  const listed = new Set(groups.flatMap(({ items }) => items.map(({ value }) => value)));
  /** A model has one row: those of other rows are not offered. What is not served any more stays in its row. */
  const choices = (own: string) => {
    const taken = new Set(rates.map(({ model }) => model).filter((model) => model !== own));
    const gone = own !== "" && !listed.has(own) ? [{ value: own, label: own }] : [];
    return [
      ...gone,
      ...groups.map((group) => ({ ...group, items: group.items.filter(({ value }) => !taken.has(value)) })),
    ];
  };
  return (
    <Stack gap="xs" role="group" aria-labelledby={heading}>
      <Text id={heading} size="sm" fw={500}>
        {t.rates}
      </Text>
      {rates.map(({ id, model }, i) => (
        <Group key={id} gap="xs" align="flex-start">
          <Select
            aria-label={t.model}
            placeholder={t.pick}
            data={choices(model)}
            searchable
            allowDeselect={false}
            nothingFoundMessage={t.nothing}
            limit={200}
            flex="2 1 160px"
            {...form.getInputProps(`rates.${i}.model`)}
            value={model === "" ? null : model}
            onChange={(value) => form.setFieldValue(`rates.${i}.model`, value ?? "")}
          />
          <TextInput
            aria-label={t.requests}
            rightSection={<Unit>{t.requestsUnit}</Unit>}
            rightSectionWidth={64}
            inputMode="numeric"
            autoComplete="off"
            flex="1 1 130px"
            {...form.getInputProps(`rates.${i}.requests`)}
          />
          <TextInput
            aria-label={t.tokens}
            rightSection={<Unit>{t.tokensUnit}</Unit>}
            rightSectionWidth={82}
            inputMode="numeric"
            autoComplete="off"
            flex="1 1 130px"
            {...form.getInputProps(`rates.${i}.tokens`)}
          />
          <RemoveRow label={t.remove(model || t.unnamed)} onClick={() => form.removeListItem("rates", i)} />
        </Group>
      ))}
      {rates.length < most.rates && <AddRow onClick={() => form.insertListItem("rates", newRate())}>{t.add}</AddRow>}
    </Stack>
  );
}

/** Unit is what a number in a field counts; the field has a name of its own for readers of screens. */
function Unit({ children }: { readonly children: ReactNode }) {
  return (
    <Text size="xs" c="dimmed" aria-hidden>
      {children}
    </Text>
  );
}
