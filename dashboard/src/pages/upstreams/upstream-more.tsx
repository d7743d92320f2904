/** An upstream's options that most leave as they are. */
import { JsonInput, Select, Stack, Switch, TextInput } from "@mantine/core";
import { texts, useTexts } from "../../language/language.tsx";
import { Fields } from "../../parts/fields.tsx";
import { type OptionProps, Part } from "./option-part.tsx";
import { PairsField } from "./pairs-field.tsx";
import { LoadOptions, TimeOptions } from "./upstream-load.tsx";

const said = texts(
  {
    models: "Models",
    vendor: "Vendor",
    vendorAbout: "Whose server it is, where its name and address do not tell: it then has that vendor's dialect.",
    discover: "Which models it serves",
    discoverAbout: "What it lists is asked for now and then. Models of the catalogue keep their names and prices.",
    suits: "As suits it: those of its vendor that it lists",
    yes: "All that it lists",
    no: "Those that name it as a target, and those of its vendor",
    regional: "Computes in one region",
    regionalAbout: "Where prices have a factor for a region, it applies.",
    request: "Requests",
    credential: "Header of the key",
    credentialAbout: "Where it is not Authorization: Bearer. For example api-key.",
    headers: "Headers",
    headersAbout: "Further headers of each request. Values are stored encrypted.",
    query: "Query",
    queryAbout: "The query of each request. Values are stored encrypted.",
    dialect: "Dialect",
    profile: "Profile",
    profileAbout: "What the server takes, as JSON, where its vendor's profile does not say. Empty: that of its vendor.",
    wrongJson: "This is not JSON",
  },
  {
    models: "模型",
    vendor: "厂商",
    vendorAbout: "当名称和地址无法说明服务器所属厂商时填写，以采用该厂商的方言。",
    discover: "提供哪些模型",
    discoverAbout: "网关会定期查询其模型列表。目录中的模型保留原有名称和价格。",
    suits: "自动：其厂商的、且在列表中的模型",
    yes: "列表中的所有模型",
    no: "以其为目标的模型，以及其厂商的模型",
    regional: "在单一区域计算",
    regionalAbout: "价格含区域系数时适用该系数。",
    request: "请求",
    credential: "密钥所用的请求头",
    credentialAbout: "不是 Authorization: Bearer 时填写，例如 api-key。",
    headers: "请求头",
    headersAbout: "每个请求附加的请求头，值加密存储。",
    query: "查询参数",
    queryAbout: "每个请求附加的查询参数，值加密存储。",
    dialect: "方言",
    profile: "配置档",
    profileAbout: "服务器可接受的内容（JSON），厂商配置档未涵盖时填写。留空则采用其厂商的配置档。",
    wrongJson: "不是有效的 JSON",
  },
);

interface Props extends OptionProps {
  readonly vendors: readonly string[];
}

export function UpstreamMore({ form, vendors }: Props) {
  return (
    <Stack gap="lg">
      <ModelOptions form={form} vendors={vendors} />
      <RequestOptions form={form} />
      <TimeOptions form={form} />
      <LoadOptions form={form} />
      <DialectOption form={form} />
    </Stack>
  );
}

function ModelOptions({ form, vendors }: Props) {
  const t = useTexts(said);
  return (
    <Part title={t.models}>
      <Fields cols={{ base: 1, sm: 2 }}>
        <Select
          label={t.discover}
          description={t.discoverAbout}
          data={[
            { value: "", label: t.suits },
            { value: "yes", label: t.yes },
            { value: "no", label: t.no },
          ]}
          allowDeselect={false}
          {...form.getInputProps("discover")}
        />
        <Select
          label={t.vendor}
          description={t.vendorAbout}
          data={[...vendors]}
          searchable
          clearable
          value={form.values.vendor || null}
          onChange={(vendor) => form.setFieldValue("vendor", vendor ?? "")}
          error={form.errors.vendor}
        />
      </Fields>
      <Switch
        label={t.regional}
        description={t.regionalAbout}
        {...form.getInputProps("regional", { type: "checkbox" })}
      />
    </Part>
  );
}

function RequestOptions({ form }: OptionProps) {
  const t = useTexts(said);
  return (
    <Part title={t.request}>
      <TextInput
        label={t.credential}
        description={t.credentialAbout}
        maw={320}
        autoComplete="off"
        {...form.getInputProps("credential")}
      />
      <PairsField
        label={t.headers}
        about={t.headersAbout}
        value={form.values.headers}
        onChange={(headers) => form.setFieldValue("headers", headers)}
      />
      <PairsField
        label={t.query}
        about={t.queryAbout}
        value={form.values.query}
        onChange={(query) => form.setFieldValue("query", query)}
      />
    </Part>
  );
}

function DialectOption({ form }: OptionProps) {
  const t = useTexts(said);
  return (
    <Part title={t.dialect}>
      <JsonInput
        label={t.profile}
        description={t.profileAbout}
        placeholder='{"output_bound": "max_tokens"}'
        validationError={t.wrongJson}
        formatOnBlur
        autosize
        minRows={2}
        styles={{ input: { fontFamily: "var(--mantine-font-family-monospace)" } }}
        {...form.getInputProps("profile")}
      />
    </Part>
  );
}
