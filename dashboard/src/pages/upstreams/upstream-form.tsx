/** The settings of an upstream, to add or to change it: they are tried before they are saved. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Select, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useId } from "react";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { useFaultAt } from "../../configuration/faults.tsx";
import { Locked } from "../../configuration/locked.tsx";
import { ReviewBar } from "../../configuration/review-bar.tsx";
import { useDirty } from "../../configuration/use-edition.ts";
import { useReview } from "../../configuration/use-review.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Fields } from "../../parts/fields.tsx";
import { Folded } from "../../parts/folded.tsx";
import { Section } from "../../parts/section.tsx";
import { KeysField } from "./keys-field.tsx";
import { TestUpstream } from "./test-steps.tsx";
import { UpstreamMore } from "./upstream-more.tsx";
import { fieldFaults, isJson, type UpstreamValues, upstreamEntry } from "./upstream-values.ts";

const said = texts(
  {
    settings: "Settings",
    name: "Name",
    nameAbout: "How it is called here. A vendor's name brings that vendor's models and prices.",
    nameNeeded: "Enter a name",
    address: "Base URL",
    addressAbout: "With what comes before the paths of operations, often /v1.",
    addressNeeded: "Enter an address, such as https://api.example.com/v1",
    kind: "API",
    kindAbout: "What is spoken there. Nearly everything speaks OpenAI's.",
    more: "More options",
    test: "Test",
    addTitle: (name: string) => `Add ${name}`,
    changeTitle: (name: string) => `Change ${name}`,
    profileWrong: "This is not JSON",
  },
  {
    settings: "设置",
    name: "名称",
    nameAbout: "在网关中的名称。使用厂商名称即可获得该厂商的模型和价格。",
    nameNeeded: "请输入名称",
    address: "Base URL",
    addressAbout: "操作路径之前的地址，通常以 /v1 结尾。",
    addressNeeded: "请输入地址，例如 https://api.example.com/v1",
    kind: "API",
    kindAbout: "上游使用的 API，大多数兼容 OpenAI。",
    more: "更多选项",
    test: "测试",
    addTitle: (name: string) => `添加 ${name}`,
    changeTitle: (name: string) => `更改 ${name}`,
    profileWrong: "不是有效的 JSON",
  },
);

interface Props {
  readonly configuration: Configuration;
  readonly initial: UpstreamValues;
  /** before is the entry that is changed; undefined: it is a new one. */
  readonly before: JsonObject | undefined;
  readonly vendors: readonly string[];
  readonly onSaved: (name: string, version: number) => void;
  readonly onDirty?: (isDirty: boolean) => void;
}

export function UpstreamForm({ configuration, initial, before, vendors, onSaved, onDirty }: Props) {
  const t = useTexts(said);
  const formId = useId();
  const form = useForm<UpstreamValues>({
    initialValues: initial,
    validate: {
      name: (name) => (name.trim() === "" ? t.nameNeeded : null),
      baseUrl: (url) => (URL.canParse(url.trim()) ? null : t.addressNeeded),
      profile: (profile) => (isJson(profile) ? null : t.profileWrong),
    },
  });
  useDirty(form.isDirty(), onDirty);
  const name = form.values.name.trim();
  const faultAt = useFaultAt();
  const review = useReview(configuration, (refused) =>
    form.setErrors(fieldFaults((path) => faultAt(refused, `upstreams[${name}].${path}`))),
  );
  const entry = () => upstreamEntry(form.values, before);
  const validEntry = () => (form.validate().hasErrors ? undefined : entry());
  return (
    <Stack gap="lg">
      <Locked of={configuration} />
      <form id={formId} onSubmit={form.onSubmit(() => review.review([{ upstream: entry() }]))} noValidate>
        <Section title={t.settings}>
          <Fields cols={{ base: 1, sm: 2 }}>
            <TextInput
              label={t.name}
              description={t.nameAbout}
              required
              autoComplete="off"
              readOnly={before !== undefined}
              {...form.getInputProps("name")}
            />
            <Select
              label={t.kind}
              description={t.kindAbout}
              data={[
                { value: "openai", label: "OpenAI" },
                { value: "anthropic", label: "Anthropic" },
              ]}
              allowDeselect={false}
              {...form.getInputProps("kind")}
            />
          </Fields>
          <TextInput
            label={t.address}
            description={t.addressAbout}
            required
            type="url"
            autoComplete="off"
            {...form.getInputProps("baseUrl")}
          />
          <KeysField
            value={form.values.keys}
            onChange={(keys) => form.setFieldValue("keys", keys)}
            error={form.errors.keys}
            moved={URL.parse(form.values.baseUrl.trim())?.origin !== URL.parse(initial.baseUrl)?.origin}
          />
          <Folded title={t.more}>
            <UpstreamMore form={form} vendors={vendors} />
          </Folded>
        </Section>
      </form>
      <Section title={t.test}>
        <TestUpstream ofName={name} entryOf={validEntry} />
      </Section>
      <ReviewBar
        of={review}
        formId={formId}
        title={before ? t.changeTitle(name) : t.addTitle(name)}
        onSaved={(version) => onSaved(name, version)}
      />
    </Stack>
  );
}
