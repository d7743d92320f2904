/** One upstream: how it is and was, what it serves, and its settings. */
import { useQuery } from "@connectrpc/connect-query";
import { Anchor, Group, Stack, Text } from "@mantine/core";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import type { Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService, type Upstream } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { MeasuresOverTime } from "../../charts/measures-over-time.tsx";
import { originOf, writtenEntry } from "../../configuration/document.ts";
import { FileEntry } from "../../configuration/in-file.tsx";
import { useConfiguration } from "../../configuration/use-configuration.ts";
import { useEdition } from "../../configuration/use-edition.ts";
import { PageMissing } from "../../frame/page-states.tsx";
import { useFormat } from "../../language/format.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import text from "../../parts/text.module.css";
import { useFailureText } from "../../parts/use-failure-text.ts";
import { Verbatim } from "../../parts/verbatim.tsx";
import { HealthMark } from "./health-mark.tsx";
import { TestUpstream } from "./test-steps.tsx";
import { Figures } from "./upstream-card.tsx";
import { UpstreamForm } from "./upstream-form.tsx";
import { UpstreamMenu } from "./upstream-menu.tsx";
import { valuesOf } from "./upstream-values.ts";

const said = texts(
  {
    now: "The last 15 minutes",
    nowAbout: "As this process has observed it.",
    models: "Models",
    noModels: "It serves no model now. Choose “All that it lists” in its settings, below More options, or:",
    addModel: "Add a model with it as a target",
    test: "Test",
    written: "Settings",
    all: "All upstreams",
    inside: "In the gateway itself",
    off: "It is switched off, and gets no calls.",
    notYet: "It is about to be served.",
  },
  {
    now: "最近 15 分钟",
    nowAbout: "本进程观察到的状况。",
    models: "模型",
    noModels: "目前没有提供任何模型。请在其设置的“更多选项”中选择“列表中的所有模型”，或：",
    addModel: "添加以其为目标的模型",
    test: "测试",
    written: "设置",
    all: "全部上游",
    inside: "网关内置",
    off: "已停用，不接收调用。",
    notYet: "即将提供服务。",
  },
);

export function UpstreamPage() {
  const { upstream: name } = useParams({ from: "/signed-in/operator/upstreams/$upstream" });
  const upstreams = useQuery(OperatorService.method.listUpstreams, {}, { refetchInterval: 5_000 });
  const configuration = useConfiguration();
  return (
    <Answer of={upstreams} lines={8}>
      {({ upstreams }) => (
        <Answer of={configuration} lines={8}>
          {({ configuration }) => {
            const state = upstreams.find((one) => one.name === name && !one.disabled);
            const origin = configuration && originOf(configuration, "upstreams", name);
            if (!configuration || (!state && origin === undefined)) return <PageMissing />;
            return <OneUpstream key={name} name={name} state={state} configuration={configuration} />;
          }}
        </Answer>
      )}
    </Answer>
  );
}

interface Props {
  readonly name: string;
  /** state is undefined where it is switched off. */
  readonly state: Upstream | undefined;
  readonly configuration: Configuration;
}

function OneUpstream({ name, state, configuration }: Props) {
  const t = useTexts(said);
  const tell = useFailureText();
  const navigate = useNavigate();
  const origin = originOf(configuration, "upstreams", name);
  const isOff = writtenEntry(configuration, "upstreams", name)?.disabled === true;
  const toAll = () => void navigate({ to: "/operator/upstreams" });
  return (
    <Page
      title={name}
      about={state ? `${state.kind} · ${state.baseUrl || t.inside}` : isOff ? t.off : t.notYet}
      actions={
        <>
          {state && <HealthMark of={state.health} />}
          <Anchor component={Link} to="/operator/upstreams" size="sm">
            {t.all}
          </Anchor>
          {origin === "stored" && (
            <UpstreamMenu name={name} configuration={configuration} isServed={!isOff} onRemoved={toAll} />
          )}
        </>
      }
    >
      {state && (
        <Section title={t.now} about={t.nowAbout}>
          <Figures of={state} />
          {state.lastFailure && <Verbatim>{tell(state.lastFailure)}</Verbatim>}
        </Section>
      )}
      <MeasuresOverTime upstream={name} />
      {state && <Served models={state.models} />}
      <Written name={name} configuration={configuration} />
    </Page>
  );
}

function Served({ models }: { readonly models: readonly string[] }) {
  const t = useTexts(said);
  const format = useFormat();
  const join = useJoin();
  return (
    <Section title={join.aside(t.models, format.count(models.length))}>
      {models.length === 0 && (
        <Text size="sm">
          {t.noModels}{" "}
          <Anchor component={Link} to="/operator/add-model" size="sm">
            {t.addModel}
          </Anchor>
        </Text>
      )}
      <Group gap="xs">
        {models.map((id) => (
          <Anchor
            key={id}
            component={Link}
            to="/operator/models/$modelId"
            params={{ modelId: id } as never}
            size="sm"
            ff="monospace"
            className={text.anywhere}
          >
            {id}
          </Anchor>
        ))}
      </Group>
    </Section>
  );
}

/** Written shows the settings: a form for those that are stored, and as JSON for those of the file. */
function Written({ name, configuration }: Omit<Props, "state">) {
  const t = useTexts(said);
  const vendors = useQuery(OperatorService.method.listVendors, {});
  const entry = writtenEntry(configuration, "upstreams", name);
  const origin = originOf(configuration, "upstreams", name);
  if (!entry) return null;
  if (origin === "file") {
    return (
      <Stack gap="lg">
        <Section title={t.test}>
          <TestUpstream ofName={name} />
        </Section>
        <FileEntry title={t.written} fileName={configuration.fileName} entry={entry} />
      </Stack>
    );
  }
  return (
    <Stored name={name} configuration={configuration} vendors={vendors.data?.vendors.map((one) => one.name) ?? []} />
  );
}

interface StoredProps extends Omit<Props, "state"> {
  readonly vendors: readonly string[];
}

function Stored({ name, configuration, vendors }: StoredProps) {
  const { edition, onDirty, onSaved } = useEdition(configuration);
  const entry = writtenEntry(edition, "upstreams", name) ?? {};
  return (
    <UpstreamForm
      key={edition.version}
      configuration={edition}
      initial={valuesOf(entry)}
      before={entry}
      vendors={vendors}
      onDirty={onDirty}
      onSaved={(_, version) => onSaved(version)}
    />
  );
}
