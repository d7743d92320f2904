/** An upstream's options that most leave as they are. */
import { JsonInput, Select, SimpleGrid, Stack, Switch, Text, TextInput } from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import type { ReactNode } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { PairsField } from "./pairs-field.tsx";
import type { UpstreamValues } from "./upstream-values.ts";

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
    time: "Time, in seconds",
    connect: "For a connection",
    firstByte: "For the head of an answer",
    idle: "Between two pieces of an answer",
    total: "In all",
    load: "Load",
    maxConcurrent: "Concurrent calls",
    maxConcurrentAbout: "Calls beyond it wait. Empty: no bound.",
    maxQueued: "Waiting calls",
    maxWait: "Longest wait, in seconds",
    own: "Not shared with other gateways",
    ownAbout: "Each gateway of the fleet may have as many calls there, as at a server on its own machine.",
    check: "Health check",
    checkPath: "Path",
    checkPathAbout: "Asked for now and then, with the key. Empty: no check.",
    checkSeconds: "Every … seconds",
    checkFailures: "Failures in a row",
    dialect: "Dialect",
    profile: "Profile",
    profileAbout: "What the server takes, as JSON, where its vendor's profile does not say. Empty: that of its vendor.",
    wrongJson: "This is not JSON",
    asDefault: (value: string) => `Default: ${value}`,
    unbounded: "No bound",
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
    time: "时限（秒）",
    connect: "建立连接",
    firstByte: "收到应答头",
    idle: "应答的两段之间",
    total: "总计",
    load: "负载",
    maxConcurrent: "并发调用数",
    maxConcurrentAbout: "超出的调用会排队。留空则不限。",
    maxQueued: "排队调用数",
    maxWait: "最长等待时间（秒）",
    own: "不与其他网关共享",
    ownAbout: "集群中的每个网关都可同时有这么多调用，例如上游在本机时。",
    check: "健康检查",
    checkPath: "路径",
    checkPathAbout: "定期携带密钥请求该路径。留空则不检查。",
    checkSeconds: "间隔（秒）",
    checkFailures: "连续失败次数",
    dialect: "方言",
    profile: "配置档",
    profileAbout: "服务器可接受的内容（JSON），厂商配置档未涵盖时填写。留空则采用其厂商的配置档。",
    wrongJson: "不是有效的 JSON",
    asDefault: (value: string) => `默认值：${value}`,
    unbounded: "不限",
  },
);

interface Props {
  readonly form: Pick<UseFormReturnType<UpstreamValues>, "values" | "errors" | "getInputProps" | "setFieldValue">;
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

function Part({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <Stack gap="sm" component="fieldset" bd={0} p={0} m={0}>
      <Text component="legend" fw={600} size="sm" p={0}>
        {title}
      </Text>
      {children}
    </Stack>
  );
}

function ModelOptions({ form, vendors }: Props) {
  const t = useTexts(said);
  return (
    <Part title={t.models}>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
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
      </SimpleGrid>
      <Switch
        label={t.regional}
        description={t.regionalAbout}
        {...form.getInputProps("regional", { type: "checkbox" })}
      />
    </Part>
  );
}

function RequestOptions({ form }: Pick<Props, "form">) {
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

function TimeOptions({ form }: Pick<Props, "form">) {
  const t = useTexts(said);
  return (
    <Part title={t.time}>
      <SimpleGrid cols={{ base: 1, xs: 2, md: 4 }}>
        <NumberField label={t.connect} hint={t.asDefault("10")} {...form.getInputProps("connectSeconds")} />
        <NumberField label={t.firstByte} hint={t.asDefault("600")} {...form.getInputProps("firstByteSeconds")} />
        <NumberField label={t.idle} hint={t.asDefault("300")} {...form.getInputProps("idleSeconds")} />
        <NumberField label={t.total} hint={t.unbounded} {...form.getInputProps("totalSeconds")} />
      </SimpleGrid>
    </Part>
  );
}

function LoadOptions({ form }: Pick<Props, "form">) {
  const t = useTexts(said);
  const isBounded = form.values.maxConcurrent.trim() !== "";
  const isChecked = form.values.checkPath.trim() !== "";
  return (
    <>
      <Part title={t.load}>
        <SimpleGrid cols={{ base: 1, xs: 3 }}>
          <NumberField label={t.maxConcurrent} hint={t.unbounded} {...form.getInputProps("maxConcurrent")} />
          {isBounded && (
            <NumberField label={t.maxQueued} hint={t.asDefault("100")} {...form.getInputProps("maxQueued")} />
          )}
          {isBounded && (
            <NumberField label={t.maxWait} hint={t.asDefault("60")} {...form.getInputProps("maxWaitSeconds")} />
          )}
        </SimpleGrid>
        <Text size="xs" c="dimmed">
          {t.maxConcurrentAbout}
        </Text>
        {isBounded && (
          <Switch label={t.own} description={t.ownAbout} {...form.getInputProps("ownPlaces", { type: "checkbox" })} />
        )}
      </Part>
      <Part title={t.check}>
        <SimpleGrid cols={{ base: 1, xs: 3 }}>
          <TextInput
            label={t.checkPath}
            placeholder="/models"
            autoComplete="off"
            {...form.getInputProps("checkPath")}
          />
          {isChecked && (
            <NumberField label={t.checkSeconds} hint={t.asDefault("30")} {...form.getInputProps("checkSeconds")} />
          )}
          {isChecked && (
            <NumberField label={t.checkFailures} hint={t.asDefault("3")} {...form.getInputProps("checkFailures")} />
          )}
        </SimpleGrid>
        <Text size="xs" c="dimmed">
          {t.checkPathAbout}
        </Text>
      </Part>
    </>
  );
}

interface NumberFieldProps {
  readonly label: string;
  readonly hint: string;
}

/** NumberField is a field for a number; its hint is what holds where it is empty. */
function NumberField({ label, hint, ...field }: NumberFieldProps) {
  return <TextInput label={label} placeholder={hint} inputMode="decimal" autoComplete="off" {...field} />;
}

function DialectOption({ form }: Pick<Props, "form">) {
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
        ff="monospace"
        {...form.getInputProps("profile")}
      />
    </Part>
  );
}
