/** Shows the request of the conversation as code, for the clients that people use most. */
import { Button, Code, Tabs, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCode } from "@tabler/icons-react";
import { texts, useTexts } from "../../language/language.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import text from "../../parts/text.module.css";
import { useSession } from "../../session.tsx";
import { CodeBlock } from "../keys/code-block.tsx";
import { exportOf } from "../keys/snippets.ts";
import { type CodeOptions, codeOf } from "./code.ts";

const said = texts(
  {
    view: "View code",
    title: "The same call as code",
    secret: "Set the key in your shell first, in place of the dots:",
    clients: "Clients",
    example: (client: string) => `example for ${client}`,
  },
  {
    view: "查看代码",
    title: "以代码发起同样的调用",
    secret: "请先在终端中设置密钥（将省略号替换为密钥）：",
    clients: "客户端",
    example: (client: string) => `${client} 示例`,
  },
);

export function ViewCode(asked: Omit<CodeOptions, "root">) {
  const t = useTexts(said);
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Button variant="default" leftSection={<IconCode size={16} aria-hidden />} onClick={open}>
        {t.view}
      </Button>
      <Dialog size="lg" opened={opened} onClose={close} title={t.title}>
        <Clients {...asked} />
      </Dialog>
    </>
  );
}

function Clients(asked: Omit<CodeOptions, "root">) {
  const t = useTexts(said);
  const { addresses } = useSession();
  const clients = codeOf({ root: addresses.root, ...asked });
  return (
    <>
      <Text size="sm" c="dimmed" mb="xs">
        {t.secret} <Code className={text.anywhere}>{exportOf("sk-…")}</Code>
      </Text>
      <Tabs defaultValue="curl" keepMounted={false}>
        <Tabs.List aria-label={t.clients}>
          {clients.map(({ name }) => (
            <Tabs.Tab key={name} value={name}>
              {name}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {clients.map(({ name, code }) => (
          <Tabs.Panel key={name} value={name} pt="sm">
            <CodeBlock code={code} what={t.example(name)} />
          </Tabs.Panel>
        ))}
      </Tabs>
    </>
  );
}
