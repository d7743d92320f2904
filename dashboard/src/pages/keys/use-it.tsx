/** Shows how to use a key, for the selected client and address. */
import { useQuery } from "@connectrpc/connect-query";
import { Code, SegmentedControl, Stack, Tabs, Text } from "@mantine/core";
import { useState } from "react";
import { AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import text from "../../parts/text.module.css";
import { useSession } from "../../session.tsx";
import { CodeBlock } from "./code-block.tsx";
import { exportOf, firstModel, type SnippetModel, snippetsOf } from "./snippets.ts";

const said = texts(
  {
    set: "Set the key in your shell, once.",
    setElsewhere: "Set a key in your shell first, in place of the dots:",
    call: "Call the gateway.",
    command: "command",
    example: (client: string) => `example for ${client}`,
    clients: "Clients",
    address: "Address",
    root: "Standard",
    direct: "Direct (US)",
    cdn: "Global CDN",
    cn: "China CDN",
  },
  {
    set: "在终端中设置密钥（只需一次）。",
    setElsewhere: "请先在终端中设置密钥（将省略号替换为密钥）：",
    call: "调用网关。",
    command: "命令",
    example: (client: string) => `${client} 示例`,
    clients: "客户端",
    address: "访问地址",
    root: "默认",
    direct: "美国直连",
    cdn: "全球 CDN",
    cn: "中国 CDN",
  },
);

const ways = ["root", "direct", "cdn", "cn"] as const;

type Way = (typeof ways)[number];

interface Props {
  readonly of: ApiKey;
  /** secret is set while it is being shown. */
  readonly secret?: string | undefined;
}

export function UseIt({ of, secret }: Props) {
  const t = useTexts(said);
  const catalog = useQuery(AccountService.method.listCatalog, {});
  return (
    <Stack gap="sm">
      {secret !== undefined && <Text size="sm">{t.set}</Text>}
      {secret !== undefined && <CodeBlock code={exportOf(secret)} what={t.command} />}
      {secret !== undefined && <Text size="sm">{t.call}</Text>}
      <Answer of={catalog} lines={5}>
        {({ models }) => <Examples model={firstModel(models, of.models)} isKeySet={secret !== undefined} />}
      </Answer>
    </Stack>
  );
}

interface ExamplesProps {
  readonly model: SnippetModel | undefined;
  /** isKeySet is given where the command that sets the key stands above; elsewhere the examples begin with how to set it. */
  readonly isKeySet?: boolean;
}

export function Examples({ model, isKeySet = false }: ExamplesProps) {
  const t = useTexts(said);
  const { addresses } = useSession();
  const reached = ways.filter((name) => addresses[name] !== "");
  const [through, setThrough] = useState<Way>("root");
  const snippets = snippetsOf(addresses[through], model);
  return (
    <Stack gap="sm">
      {!isKeySet && (
        <Text size="sm">
          {t.setElsewhere} <Code className={text.anywhere}>{exportOf("sk-…")}</Code>
        </Text>
      )}
      {reached.length > 1 && (
        <SegmentedControl
          size="xs"
          aria-label={t.address}
          data={reached.map((name) => ({ value: name, label: t[name] }))}
          value={through}
          onChange={setThrough}
        />
      )}
      <Tabs defaultValue="0" keepMounted={false}>
        <Tabs.List aria-label={t.clients}>
          {snippets.map(({ name }, i) => (
            <Tabs.Tab key={name} value={String(i)} px={{ base: 8, xs: "md" }}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {snippets.map(({ name, code }, i) => (
          <Tabs.Panel key={name} value={String(i)} pt="sm">
            <CodeBlock code={code} what={t.example(name)} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </Stack>
  );
}
