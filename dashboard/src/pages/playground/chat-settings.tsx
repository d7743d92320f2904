/** The settings of the chat: instructions, sampling, output limit, tools. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Button, Group, NumberInput, Paper, Select, Stack, Switch, Textarea, Title } from "@mantine/core";
import { texts, useTexts } from "../../language/language.tsx";
import { type ChatSettings, type EffortWord, efforts } from "./conversation.ts";
import classes from "./playground.module.css";
import { exampleTools, readTools } from "./tools.ts";

const said = texts(
  {
    settings: "Settings",
    system: "System prompt",
    systemHint: "Instructions that hold for the whole conversation",
    temperature: "Temperature",
    temperatureIs: "0 to 2. Empty: the model’s own.",
    maxTokens: "Max tokens",
    maxTokensIs: "Bounds each answer. Empty: what the credit allows.",
    tools: "Tools",
    toolsIs: "The model may call them. You type what they answer.",
    definitions: "Definitions of functions, as JSON",
    wrong: "This is not a JSON list of functions, each with a name. None of it is sent.",
    example: "Use the example",
    effort: "Reasoning effort",
    effortIs: "Of models that reason before they answer.",
    own: "The model’s own",
    none: "None",
    minimal: "Minimal",
    low: "Low",
    medium: "Medium",
    high: "High",
    schema: "JSON schema",
    schemaIs: "The answer is JSON that the schema allows.",
    schemaText: "The schema, as JSON",
    schemaWrong: "This is not a JSON object. It is not sent.",
  },
  {
    settings: "设置",
    system: "系统提示词",
    systemHint: "对整个对话有效的指令",
    temperature: "温度",
    temperatureIs: "0 到 2。留空则使用模型默认值。",
    maxTokens: "最大 Token 数",
    maxTokensIs: "限制每次回答的长度。留空则以可用额度为限。",
    tools: "工具",
    toolsIs: "模型可以调用它们，由您填写返回结果。",
    definitions: "函数定义（JSON）",
    wrong: "这不是有效的函数列表（JSON，每个函数需有名称），不会发送。",
    example: "使用示例",
    effort: "推理强度",
    effortIs: "适用于先推理再回答的模型。",
    own: "模型默认",
    none: "无",
    minimal: "最低",
    low: "低",
    medium: "中",
    high: "高",
    schema: "JSON Schema",
    schemaIs: "回答为符合该 Schema 的 JSON。",
    schemaText: "Schema（JSON）",
    schemaWrong: "这不是有效的 JSON 对象，不会发送。",
  },
);

export interface SettingValues {
  readonly system: string;
  readonly temperature: number | string;
  readonly maxTokens: number | string;
  readonly hasTools: boolean;
  readonly tools: string;
  readonly effort: EffortWord | "";
  readonly hasSchema: boolean;
  readonly schema: string;
}

const exampleSchema = JSON.stringify(
  {
    type: "object",
    properties: { city: { type: "string" }, celsius: { type: "number" } },
    required: ["city", "celsius"],
    additionalProperties: false,
  },
  null,
  2,
);

export const unset: SettingValues = {
  system: "",
  temperature: "",
  maxTokens: "",
  hasTools: false,
  tools: exampleTools,
  effort: "",
  hasSchema: false,
  schema: exampleSchema,
};

/** settingsOf returns the settings to send, without those that cannot be parsed. */
export function settingsOf(values: SettingValues): ChatSettings {
  const { system, temperature, maxTokens, hasTools, tools, effort, hasSchema, schema } = values;
  return {
    system,
    effort: effort === "" ? undefined : effort,
    schema: hasSchema ? readSchema(schema) : undefined,
    temperature: typeof temperature === "number" ? temperature : undefined,
    maxTokens: typeof maxTokens === "number" ? maxTokens : undefined,
    tools: (hasTools && readTools(tools)) || [],
  };
}

/** readSchema returns undefined for a text that is no JSON object. */
function readSchema(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}

interface Props {
  readonly values: SettingValues;
  readonly onChange: (values: SettingValues) => void;
}

export function ChatSettingsForm({ values, onChange }: Props) {
  const t = useTexts(said);
  const change = (changed: Partial<SettingValues>) => onChange({ ...values, ...changed });
  return (
    <Paper withBorder p="md" component="section" aria-label={t.settings}>
      <Stack gap="sm">
        <Title order={2} size="h5">
          {t.settings}
        </Title>
        <Textarea
          label={t.system}
          placeholder={t.systemHint}
          autosize
          minRows={2}
          maxRows={8}
          value={values.system}
          onChange={(event) => change({ system: event.currentTarget.value })}
        />
        <NumberInput
          {...{ label: t.temperature, description: t.temperatureIs, value: values.temperature }}
          {...{ min: 0, max: 2, step: 0.1, decimalScale: 2 }}
          onChange={(temperature) => change({ temperature })}
        />
        <NumberInput
          {...{ label: t.maxTokens, description: t.maxTokensIs, value: values.maxTokens }}
          {...{ min: 1, max: 4_000_000, allowDecimal: false, thousandSeparator: "," }}
          onChange={(maxTokens) => change({ maxTokens })}
        />
        <Select
          label={t.effort}
          description={t.effortIs}
          data={[
            { value: "", label: t.own },
            ...(Object.keys(efforts) as EffortWord[]).map((value) => ({ value, label: t[value] })),
          ]}
          value={values.effort}
          onChange={(effort) => change({ effort: (effort ?? "") as EffortWord | "" })}
          allowDeselect={false}
        />
        <Switch
          label={t.schema}
          description={t.schemaIs}
          checked={values.hasSchema}
          onChange={(event) => change({ hasSchema: event.currentTarget.checked })}
        />
        {values.hasSchema && (
          <Textarea
            label={t.schemaText}
            className={classes.code}
            autosize
            minRows={6}
            maxRows={18}
            spellCheck={false}
            value={values.schema}
            onChange={(event) => change({ schema: event.currentTarget.value })}
            error={readSchema(values.schema) ? undefined : t.schemaWrong}
          />
        )}
        <Switch
          label={t.tools}
          description={t.toolsIs}
          checked={values.hasTools}
          onChange={(event) => change({ hasTools: event.currentTarget.checked })}
        />
        {values.hasTools && <ToolEditor text={values.tools} onChange={(tools) => change({ tools })} />}
      </Stack>
    </Paper>
  );
}

function ToolEditor({ text, onChange }: { readonly text: string; readonly onChange: (text: string) => void }) {
  const t = useTexts(said);
  return (
    <>
      <Textarea
        label={t.definitions}
        className={classes.code}
        autosize
        minRows={6}
        maxRows={18}
        spellCheck={false}
        value={text}
        onChange={(event) => onChange(event.currentTarget.value)}
        error={readTools(text) ? undefined : t.wrong}
      />
      <Group justify="flex-end">
        <Button variant="subtle" size="compact-sm" onClick={() => onChange(exampleTools)}>
          {t.example}
        </Button>
      </Group>
    </>
  );
}
