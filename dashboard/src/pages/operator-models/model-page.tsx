/** One model: how it did, where its calls go, who uses it, how it is called, and its settings. */
import { useQuery } from "@connectrpc/connect-query";
import { Anchor, Button, Group, Text } from "@mantine/core";
import { IconTrash } from "@tabler/icons-react";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useState } from "react";
import type { BuiltInModel, Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import type { DescribedModel } from "../../../../gen/modelgateway/v1/measures_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { MeasuresOverTime } from "../../charts/measures-over-time.tsx";
import { entryOf, objectAt, originOf, writtenEntry } from "../../configuration/document.ts";
import { FileEntry } from "../../configuration/in-file.tsx";
import { SaveChanges } from "../../configuration/save-changes.tsx";
import { useConfiguration } from "../../configuration/use-configuration.ts";
import { useEdition } from "../../configuration/use-edition.ts";
import { PageMissing } from "../../frame/page-states.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import { Examples } from "../keys/use-it.tsx";
import { entryFor } from "./model-entries.ts";
import { ModelForm } from "./model-form.tsx";
import { modelValuesOf } from "./model-values.ts";
import { OriginMark } from "./origin-mark.tsx";
import { priceValuesOf } from "./price-values.ts";
import { TargetStates } from "./target-states.tsx";
import { modelOriginOf, useDescribedModels } from "./use-models.ts";
import { WhoUsesIt } from "./who-uses-it.tsx";

const said = texts(
  {
    all: "All models",
    asCallers: "As callers see it",
    call: "How to call it",
    written: "Settings",
    catalogue:
      "The built-in catalogue describes it. What is saved here is an entry of your own, in whose place the catalogue's is not served.",
    discovered: "Its upstream lists it. What is saved here is an entry of your own for it.",
    remove: "Remove",
    removeTitle: (id: string) => `Remove ${id}`,
    removeAbout:
      "Its own entry goes. A model of the catalogue is then as the catalogue describes it; any other is no longer served.",
    simulator:
      "It runs in the gateway itself, and has no settings. “Embedded models” under Limits and settings switches all of them off.",
  },
  {
    all: "全部模型",
    asCallers: "调用者视图",
    call: "调用方法",
    written: "设置",
    catalogue: "由内置目录描述。在此保存后会成为自定义条目，取代目录中的描述。",
    discovered: "由其上游列出。在此保存后会成为自定义条目。",
    remove: "删除",
    removeTitle: (id: string) => `删除 ${id}`,
    removeAbout: "删除自定义条目。目录中的模型恢复为目录的描述；其他模型不再提供。",
    simulator: "在网关内运行，没有设置。可在“限制与设置”中停用所有内置模型。",
  },
);

export function OperatorModelPage() {
  const { modelId } = useParams({ from: "/signed-in/operator/models/$modelId" });
  const models = useDescribedModels();
  const configuration = useConfiguration();
  return (
    <Answer of={models} lines={8}>
      {({ models }) => (
        <Answer of={configuration} lines={8}>
          {({ configuration }) => {
            const described = models.find(({ model }) => model?.id === modelId);
            const isKnown = described ?? (configuration && writtenEntry(configuration, "models", modelId));
            if (!configuration || !isKnown) return <PageMissing />;
            return <OneModel key={modelId} id={modelId} described={described} configuration={configuration} />;
          }}
        </Answer>
      )}
    </Answer>
  );
}

interface Props {
  readonly id: string;
  /** described is undefined where it has an entry and is not served. */
  readonly described: DescribedModel | undefined;
  readonly configuration: Configuration;
}

function OneModel({ id, described, configuration }: Props) {
  const t = useTexts(said);
  const origin = described
    ? modelOriginOf(configuration, described)
    : (originOf(configuration, "models", id) ?? "stored");
  return (
    <Page
      title={id}
      actions={
        <>
          <OriginMark origin={origin} fileName={configuration.fileName} />
          {described?.served && (
            <Anchor component={Link} to="/models/$modelId" params={{ modelId: id } as never} size="sm">
              {t.asCallers}
            </Anchor>
          )}
          <Anchor component={Link} to="/operator/models" size="sm">
            {t.all}
          </Anchor>
          {origin === "stored" && <Remove id={id} configuration={configuration} />}
        </>
      }
    >
      <MeasuresOverTime model={id} />
      {described?.served && <TargetStates of={described.targets} />}
      <WhoUsesIt model={id} />
      {described?.served && described.model && (
        <Section title={t.call}>
          <Examples model={described.model} />
        </Section>
      )}
      <Written {...{ id, described, configuration, origin }} />
    </Page>
  );
}

function Remove({ id, configuration }: Omit<Props, "described">) {
  const t = useTexts(said);
  const navigate = useNavigate();
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button
        variant="default"
        size="xs"
        leftSection={<IconTrash size={14} aria-hidden />}
        onClick={() => setOpen(true)}
      >
        {t.remove}
      </Button>
      <SaveChanges
        opened={isOpen}
        onClose={() => setOpen(false)}
        title={t.removeTitle(id)}
        base={configuration.version}
        changes={[{ removeModel: id }]}
        action={t.remove}
        final
        onSaved={() => void navigate({ to: "/operator/models" })}
      >
        <Text size="sm">{t.removeAbout}</Text>
      </SaveChanges>
    </>
  );
}

interface WrittenProps extends Props {
  readonly origin: ReturnType<typeof modelOriginOf>;
}

/** Written shows the settings: a form, or what the file has. */
function Written({ id, described, configuration, origin }: WrittenProps) {
  const t = useTexts(said);
  const builtIn = useQuery(OperatorService.method.listBuiltInModels, {});
  if (origin === "embedded") return <Section title={t.written} about={t.simulator} />;
  if (origin === "file") {
    const entry = entryOf(configuration.file, "models", id);
    return <FileEntry title={t.written} fileName={configuration.fileName} entry={entry} />;
  }
  return (
    <>
      {(origin === "catalogue" || origin === "discovered") && (
        <Group>
          <Text size="sm" c="dimmed">
            {t[origin]}
          </Text>
        </Group>
      )}
      <Answer of={builtIn} lines={8}>
        {({ models }) => (
          <Settings key={origin} {...{ id, described, configuration }} builtIn={models.find((one) => one.id === id)} />
        )}
      </Answer>
    </>
  );
}

interface SettingsProps extends Props {
  readonly builtIn: BuiltInModel | undefined;
}

function Settings({ id, described, configuration, builtIn }: SettingsProps) {
  const { edition, onDirty, onSaved } = useEdition(configuration);
  const stored = entryOf(edition.document, "models", id);
  return (
    <ModelForm
      key={edition.version}
      configuration={edition}
      initial={modelValuesOf(entryFor(stored, builtIn, described))}
      before={stored}
      fixed
      vendorPrice={described?.vendorPrice}
      catalogue={builtIn?.model && priceValuesOf(objectAt(builtIn.model, "price"))}
      onDirty={onDirty}
      onSaved={(_, version) => onSaved(version)}
    />
  );
}
