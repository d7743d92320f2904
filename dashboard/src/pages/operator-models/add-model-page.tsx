/** Adds a model: one that the built-in catalogue knows, or one of one's own. */
import { useQuery } from "@connectrpc/connect-query";
import { Anchor, Button, Group, Select, Stack, Text } from "@mantine/core";
import { IconPlus } from "@tabler/icons-react";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { BuiltInModel, Configuration } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { entriesOf, objectAt, textAt } from "../../configuration/document.ts";
import { useConfiguration } from "../../configuration/use-configuration.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import { ModelForm } from "./model-form.tsx";
import { modelValuesOf } from "./model-values.ts";
import { priceValuesOf } from "./price-values.ts";
import { addTarget } from "./targets.ts";
import { useDescribedModels } from "./use-models.ts";

const said = texts(
  {
    title: "Add a model",
    about: "A model that callers may ask for, with a price and targets of your own.",
    all: "All models",
    which: "Which model is it?",
    known: "One of the catalogue",
    knownAbout: "The catalogue knows its limits and its vendor's price.",
    pick: "Search the catalogue",
    own: "One of your own",
    ownAbout: "Any model of an upstream, by the name that it has there.",
    begin: "Describe it",
  },
  {
    title: "添加模型",
    about: "可供调用的模型，自定价格和目标。",
    all: "全部模型",
    which: "添加哪个模型？",
    known: "目录中的模型",
    knownAbout: "目录包含其限制和厂商价格。",
    pick: "搜索目录",
    own: "自己的模型",
    ownAbout: "上游的任意模型，使用其在上游的名称。",
    begin: "填写描述",
  },
);

export function AddModelPage() {
  const t = useTexts(said);
  const configuration = useConfiguration();
  const builtIn = useQuery(OperatorService.method.listBuiltInModels, {});
  const [picked, setPicked] = useState<{ readonly model: BuiltInModel | undefined }>();
  return (
    <Page
      title={t.title}
      about={t.about}
      actions={
        <Anchor component={Link} to="/operator/models" size="sm">
          {t.all}
        </Anchor>
      }
    >
      <Answer of={configuration} lines={8}>
        {({ configuration }) => (
          <Answer of={builtIn} lines={8}>
            {({ models }) =>
              configuration &&
              (picked ? (
                <NewModel key={picked.model?.id} configuration={configuration} model={picked.model} />
              ) : (
                <Pick models={models} onPick={(model) => setPicked({ model })} />
              ))
            }
          </Answer>
        )}
      </Answer>
    </Page>
  );
}

interface PickProps {
  readonly models: readonly BuiltInModel[];
  readonly onPick: (model: BuiltInModel | undefined) => void;
}

function Pick({ models, onPick }: PickProps) {
  const t = useTexts(said);
  const groups = Map.groupBy(models, ({ vendor }) => vendor);
  const data = [...groups].map(([group, some]) => ({ group, items: some.map(({ id }) => id) }));
  return (
    <Section title={t.which}>
      <Select
        label={t.known}
        description={t.knownAbout}
        placeholder={t.pick}
        data={data}
        searchable
        limit={200}
        maw={420}
        onChange={(id) => {
          const model = models.find((one) => one.id === id);
          if (model) onPick(model);
        }}
      />
      <Stack gap={4}>
        <Text size="sm" fw={500}>
          {t.own}
        </Text>
        <Text size="xs" c="dimmed">
          {t.ownAbout}
        </Text>
        <Group>
          <Button variant="default" leftSection={<IconPlus size={16} aria-hidden />} onClick={() => onPick(undefined)}>
            {t.begin}
          </Button>
        </Group>
      </Stack>
    </Section>
  );
}

interface NewProps {
  readonly configuration: Configuration;
  readonly model: BuiltInModel | undefined;
}

function NewModel({ configuration, model }: NewProps) {
  const navigate = useNavigate();
  const described = useDescribedModels().data?.models.find((one) => one.model?.id === model?.id);
  const values = modelValuesOf(model?.model ?? {});
  const [first] = entriesOf(configuration.effective, "upstreams").map((entry) => textAt(entry, "name"));
  // A model of one's own has to say where it is; one of the catalogue is at its vendor's upstream, if there is one.
  const target = { upstream: first ?? "", model: "", weight: "1" };
  const initial = model ? values : { ...values, targets: first === undefined ? [] : addTarget([], target) };
  return (
    <ModelForm
      configuration={configuration}
      initial={initial}
      before={undefined}
      fixed={model !== undefined}
      vendorPrice={described?.vendorPrice}
      catalogue={model?.model && priceValuesOf(objectAt(model.model, "price"))}
      onSaved={(id) => void navigate({ to: "/operator/models/$modelId", params: { modelId: id } })}
    />
  );
}
