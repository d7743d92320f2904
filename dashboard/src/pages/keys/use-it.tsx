/** Shows how to use a key, for the selected client and address. */
import { useQuery } from "@connectrpc/connect-query";
import { SegmentedControl, Stack, Tabs, Text } from "@mantine/core";
import { useState } from "react";
import { AccountService } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { useSession } from "../../session.tsx";
import { CodeBlock } from "./code-block.tsx";
import { exportOf, firstModel, type SnippetModel, snippetsOf, variable } from "./snippets.ts";

const said = texts(
  {
    set: "Set the key in your shell, once.",
    setElsewhere: (name: string) => `The examples read the secret from ${name}.`,
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
    setElsewhere: (name: string) => `示例从环境变量 ${name} 读取密钥。`,
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
      <Text size="sm">{secret === undefined ? t.setElsewhere(variable) : t.set}</Text>
      {secret !== undefined && <CodeBlock code={exportOf(secret)} what={t.command} />}
      {secret !== undefined && <Text size="sm">{t.call}</Text>}
      <Answer of={catalog} lines={5}>
        {({ models }) => <Examples model={firstModel(models, of.models)} />}
      </Answer>
    </Stack>
  );
}

export function Examples({ model }: { readonly model: SnippetModel | undefined }) {
  const t = useTexts(said);
  const { addresses } = useSession();
  const reached = ways.filter((name) => addresses[name] !== "");
  const [through, setThrough] = useState<Way>("root");
  const snippets = snippetsOf(addresses[through], model);
  return (
    <Stack gap="sm">
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
