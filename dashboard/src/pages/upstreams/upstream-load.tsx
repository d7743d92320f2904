/** Takes how long an upstream may take, how much it is asked at a time, and how its health is checked. */
import { Switch, Text, TextInput } from "@mantine/core";
import { texts, useTexts } from "../../language/language.tsx";
import { Fields } from "../../parts/fields.tsx";
import { type OptionProps, Part } from "./option-part.tsx";

const said = texts(
  {
    time: "Time, in seconds",
    connect: "For a connection",
    firstByte: "For the first byte",
    idle: "Between two pieces",
    total: "In all",
    load: "Load",
    maxConcurrent: "Concurrent calls",
    maxConcurrentAbout: "Calls beyond it wait. Empty: no limit.",
    maxQueued: "Waiting calls",
    maxWait: "Longest wait, in seconds",
    own: "Not shared with other gateways",
    ownAbout: "Each gateway of the fleet may have as many calls there, as at a server on its own machine.",
    check: "Health check",
    checkPath: "Path",
    checkPathAbout: "Asked for now and then, with the key. Empty: no check.",
    checkSeconds: "Every … seconds",
    checkFailures: "Failures in a row",
    asDefault: (value: string) => `Default: ${value}`,
    noLimit: "No limit",
  },
  {
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
    asDefault: (value: string) => `默认值：${value}`,
    noLimit: "不限",
  },
);

export function TimeOptions({ form }: OptionProps) {
  const t = useTexts(said);
  return (
    <Part title={t.time}>
      <Fields cols={{ base: 1, xs: 2, md: 4 }}>
        <NumberField label={t.connect} hint={t.asDefault("10")} {...form.getInputProps("connectSeconds")} />
        <NumberField label={t.firstByte} hint={t.asDefault("600")} {...form.getInputProps("firstByteSeconds")} />
        <NumberField label={t.idle} hint={t.asDefault("300")} {...form.getInputProps("idleSeconds")} />
        <NumberField label={t.total} hint={t.noLimit} {...form.getInputProps("totalSeconds")} />
      </Fields>
    </Part>
  );
}

export function LoadOptions({ form }: OptionProps) {
  const t = useTexts(said);
  const isBounded = form.values.maxConcurrent.trim() !== "";
  const isChecked = form.values.checkPath.trim() !== "";
  return (
    <>
      <Part title={t.load}>
        <Fields cols={{ base: 1, xs: 3 }}>
          <NumberField label={t.maxConcurrent} hint={t.noLimit} {...form.getInputProps("maxConcurrent")} />
          {isBounded && (
            <NumberField label={t.maxQueued} hint={t.asDefault("100")} {...form.getInputProps("maxQueued")} />
          )}
          {isBounded && (
            <NumberField label={t.maxWait} hint={t.asDefault("60")} {...form.getInputProps("maxWaitSeconds")} />
          )}
        </Fields>
        <Text size="xs" c="dimmed">
          {t.maxConcurrentAbout}
        </Text>
        {isBounded && (
          <Switch label={t.own} description={t.ownAbout} {...form.getInputProps("ownPlaces", { type: "checkbox" })} />
        )}
      </Part>
      <Part title={t.check}>
        <Fields cols={{ base: 1, xs: 3 }}>
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
        </Fields>
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
