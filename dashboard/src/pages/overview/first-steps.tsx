/** The first steps of an account without calls. */
import { Anchor, Box, Button, Group, Stack, Text, ThemeIcon } from "@mantine/core";
import { IconCheck } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Section } from "../../parts/section.tsx";
import { useUser } from "../../session.tsx";

const said = texts(
  {
    title: "First steps",
    create: "Create a key",
    createAbout: "A program sends it with every call.",
    createAction: "Create a key",
    done: "Done",
    credit: "Get credit",
    creditAbout: "Calls are paid beforehand. Redeem a code, or ask the operator of the gateway for a recharge.",
    creditAction: "Redeem a code",
    creditOperator:
      "Calls are paid beforehand. You operate the gateway: recharge your own account, or grant it credit.",
    creditAccounts: "Open the accounts",
    call: "Call a model",
    callAbout: "Give your client the address of the gateway and the key. The key's menu has examples to copy.",
    models: "See the models",
    playground: "Or try one here",
    watch: "Watch it here",
    watchAbout: "What is spent, on which models and with which keys, shows here a moment after the first call.",
  },
  {
    title: "开始使用",
    create: "创建密钥",
    createAbout: "程序每次调用时都要提供密钥。",
    createAction: "创建密钥",
    done: "已完成",
    credit: "获取额度",
    creditAbout: "调用需预先付费。请使用兑换码，或联系网关管理员充值。",
    creditAction: "使用兑换码",
    creditOperator: "调用需预先付费。您是网关管理员，可为自己的账户充值或赠送额度。",
    creditAccounts: "打开账户",
    call: "调用模型",
    callAbout: "在客户端中填写网关地址和密钥。密钥的菜单中有可复制的示例。",
    models: "查看模型",
    playground: "或在此试用",
    watch: "在此查看",
    watchAbout: "首次调用后片刻，即可在此查看费用及其所属的模型和密钥。",
  },
);

interface Props {
  readonly hasKey: boolean;
  /** hasCredit is whether the account can pay for calls. */
  readonly hasCredit: boolean;
}

export function FirstSteps({ hasKey, hasCredit }: Props) {
  const t = useTexts(said);
  const { operator } = useUser();
  const creditAbout = operator ? t.creditOperator : t.creditAbout;
  return (
    <Section title={t.title}>
      <Stack component="ol" gap="lg" m={0} p={0}>
        <Step number={1} title={t.create} about={t.createAbout} done={hasKey ? t.done : undefined}>
          {!hasKey && (
            <Button component={Link} to="/keys" size="xs">
              {t.createAction}
            </Button>
          )}
        </Step>
        <Step number={2} title={t.credit} about={creditAbout} done={hasCredit ? t.done : undefined}>
          {!hasCredit && (
            <Anchor component={Link} to={operator ? "/operator/accounts" : "/recharge"} size="sm">
              {operator ? t.creditAccounts : t.creditAction}
            </Anchor>
          )}
        </Step>
        <Step number={3} title={t.call} about={t.callAbout}>
          <Anchor component={Link} to="/models" size="sm">
            {t.models}
          </Anchor>
          <Anchor component={Link} to="/playground" size="sm">
            {t.playground}
          </Anchor>
        </Step>
        <Step number={4} title={t.watch} about={t.watchAbout} />
      </Stack>
    </Section>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly about: string;
  /** done is shown once the step is done. */
  readonly done?: string | undefined;
  readonly children?: ReactNode;
}

function Step({ number, title, about, done, children }: StepProps) {
  return (
    <Group component="li" align="flex-start" wrap="nowrap" gap="md" display="flex">
      <ThemeIcon radius="xl" size={32} variant={done ? "filled" : "default"} aria-label={done} aria-hidden={!done}>
        {done ? <IconCheck size={18} aria-hidden /> : number}
      </ThemeIcon>
      <Box>
        <Text fw={600}>{title}</Text>
        <Text size="sm" c="dimmed">
          {about}
        </Text>
        {children && (
          <Group gap="md" mt="xs">
            {children}
          </Group>
        )}
      </Box>
    </Group>
  );
}
