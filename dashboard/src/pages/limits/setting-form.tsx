/** The settings of one section, as a form. What gateway.yaml has is shown and not changed. */
import { useQuery } from "@connectrpc/connect-query";
import { Group, Select, TextInput } from "@mantine/core";
import { type ReactNode, useId, useState } from "react";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import type { JsonObject } from "../../configuration/document.ts";
import { useFaultAt } from "../../configuration/faults.tsx";
import { FileMark } from "../../configuration/in-file.tsx";
import { ReviewBar } from "../../configuration/review-bar.tsx";
import { type Edition, useDirty } from "../../configuration/use-edition.ts";
import { useReview } from "../../configuration/use-review.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Fields } from "../../parts/fields.tsx";
import { Section } from "../../parts/section.tsx";
import { choiceNames, sectionTexts, settingHelps, settingNames } from "./setting-texts.ts";
import { changedSettings, type Field, keyOf, type SettingSection, valueAt, writeValue } from "./settings.ts";

const said = texts(
  {
    title: (section: string) => `Change: ${section}`,
    initial: (value: string) => `Default: ${value}`,
  },
  {
    title: (section: string) => `更改：${section}`,
    initial: (value: string) => `默认值：${value}`,
  },
);

interface Props extends Pick<Edition, "onDirty" | "onSaved"> {
  readonly section: SettingSection;
  readonly configuration: Configuration;
  /** more are further settings of the section, with what they change. */
  readonly more?: { readonly changed: JsonObject; readonly reset: () => void; readonly fields: ReactNode };
}

export function SettingForm({ section: { name, fields }, configuration, more, onDirty, onSaved }: Props) {
  const t = useTexts(said);
  const titles = useTexts(sectionTexts);
  const formId = useId();
  const initial = valuesOf(configuration, fields);
  const [values, setValues] = useState(initial);
  const review = useReview(configuration);
  const faultAt = useFaultAt();
  const open = fields.filter(({ path }) => !isInFile(configuration, path));
  const changed = { ...changedSettings(configuration.document, open, values), ...more?.changed };
  const isChanged = Object.keys(changed).length > 0;
  useDirty(isChanged, onDirty);
  const undo = () => {
    setValues(initial);
    more?.reset();
  };
  return (
    <Section id={name} title={titles[name]} about={titles[`${name}About`]}>
      <form
        id={formId}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isChanged) review.review([{ settings: changed }]);
        }}
      >
        <Fields cols={{ base: 1, sm: 2, lg: 3 }}>
          {fields.map((field) => (
            <SettingField
              key={field.path}
              field={field}
              value={values[field.path] ?? ""}
              onChange={(value) => setValues({ ...values, [field.path]: value })}
              error={faultAt(review.error, field.path)}
              fileName={isInFile(configuration, field.path) ? configuration.fileName : undefined}
            />
          ))}
        </Fields>
        {more?.fields}
      </form>
      <ReviewBar of={review} {...{ formId, isChanged, onSaved }} title={t.title(titles[name])} onUndo={undo} />
    </Section>
  );
}

function valuesOf({ effective }: Configuration, fields: readonly Field[]): Readonly<Record<string, string>> {
  return Object.fromEntries(fields.map(({ path, kind }) => [path, writeValue(valueAt(effective, path), kind)]));
}

/** isInFile tells whether gateway.yaml has the key, which is then the file's as a whole. */
export function isInFile({ file }: Pick<Configuration, "file">, path: string): boolean {
  return file?.[keyOf(path)] !== undefined;
}

interface FieldProps {
  readonly field: Field;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly error: string | undefined;
  /** fileName is set where the file has it; empty where the environment does. */
  readonly fileName: string | undefined;
}

function SettingField({ field, value, onChange, error, fileName }: FieldProps) {
  const t = useTexts(said);
  const [names, helps, choices] = [useTexts(settingNames), useTexts(settingHelps), useTexts(choiceNames)];
  const { path, kind, initial } = field;
  const label = (
    <Group component="span" gap={6} display="inline-flex">
      {names[path]}
      {fileName !== undefined && <FileMark fileName={fileName} />}
    </Group>
  );
  const shared = { label, description: helps[path], error, disabled: fileName !== undefined };
  if (kind === "choice" || kind === "yes-no") {
    const data = kind === "yes-no" ? ["yes", "no"] : (field.choices ?? []);
    const labels = new Map(Object.entries(choices));
    return (
      <Select
        {...shared}
        data={data.map((one) => ({ value: one, label: labels.get(one) ?? one }))}
        value={value || (typeof initial === "string" ? initial : null)}
        onChange={(next) => onChange(next === initial ? "" : (next ?? ""))}
        clearable={initial === undefined}
        allowDeselect={false}
      />
    );
  }
  if (kind === "model") return <ModelField {...shared} value={value} onChange={onChange} path={path} />;
  return (
    <TextInput
      {...shared}
      inputMode={kind === "text" ? "url" : kind === "whole" ? "numeric" : "decimal"}
      autoComplete="off"
      placeholder={initial === undefined ? undefined : t.initial(writeValue(initial, kind))}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface ModelFieldProps {
  readonly label: ReactNode;
  readonly description: string;
  readonly error: string | undefined;
  readonly disabled: boolean;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly path: string;
}

function ModelField({ value, onChange, path: _, ...field }: ModelFieldProps) {
  const models = useQuery(OperatorService.method.describeModels, {});
  const ids = models.data?.models.filter(({ served }) => served).map(({ model }) => model?.id ?? "") ?? [];
  return (
    <Select
      {...field}
      data={value === "" || ids.includes(value) ? ids : [...ids, value]}
      value={value || null}
      onChange={(model) => onChange(model ?? "")}
      searchable
      clearable
    />
  );
}
