/** The parts of a model's form: its names, and what it can do. */
import { Select, TagsInput, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { texts, useTexts } from "../../language/language.tsx";
import { Fields } from "../../parts/fields.tsx";
import { Folded } from "../../parts/folded.tsx";
import { Section } from "../../parts/section.tsx";
import type { ModelValues } from "./model-values.ts";

const said = texts(
  {
    names: "Names",
    id: "Name",
    idAbout: "What callers ask for.",
    aliases: "Aliases",
    aliasesAbout: "Other names that callers may use. Enter adds one.",
    family: "Family",
    familyAbout: "What permissions of keys name it by.",
    kind: "Kind",
    kindAbout: "What it does.",
    chat: "Chat",
    embedding: "Embedding",
    speech: "Speech",
    can: "What it can do",
    window: "Context window (tokens)",
    output: "Max output (tokens)",
    dimensions: "Dimensions",
    more: "More options",
    completions: "Text completions",
    viaChat: "Each prompt as a conversation",
    native: "The upstream's own endpoint",
    sticky: "Conversations stay at one target",
    reasoning: "Reasons before it answers",
    suits: "As suits it",
    yes: "Yes",
    no: "No",
    created: "Day of release",
    createdAbout: "As lists of models tell it.",
    vendor: "Vendor",
    vendorAbout: "Without targets, the upstream of this name serves it.",
  },
  {
    names: "名称",
    id: "名称",
    idAbout: "调用时使用的名称。",
    aliases: "别名",
    aliasesAbout: "调用时可用的其他名称，按回车添加。",
    family: "系列",
    familyAbout: "密钥权限使用的名称。",
    kind: "类型",
    kindAbout: "模型的用途。",
    chat: "对话",
    embedding: "向量",
    speech: "语音",
    can: "能力",
    window: "上下文窗口（Token）",
    output: "最大输出（Token）",
    dimensions: "维度",
    more: "更多选项",
    completions: "文本补全",
    viaChat: "每个提示作为一次对话",
    native: "上游自己的端点",
    sticky: "对话固定于同一目标",
    reasoning: "回答前先推理",
    suits: "自动",
    yes: "是",
    no: "否",
    created: "发布日期",
    createdAbout: "显示在模型列表中。",
    vendor: "厂商",
    vendorAbout: "没有目标时，由同名的上游提供。",
  },
);

/** Form is what the parts of the form have of it. */
type Form = Pick<UseFormReturnType<ModelValues>, "values" | "errors" | "getInputProps" | "setFieldValue">;

interface PartProps {
  readonly form: Form;
  readonly at: (key: string) => string | undefined;
}

export function Names({ form, fixed, at }: PartProps & { readonly fixed: boolean }) {
  const t = useTexts(said);
  return (
    <Section title={t.names}>
      <Fields cols={{ base: 1, sm: 2 }}>
        <TextInput
          label={t.id}
          description={t.idAbout}
          required
          readOnly={fixed}
          autoComplete="off"
          {...form.getInputProps("id")}
          error={form.errors.id ?? at("id")}
        />
        <TagsInput
          label={t.aliases}
          description={t.aliasesAbout}
          value={[...form.values.aliases]}
          onChange={(aliases) => form.setFieldValue("aliases", aliases)}
          error={at("aliases")}
        />
        <TextInput
          label={t.family}
          description={t.familyAbout}
          required
          autoComplete="off"
          {...form.getInputProps("family")}
          error={form.errors.family ?? at("family")}
        />
        <Select
          label={t.kind}
          description={t.kindAbout}
          data={(["chat", "embedding", "speech"] as const).map((value) => ({ value, label: t[value] }))}
          allowDeselect={false}
          {...form.getInputProps("kind")}
          error={at("kind")}
        />
      </Fields>
    </Section>
  );
}

export function Abilities({ form, at }: PartProps) {
  const t = useTexts(said);
  const { kind } = form.values;
  const number = { inputMode: "numeric", autoComplete: "off" } as const;
  return (
    <Section title={t.can}>
      <Fields cols={{ base: 1, xs: 2, md: 3 }}>
        <TextInput label={t.window} {...number} {...form.getInputProps("contextWindow")} error={at("context_window")} />
        {kind === "chat" && (
          <TextInput
            label={t.output}
            {...number}
            {...form.getInputProps("maxOutputTokens")}
            error={at("max_output_tokens")}
          />
        )}
        {kind === "embedding" && (
          <TextInput label={t.dimensions} {...number} {...form.getInputProps("dimensions")} error={at("dimensions")} />
        )}
      </Fields>
      <Folded title={t.more}>
        <Options form={form} at={at} />
      </Folded>
    </Section>
  );
}

function Options({ form, at }: PartProps) {
  const t = useTexts(said);
  const isChat = form.values.kind === "chat";
  const choices = [
    { value: "", label: t.suits },
    { value: "yes", label: t.yes },
    { value: "no", label: t.no },
  ];
  return (
    <Fields cols={{ base: 1, xs: 2 }}>
      <TextInput
        label={t.vendor}
        description={t.vendorAbout}
        autoComplete="off"
        {...form.getInputProps("vendor")}
        error={at("vendor")}
      />
      <TextInput
        type="date"
        label={t.created}
        description={t.createdAbout}
        {...form.getInputProps("created")}
        error={at("created")}
      />
      <Select label={t.sticky} data={choices} allowDeselect={false} {...form.getInputProps("sticky")} />
      {isChat && (
        <Select label={t.reasoning} data={choices} allowDeselect={false} {...form.getInputProps("reasoning")} />
      )}
      {isChat && (
        <Select
          label={t.completions}
          data={[
            { value: "", label: t.viaChat },
            { value: "native", label: t.native },
          ]}
          allowDeselect={false}
          {...form.getInputProps("completions")}
        />
      )}
    </Fields>
  );
}
