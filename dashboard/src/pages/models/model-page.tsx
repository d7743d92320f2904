/**
 * One model as its callers see it: what it can do and costs, what limits them, how it did, what they used of it, and how it is called.
 * Operators also see where its calls go and who makes them.
 */
import { useQuery } from "@connectrpc/connect-query";
import { Anchor, Group, Stack, Title } from "@mantine/core";
import { Link, useParams } from "@tanstack/react-router";
import { useState } from "react";
import { AccountService, type CatalogModel } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { SpanName } from "../../charts/span.ts";
import { PageMissing } from "../../frame/page-states.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import { useUser } from "../../session.tsx";
import { Examples } from "../keys/use-it.tsx";
import { TargetStates } from "../operator-models/target-states.tsx";
import { useDescribedModels } from "../operator-models/use-models.ts";
import { WhoUsesIt } from "../operator-models/who-uses-it.tsx";
import { SpanControl } from "../overview/span-control.tsx";
import { ModelAbilities } from "./model-abilities.tsx";
import { ModelDoor } from "./model-facts.tsx";
import { ModelLimits } from "./model-limits.tsx";
import { ModelMeasures } from "./model-measures.tsx";
import { ModelPrices } from "./model-prices.tsx";
import { OwnUse } from "./own-use.tsx";

const said = texts(
  {
    all: "All models",
    operators: "Settings and targets",
    did: "How it does",
    call: "How to call it",
    forOperators: "For the operator",
  },
  { all: "全部模型", operators: "设置与目标", did: "运行情况", call: "调用方法", forOperators: "仅供网关管理员" },
);

export function ModelPage() {
  const { modelId } = useParams({ from: "/signed-in/models/$modelId" });
  const catalog = useQuery(AccountService.method.listCatalog, {});
  return (
    <Answer of={catalog} lines={8}>
      {({ models }) => {
        const model = models.find(({ id, aliases }) => id === modelId || aliases.includes(modelId));
        return model ? <OneModel key={model.id} model={model} /> : <PageMissing />;
      }}
    </Answer>
  );
}

function OneModel({ model }: { readonly model: CatalogModel }) {
  const t = useTexts(said);
  const { operator } = useUser();
  const [spanName, setSpanName] = useState<SpanName>("week");
  return (
    <Page
      title={model.id}
      actions={
        <>
          <Anchor component={Link} to="/models" size="sm">
            {t.all}
          </Anchor>
          <ModelDoor model={model} />
        </>
      }
    >
      <ModelAbilities model={model} />
      <ModelPrices model={model} />
      <Stack gap="md" component="section" aria-label={t.did}>
        <Group justify="space-between" align="flex-end" gap="sm">
          <Title order={2} size="h4">
            {t.did}
          </Title>
          <SpanControl value={spanName} onChange={setSpanName} />
        </Group>
        <ModelMeasures model={model.id} spanName={spanName} />
        <OwnUse model={model.id} spanName={spanName} />
      </Stack>
      <ModelLimits model={model} />
      <Section title={t.call}>
        <Examples model={model} />
      </Section>
      {operator && <ForOperators model={model.id} />}
    </Page>
  );
}

function ForOperators({ model }: { readonly model: string }) {
  const t = useTexts(said);
  const described = useDescribedModels();
  const targets = described.data?.models.find((one) => one.model?.id === model)?.targets;
  return (
    <Stack gap="md" component="section" aria-label={t.forOperators}>
      <Group justify="space-between" gap="sm">
        <Title order={2} size="h4">
          {t.forOperators}
        </Title>
        <Anchor component={Link} to="/operator/models/$modelId" params={{ modelId: model } as never} size="sm">
          {t.operators}
        </Anchor>
      </Group>
      {targets && <TargetStates of={targets} />}
      <WhoUsesIt model={model} />
    </Stack>
  );
}
