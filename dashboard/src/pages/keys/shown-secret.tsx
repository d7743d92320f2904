/** Shows a secret, only once, and how to use it. Only a deliberate click closes it. */
import { Alert, Button, Group, Stack, TextInput, Title } from "@mantine/core";
import { IconAlertCircle } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Copy } from "../../parts/copy.tsx";
import { UseIt } from "./use-it.tsx";

const said = texts(
  {
    secret: "Secret",
    copied: "secret",
    once: "Copy the secret now. It is not shown again.",
    untold: "The key exists, but the answer that told its secret did not arrive. Rotate the key to get a new secret.",
    use: "Use it",
    done: "I have copied it",
    close: "Close",
  },
  {
    secret: "密钥",
    copied: "密钥",
    once: "请立即复制密钥，之后将不再显示。",
    untold: "密钥已创建，但包含密钥内容的应答未能送达。请轮换此密钥以获取新的密钥内容。",
    use: "使用方法",
    done: "我已复制",
    close: "关闭",
  },
);

interface Props {
  readonly of: ApiKey;
  readonly onClose: () => void;
  /** children are further notes. */
  readonly children?: ReactNode;
}

export function ShownSecret({ of, onClose, children }: Props) {
  const t = useTexts(said);
  const { secret } = of;
  return (
    <Stack>
      {children}
      <Alert color="yellow" icon={<IconAlertCircle aria-hidden />} role="status">
        {secret === undefined ? t.untold : t.once}
      </Alert>
      {secret !== undefined && (
        <>
          <TextInput
            label={t.secret}
            value={secret}
            readOnly
            data-autofocus
            onFocus={(event) => event.currentTarget.select()}
            styles={{
              input: { fontFamily: "var(--mantine-font-family-monospace)", fontSize: "var(--mantine-font-size-xs)" },
            }}
            rightSection={<Copy value={secret} what={t.copied} />}
          />
          <Title order={3} size="h5">
            {t.use}
          </Title>
          <UseIt of={of} secret={secret} />
        </>
      )}
      <Group justify="flex-end">
        <Button onClick={onClose}>{secret === undefined ? t.close : t.done}</Button>
      </Group>
    </Stack>
  );
}
