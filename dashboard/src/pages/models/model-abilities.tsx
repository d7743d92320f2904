/** Lists what a model can do, by what the gateway knows of it. */
import { Code, Group, SimpleGrid } from "@mantine/core";
import type { ReactNode } from "react";
import { type CatalogModel, ModelKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Fact } from "../../parts/fact.tsx";
import { Section } from "../../parts/section.tsx";
import { useFigures, useKindNames } from "./model-facts.tsx";

const said = texts(
  {
    title: "What it can do",
    kind: "Kind",
    vendor: "Vendor",
    family: "Family",
    aliases: "Also called",
    window: "Context window (tokens)",
    output: "Max output (tokens)",
    reasoning: "Reasons before it answers",
    yes: "Yes",
    no: "No",
    released: "Released",
    takes: "Beyond text",
    images: "Images",
    audioIn: "Audio in",
    audioOut: "Audio out",
    search: "Web search",
    endpoints: "Endpoints",
  },
  {
    title: "能力",
    kind: "类型",
    vendor: "厂商",
    family: "系列",
    aliases: "别名",
    window: "上下文窗口（Token）",
    output: "最大输出（Token）",
    reasoning: "回答前先推理",
    yes: "是",
    no: "否",
    released: "发布日期",
    takes: "文本之外",
    images: "图像",
    audioIn: "音频输入",
    audioOut: "音频输出",
    search: "网络搜索",
    endpoints: "端点",
  },
);

/** endpoints are the paths that serve models of a kind. */
const endpoints: Readonly<Partial<Record<ModelKind, readonly string[]>>> = {
  [ModelKind.CHAT]: ["/v1/chat/completions", "/v1/responses", "/v1/messages", "/v1/completions"],
  [ModelKind.EMBEDDING]: ["/v1/embeddings"],
  [ModelKind.SPEECH]: ["/v1/audio/speech"],
};

export function ModelAbilities({ model }: { readonly model: CatalogModel }) {
  const t = useTexts(said);
  return (
    <Section title={t.title}>
      <SimpleGrid component="dl" cols={{ base: 1, xs: 2, md: 4 }} m={0} verticalSpacing="sm">
        <Facts model={model} />
      </SimpleGrid>
    </Section>
  );
}

function Facts({ model }: { readonly model: CatalogModel }) {
  const t = useTexts(said);
  const kinds = useKindNames();
  const format = useFormat();
  const { tokens } = useFigures();
  const { aliases, kind, vendor, family, contextWindow, maxOutputTokens, reasoning, releasedAt } = model;
  const isChat = kind === ModelKind.CHAT;
  const takes = useParts(model);
  const facts: readonly (readonly [name: string, value: ReactNode] | false)[] = [
    [t.kind, kinds[kind]],
    [t.vendor, vendor || "–"],
    [t.family, family],
    releasedAt !== undefined && [t.released, format.day(releasedAt)],
    isChat && [t.window, tokens(contextWindow)],
    isChat && [t.output, tokens(maxOutputTokens)],
    isChat && reasoning !== undefined && [t.reasoning, reasoning ? t.yes : t.no],
    takes.length > 0 && [t.takes, takes.join(" · ")],
    aliases.length > 0 && [t.aliases, <Codes key="aliases" of={aliases} />],
    [t.endpoints, <Codes key="endpoints" of={endpoints[kind] ?? []} />],
  ];
  return facts.map(
    (fact) =>
      fact && (
        <Fact key={fact[0]} name={fact[0]}>
          {fact[1]}
        </Fact>
      ),
  );
}

/** useParts returns what of a chat model's prompts and answers has a price of its own, so that it is known that it may be there. */
function useParts({ kind, price }: CatalogModel): readonly string[] {
  const t = useTexts(said);
  if (kind !== ModelKind.CHAT || !price) return [];
  return [
    ...(price.inputImage === undefined ? [] : [t.images]),
    ...(price.inputAudio === undefined ? [] : [t.audioIn]),
    ...(price.outputAudio === undefined ? [] : [t.audioOut]),
    ...(price.webSearch === undefined ? [] : [t.search]),
  ];
}

function Codes({ of }: { readonly of: readonly string[] }) {
  return (
    <Group component="span" gap={4}>
      {of.map((one) => (
        <Code key={one} fz="xs">
          {one}
        </Code>
      ))}
    </Group>
  );
}
