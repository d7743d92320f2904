/** The settings of a model: names, what it can do, its price beside the vendor's, and its targets. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Accordion, Alert, Button, Group, Select, SimpleGrid, Stack, TagsInput, TextInput } from "@mantine/core";
import { type UseFormReturnType, useForm } from "@mantine/form";
import { IconLock } from "@tabler/icons-react";
import { useId, useState } from "react";
import type { ModelPrice } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { entriesOf, textAt } from "../../configuration/document.ts";
import { Faults, faultAt } from "../../configuration/faults.tsx";
import { SaveChanges } from "../../configuration/save-changes.tsx";
import { useReview } from "../../configuration/use-review.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Section } from "../../parts/section.tsx";
import { type ModelValues, modelEntry } from "./model-values.ts";
import { PriceFields } from "./price-fields.tsx";
import type { PriceValues } from "./price-values.ts";
import { TargetsEditor } from "./targets-editor.tsx";

const said = texts(
  {
    names: "Names",
    id: "Name",
    idAbout: "What callers ask for.",
    idNeeded: "Enter a name",
    aliases: "Aliases",
    aliasesAbout: "Other names that callers may use. Enter adds one.",
    family: "Family",
    familyAbout: "What permissions of keys name it by.",
    familyNeeded: "Enter a family",
    kind: "Kind",
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
    vendor: "Vendor",
    vendorAbout: "Without targets, the upstream of this name serves it.",
    price: "Price",
    takeVendor: "Take the vendor's price",
    targets: "Targets",
    targetsAbout:
      "Where its calls go. Those of the first level share the calls by weight; the next level is asked when all above fail.",
    review: "Review and save",
    addTitle: (id: string) => `Add ${id}`,
    changeTitle: (id: string) => `Change ${id}`,
  },
  {
    names: "名称",
    id: "名称",
    idAbout: "调用时使用的名称。",
    idNeeded: "请输入名称",
    aliases: "别名",
    aliasesAbout: "调用时可用的其他名称，按回车添加。",
    family: "系列",
    familyAbout: "密钥权限使用的名称。",
    familyNeeded: "请输入系列",
    kind: "类型",
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
    vendor: "厂商",
    vendorAbout: "没有目标时，由同名的上游提供。",
    price: "价格",
    takeVendor: "采用厂商价格",
    targets: "目标",
    targetsAbout: "调用的去向。第一级的目标按权重分担调用；全部失败后才调用下一级。",
    review: "检查并保存",
    addTitle: (id: string) => `添加 ${id}`,
    changeTitle: (id: string) => `更改 ${id}`,
  },
);

interface Props {
  readonly configuration: Configuration;
  readonly initial: ModelValues;
  /** before is the stored entry that is changed; undefined: it is a new one. */
  readonly before: JsonObject | undefined;
  /** fixed is whether the model is there already, so that its name stays. */
  readonly fixed: boolean;
  /** vendorPrice is the vendor's, in millionths of a dollar; catalogue is the same as the form has it, in the gateway's unit. */
  readonly vendorPrice: ModelPrice | undefined;
  readonly catalogue: PriceValues | undefined;
  readonly onSaved: (id: string) => void;
}

export function ModelForm({ configuration, initial, before, fixed, vendorPrice, catalogue, onSaved }: Props) {
  const t = useTexts(said);
  const formId = useId();
  const form = useForm<ModelValues>({
    initialValues: initial,
    validate: {
      id: (id) => (id.trim() === "" ? t.idNeeded : null),
      family: (family) => (family.trim() === "" ? t.familyNeeded : null),
    },
  });
  const [base] = useState(configuration.version);
  const { review, reviewed, close, busy, error } = useReview(base);
  const id = form.values.id.trim();
  const at = (key: string) => faultAt(error, `models[${id}].${key}`);
  const upstreams = entriesOf(configuration.effective, "upstreams").map((entry) => textAt(entry, "name"));
  const submit = form.onSubmit((values) => review([{ model: modelEntry(values, before) }]));
  return (
    <Stack gap="lg">
      {configuration.locked !== undefined && (
        <Alert color="yellow" icon={<IconLock aria-hidden />}>
          {configuration.locked}
        </Alert>
      )}
      <form id={formId} onSubmit={submit} noValidate>
        <Stack gap="lg">
          <Names form={form} fixed={fixed} at={at} />
          <Abilities form={form} at={at} />
          <Section
            title={t.price}
            actions={
              catalogue && (
                <Button variant="default" size="xs" onClick={() => form.setFieldValue("price", catalogue)}>
                  {t.takeVendor}
                </Button>
              )
            }
          >
            <PriceFields
              value={form.values.price}
              onChange={(price) => form.setFieldValue("price", price)}
              vendor={vendorPrice}
              kind={form.values.kind}
              errorAt={(key) => at(`price.${key}`)}
            />
          </Section>
          <Section title={t.targets} about={t.targetsAbout}>
            <TargetsEditor
              value={form.values.targets}
              onChange={(targets) => form.setFieldValue("targets", targets)}
              upstreams={upstreams}
              modelId={id}
            />
          </Section>
        </Stack>
      </form>
      {error && <Faults of={error} />}
      <Group>
        <Button type="submit" form={formId} loading={busy} disabled={configuration.locked !== undefined}>
          {t.review}
        </Button>
      </Group>
      <SaveChanges
        opened={reviewed !== undefined}
        onClose={close}
        title={fixed ? t.changeTitle(id) : t.addTitle(id)}
        base={base}
        changes={reviewed ?? []}
        onSaved={() => onSaved(id)}
      />
    </Stack>
  );
}

/** Form is what the parts of the form have of it. */
type Form = Pick<UseFormReturnType<ModelValues>, "values" | "errors" | "getInputProps" | "setFieldValue">;

interface PartProps {
  readonly form: Form;
  readonly at: (key: string) => string | undefined;
}

function Names({ form, fixed, at }: PartProps & { readonly fixed: boolean }) {
  const t = useTexts(said);
  return (
    <Section title={t.names}>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
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
          description=" "
          data={(["chat", "embedding", "speech"] as const).map((value) => ({ value, label: t[value] }))}
          allowDeselect={false}
          {...form.getInputProps("kind")}
          error={at("kind")}
        />
      </SimpleGrid>
    </Section>
  );
}

function Abilities({ form, at }: PartProps) {
  const t = useTexts(said);
  const { kind } = form.values;
  const number = { inputMode: "numeric", autoComplete: "off" } as const;
  return (
    <Section title={t.can}>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
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
      </SimpleGrid>
      <Accordion variant="separated" chevronPosition="left">
        <Accordion.Item value="more">
          <Accordion.Control>{t.more}</Accordion.Control>
          <Accordion.Panel>
            <Options form={form} at={at} />
          </Accordion.Panel>
        </Accordion.Item>
      </Accordion>
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
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
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
        description=" "
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
    </SimpleGrid>
  );
}
