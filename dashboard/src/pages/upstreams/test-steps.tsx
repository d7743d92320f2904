/** Tries an upstream with a real call, and shows each step with what failed and why. */

import type { JsonObject } from "@bufbuild/protobuf";
import { useMutation } from "@connectrpc/connect-query";
import { Button, Code, Group, List, Loader, Stack, Text, TextInput, ThemeIcon } from "@mantine/core";
import { IconCheck, IconMinus, IconPlugConnected, IconQuestionMark, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { TestOutcome, type TestStep, TestStepKind } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { Faults } from "../../configuration/faults.tsx";
import { counted } from "../../language/counted.ts";
import { useFormat } from "../../language/format.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { useReasonText } from "../../language/use-reason-text.ts";
import { labelHeight } from "../../parts/fields.tsx";
import text from "../../parts/text.module.css";
import { useServedElsewhere } from "./served-elsewhere.ts";
import { stepInChinese } from "./test-reason-texts.ts";

const said = texts(
  {
    test: "Test",
    about: "Asks it for its models, and makes a small call there. No account pays; the upstream may charge for it.",
    model: "Model to call",
    modelHint: "Its name there. Empty: one that it has.",
    steps: "Steps of the test",
    list: "List the models",
    call: "Call a model",
    callOf: (model: string) => `Call ${model}`,
    ok: "Went well",
    failed: "Failed",
    unknown: "Cannot tell",
    skipped: "Not taken",
    running: "Under way",
    found: (count: string) => counted(count, "model"),
    tokens: (input: string, output: string) => `${counted(input, "token")} in, ${output} out`,
    more: (count: string) => `and ${count} more`,
    works: "It works.",
    elsewhere: "Served by other upstreams, too:",
    at: (model: string, upstreams: string) => `${model} (${upstreams})`,
  },
  {
    test: "测试",
    about: "查询其模型列表，并发出一次小的调用。不向任何账户收费；上游可能对此计费。",
    model: "要调用的模型",
    modelHint: "在上游的名称。留空则自动选择。",
    steps: "测试步骤",
    list: "列出模型",
    call: "调用模型",
    callOf: (model: string) => `调用 ${model}`,
    ok: "成功",
    failed: "失败",
    unknown: "无法判断",
    skipped: "未执行",
    running: "进行中",
    found: (count: string) => `${count} 个模型`,
    tokens: (input: string, output: string) => `输入 ${input} Token，输出 ${output}`,
    more: (count: string) => `另有 ${count} 个`,
    works: "可以使用。",
    elsewhere: "其他上游也提供：",
    at: (model: string, upstreams: string) => `${model}（${upstreams}）`,
  },
);

/** shownModels is how many of the listed models are named. */
const shownModels = 8;

interface Props {
  /** ofName is the upstream's name: it is tested as it is configured, unless there is `entryOf`. */
  readonly ofName: string;
  /** entryOf returns what is in a form, which is tested in its place; undefined where that has faults. */
  readonly entryOf?: () => JsonObject | undefined;
}

export function TestUpstream({ ofName, entryOf }: Props) {
  const t = useTexts(said);
  const [model, setModel] = useState("");
  const test = useMutation(OperatorService.method.testUpstream);
  const [steps, setSteps] = useState<readonly TestStep[]>([]);
  const [isRunning, setRunning] = useState(false);
  const run = async () => {
    const upstream = entryOf?.();
    if (entryOf && upstream === undefined) return;
    const of = {
      ...(upstream ? { upstream } : { name: ofName }),
      ...(model.trim() ? { model: model.trim() } : {}),
    };
    setSteps([]);
    setRunning(true);
    try {
      // The list is asked for by itself first, so that what came of it shows while the call is under way.
      const list = await test.mutateAsync({ ...of, skipCall: true });
      setSteps(list.steps);
      if (list.steps.some(({ outcome }) => outcome === TestOutcome.FAILED)) return;
      const call = await test.mutateAsync({ ...of, skipList: of.model !== undefined });
      setSteps([...list.steps, ...call.steps.filter(({ kind }) => kind === TestStepKind.CALL)]);
    } catch {
      // The mutation has the error, which is shown.
    } finally {
      setRunning(false);
    }
  };
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed">
        {t.about}
      </Text>
      <Group align="flex-start" gap="sm">
        <TextInput
          label={t.model}
          description={t.modelHint}
          value={model}
          onChange={(event) => setModel(event.currentTarget.value)}
          autoComplete="off"
          w={{ base: "100%", xs: 280 }}
        />
        <Button
          variant="default"
          mt={{ base: 0, xs: labelHeight }}
          leftSection={<IconPlugConnected size={16} aria-hidden />}
          loading={isRunning}
          onClick={() => void run()}
        >
          {t.test}
        </Button>
      </Group>
      <div role="status">
        <Stack gap="sm">
          {steps.length > 0 && <Steps of={steps} upstream={ofName} />}
          {isRunning && <Pending hasList={steps.length > 0} />}
        </Stack>
      </div>
      {test.error && <Faults of={test.error} />}
    </Stack>
  );
}

