/** The facts of a model that the table and the cards share. */
import { Anchor, Button, Code, Group, Text } from "@mantine/core";
import { IconBan } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { type CatalogModel, ModelKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import { useFormat } from "../../language/format.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Breakable } from "../../parts/breakable.tsx";
import { Copy } from "../../parts/copy.tsx";
import text from "../../parts/text.module.css";
import classes from "./models.module.css";

const said = texts(
  {
    chat: "Chat",
    embedding: "Embedding",
    speech: "Speech",
    name: (id: string) => `name ${id}`,
    aliases: "Also:",
    tryIt: "Try it",
    tryModel: (id: string) => `Try it: ${id}`,
    closed: "Not callable: no price",
  },
  {
    chat: "对话",
    embedding: "向量",
    speech: "语音",
    name: (id: string) => `名称 ${id}`,
    aliases: "别名：",
    tryIt: "试用",
    tryModel: (id: string) => `试用：${id}`,
    closed: "不可调用：未定价",
  },
);

/** closedTexts say why a model without a price may not be called. */
export const closedTexts = texts(
  { why: "Prepaid accounts may not call it, because its cost would not be known. The operator sets a price for it." },
  { why: "预付费账户的调用会被拒绝，因为无法得知费用。请由网关管理员为其定价。" },
);

export const kinds = [ModelKind.CHAT, ModelKind.EMBEDDING, ModelKind.SPEECH] as const;

export function useKindNames(): Readonly<Record<ModelKind, string>> {
  const t = useTexts(said);
  return {
    [ModelKind.UNSPECIFIED]: "",
    [ModelKind.CHAT]: t.chat,
    [ModelKind.EMBEDDING]: t.embedding,
    [ModelKind.SPEECH]: t.speech,
  };
}

interface Props {
  readonly model: CatalogModel;
}

export function ModelNames({ model: { id, aliases } }: Props) {
  const t = useTexts(said);
  return (
    <>
      <Group gap={4} wrap="nowrap">
        <ModelLink id={id} to="/models/$modelId" />
        <Copy value={id} what={t.name(id)} />
      </Group>
      <Aliases of={aliases} />
    </>
  );
}

interface ModelLinkProps {
  readonly id: string;
  /** to is the model's page for callers, or for operators. */
  readonly to: "/models/$modelId" | "/operator/models/$modelId";
}

/** ModelLink is a model's id, which leads to its page. */
export function ModelLink({ id, to }: ModelLinkProps) {
  const params = { modelId: id } as never;
  return (
    <Anchor component={Link} to={to} params={params} size="sm" ff="monospace" fw={500} className={text.name}>
      <Breakable>{id}</Breakable>
    </Anchor>
  );
}

/** Aliases renders nothing for a model that has none. */
export function Aliases({ of }: { readonly of: readonly string[] }) {
  const t = useTexts(said);
  if (of.length === 0) return null;
  return (
    <Text size="xs" c="dimmed" component="div">
      {t.aliases}{" "}
      {of.map((alias) => (
        <Code key={alias} fz="xs" mr={4}>
          {alias}
        </Code>
      ))}
    </Text>
  );
}

/** ModelDoor links to the playground, for chat and speech models, or explains why the model may not be called. */
export function ModelDoor({ model: { id, kind, callable } }: Props) {
  const t = useTexts(said);
  const closed = useTexts(closedTexts);
  if (!callable) {
    return (
      <Group gap={6} wrap="nowrap" title={closed.why}>
        <IconBan size={16} aria-hidden className={classes.mark} />
        <Text span size="sm">
          {t.closed}
        </Text>
      </Group>
    );
  }
  if (kind === ModelKind.EMBEDDING) return null;
  return (
    <Button
      component={Link}
      to="/playground"
      search={{ model: id } as never}
      variant="default"
      size="compact-sm"
      aria-label={t.tryModel(id)}
    >
      {t.tryIt}
    </Button>
  );
}

/** useFigures formats limits and prices; a dash if unknown or free. */
export function useFigures() {
  const format = useFormat();
  return {
    tokens: (count: number | undefined) => (count === undefined ? "–" : format.count(count)),
    price: (of: bigint | undefined) => (of === undefined ? "–" : format.money(of)),
  };
}
