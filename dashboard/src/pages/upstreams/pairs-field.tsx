/** Headers, or parts of a query: names with values, as many as there are. */
import { Fieldset, Group, Stack, Text, TextInput } from "@mantine/core";
import { texts, useTexts } from "../../language/language.tsx";
import { AddRow, RemoveRow } from "../../parts/row-buttons.tsx";
import type { Pair } from "./upstream-values.ts";

const said = texts(
  {
    name: "Name",
    value: "Value",
    nameOf: (what: string, number: number) => `${what} ${number}: name`,
    valueOf: (what: string, number: number) => `${what} ${number}: value`,
    add: "Add",
    addTo: (what: string) => `Add: ${what}`,
    remove: (name: string) => `Remove ${name}`,
  },
  {
    name: "名称",
    value: "值",
    nameOf: (what: string, number: number) => `${what} ${number}：名称`,
    valueOf: (what: string, number: number) => `${what} ${number}：值`,
    add: "添加",
    addTo: (what: string) => `添加：${what}`,
    remove: (name: string) => `删除 ${name}`,
  },
);

interface Props {
  readonly label: string;
  readonly about: string;
  readonly value: readonly Pair[];
  readonly onChange: (value: readonly Pair[]) => void;
}

export function PairsField({ label, about, value, onChange }: Props) {
  const t = useTexts(said);
  const set = (at: number, pair: Pair) => onChange(value.map((one, i) => (i === at ? pair : one)));
  return (
    <Fieldset legend={label} variant="unstyled" p={0}>
      <Text size="xs" c="dimmed" mb="xs">
        {about}
      </Text>
      <Stack gap="xs">
        {value.map((pair, i) => (
          <Group key={i} gap="xs" wrap="nowrap" align="flex-end">
            <TextInput
              flex={1}
              miw={0}
              placeholder={t.name}
              aria-label={t.nameOf(label, i + 1)}
              value={pair.name}
              onChange={(event) => set(i, { ...pair, name: event.currentTarget.value })}
              autoComplete="off"
            />
            <TextInput
              flex={2}
              miw={0}
              placeholder={t.value}
              aria-label={t.valueOf(label, i + 1)}
              value={pair.value}
              onChange={(event) => set(i, { ...pair, value: event.currentTarget.value })}
              autoComplete="off"
            />
            <RemoveRow
              label={t.remove(pair.name || label)}
              onClick={() => onChange(value.filter((_, at) => at !== i))}
            />
          </Group>
        ))}
        <AddRow label={t.addTo(label)} onClick={() => onChange([...value, { name: "", value: "" }])}>
          {t.add}
        </AddRow>
      </Stack>
    </Fieldset>
  );
}