function Pending({ hasList }: { readonly hasList: boolean }) {
  const t = useTexts(said);
  const join = useJoin();
  return (
    <Group gap="sm">
      <Loader size={24} aria-hidden />
      <Text size="sm">{join.labelled(hasList ? t.call : t.list, t.running)}</Text>
    </Group>
  );
}

interface StepsProps {
  readonly of: readonly TestStep[];
  readonly upstream: string;
}

function Steps({ of, upstream }: StepsProps) {
  const t = useTexts(said);
  const isOk = of.some(({ kind, outcome }) => kind === TestStepKind.CALL && outcome === TestOutcome.OK);
  return (
    <Stack gap="xs">
      <List listStyleType="none" spacing="sm" aria-label={t.steps} center={false} withPadding={false}>
        {of.map((step) => (
          <List.Item key={step.kind}>
            <OneStep of={step} />
            <AlsoElsewhere models={step.models} upstream={upstream} />
          </List.Item>
        ))}
      </List>
      {isOk && <Text size="sm">{t.works}</Text>}
    </Stack>
  );
}

/** AlsoElsewhere names those of the models found that other upstreams serve, with these upstreams. */
function AlsoElsewhere({ models, upstream }: { readonly models: readonly string[]; readonly upstream: string }) {
  const t = useTexts(said);
  const format = useFormat();
  const join = useJoin();
  const elsewhere = useServedElsewhere(upstream);
  const found = models.flatMap((model) => {
    const upstreams = elsewhere.get(model);
    return upstreams ? [t.at(model, join.list(upstreams))] : [];
  });
  if (found.length === 0) return null;
  const more = found.length > shownModels ? [t.more(format.count(found.length - shownModels))] : [];
  return (
    <Text size="sm" mt={4} ml={36} className={text.anywhere}>
      {t.elsewhere} {join.list([...found.slice(0, shownModels), ...more])}
    </Text>
  );
}

type Look = readonly [name: "ok" | "failed" | "unknown" | "skipped", icon: typeof IconCheck, color: string];

const looks: Partial<Record<TestOutcome, Look>> = {
  [TestOutcome.OK]: ["ok", IconCheck, "teal.9"],
  [TestOutcome.FAILED]: ["failed", IconX, "red.9"],
  [TestOutcome.SKIPPED]: ["skipped", IconMinus, "gray.7"],
};
const unknown: Look = ["unknown", IconQuestionMark, "yellow.9"];

function OneStep({ of }: { readonly of: TestStep }) {
  const t = useTexts(said);
  const format = useFormat();
  const tell = useReasonText(stepInChinese);
  const join = useJoin();
  const [name, Icon, color] = looks[of.outcome] ?? unknown;
  const title = of.kind === TestStepKind.CALL ? (of.model ? t.callOf(of.model) : t.call) : t.list;
  const facts = [
    ...(of.outcome === TestOutcome.SKIPPED ? [] : [format.duration(of.latencyMs)]),
    ...(of.modelCount === undefined ? [] : [t.found(format.count(of.modelCount))]),
    ...(of.inputTokens === undefined
      ? []
      : [t.tokens(format.count(of.inputTokens), format.count(of.outputTokens ?? 0))]),
  ];
  const shown = of.models.slice(0, shownModels);
  const rest = (of.modelCount ?? of.models.length) - shown.length;
  return (
    <Group gap="sm" wrap="nowrap" align="flex-start">
      <ThemeIcon color={color} size={24} radius="xl" aria-hidden>
        <Icon size={14} />
      </ThemeIcon>
      <div style={{ minWidth: 0 }}>
        <Text size="sm" fw={600} className={text.anywhere}>
          {join.labelled(title, t[name])}
        </Text>
        <Text size="xs" c="dimmed">
          {facts.join(" · ")}
        </Text>
        {of.outcome !== TestOutcome.OK && of.message && (
          <Text size="sm" className={text.anywhere}>
            {tell(of)}
          </Text>
        )}
        {shown.length > 0 && (
          <Group gap={6} mt={4}>
            {shown.map((model) => (
              <Code key={model} className={text.anywhere}>
                {model}
              </Code>
            ))}
            {rest > 0 && <Text size="xs">{t.more(format.count(rest))}</Text>}
          </Group>
        )}
      </div>
    </Group>
  );
}
