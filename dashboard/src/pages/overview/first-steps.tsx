/** The first steps of an account without calls. They know who reads: what is done is ticked, and an operator adds funds here. */
import { Anchor, Box, Button, Group, Stack, Text, ThemeIcon } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconCheck, IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { Account } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { ApiKey } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Money } from "../../parts/money.tsx";
import { Section } from "../../parts/section.tsx";
import { useUser } from "../../session.tsx";
import { CreateKey } from "../keys/create-key.tsx";
import { AddFunds } from "../operator/add-funds.tsx";
import { useHasUpstream } from "../upstreams/use-has-upstream.ts";
import { BaseAddress, CallExamples } from "./connect.tsx";

const said = texts(
  {
    title: "First steps",
    upstream: "Add an upstream",
    upstreamAbout: "You operate the gateway: say where models run. Until then only the simulators answer.",
    upstreamThere: "Models run there.",
    create: "Create a key",
    createAbout: "A program sends it with every call.",
    created: (name: string) => `You have “${name}”.`,
    done: "Done",
    credit: "Get credit",
    creditAbout: "Calls are paid beforehand. Redeem a code, or ask the operator of the gateway for a recharge.",
    creditAction: "Redeem a code",
    creditOperator: "Calls are paid beforehand. You operate the gateway, so you add funds to your own account.",
    creditThere: "The account can pay for calls. Its balance:",
    creditPostpaid: "The account is billed afterwards.",
    call: "Call a model",
    callAbout: "Give your client the address of the gateway and the key.",
    models: "See the models",
    playground: "Or try one here",
    watch: "Watch it here",
    watchAbout: "What is spent, on which models and with which keys, shows here a moment after the first call.",
  },
  {
    title: "开始使用",
    upstream: "添加上游",
    upstreamAbout: "您是网关管理员：请指定模型运行的位置。在此之前只有模拟器可以应答。",
    upstreamThere: "已有模型运行的位置。",
    create: "创建密钥",
    createAbout: "程序每次调用时都要提供密钥。",
    created: (name: string) => `您已有密钥“${name}”。`,
    done: "已完成",
    credit: "获取额度",
    creditAbout: "调用需预先付费。请使用兑换码，或联系网关管理员充值。",
    creditAction: "使用兑换码",
    creditOperator: "调用需预先付费。您是网关管理员，可直接为自己的账户增加额度。",
    creditThere: "账户可以支付调用费用，余额：",
    creditPostpaid: "该账户为后付费。",
    call: "调用模型",
    callAbout: "在客户端中填写网关地址和密钥。",
    models: "查看模型",
    playground: "或在此试用",
    watch: "在此查看",
    watchAbout: "首次调用后片刻，即可在此查看费用及其所属的模型和密钥。",
  },
);

interface Props {
  readonly keys: readonly ApiKey[];
  /** account is undefined while it is loading. */
  readonly account: Account | undefined;
}

export function FirstSteps({ keys, account }: Props) {
  const t = useTexts(said);
  const [first] = keys;
  // The dialog still shows the secret when the step is done.
  const [creating, create] = useDisclosure();
  const { operator } = useUser();
  // An operator begins one step earlier.
  const before = operator ? 1 : 0;
  return (
    <Section title={t.title}>
      <Stack component="ol" gap="lg" m={0} p={0}>
        {operator && <UpstreamStep />}
        <Step
          number={1 + before}
          title={t.create}
          about={first ? t.created(first.name) : t.createAbout}
          done={first ? t.done : undefined}
        >
          {!first && (
            <Button size="xs" leftSection={<IconPlus size={16} aria-hidden />} onClick={create.open}>
              {t.create}
            </Button>
          )}
        </Step>
        <CreditStep number={2 + before} account={account} />
        <Step number={3 + before} title={t.call} about={t.callAbout}>
          <Stack gap="sm" w="100%">
            <BaseAddress />
            <CallExamples permitted={first?.models ?? []} />
            <Group gap="md">
              <Anchor component={Link} to="/models" size="sm">
                {t.models}
              </Anchor>
              <Anchor component={Link} to="/playground" size="sm">
                {t.playground}
              </Anchor>
            </Group>
          </Stack>
        </Step>
        <Step number={4 + before} title={t.watch} about={t.watchAbout} />
      </Stack>
      <CreateKey opened={creating} onClose={create.close} />
    </Section>
  );
}

/** UpstreamStep leads an operator to the first upstream. */
function UpstreamStep() {
  const t = useTexts(said);
  const hasUpstream = useHasUpstream();
  const isDone = hasUpstream !== false;
  return (
    <Step
      number={1}
      title={t.upstream}
      about={isDone ? t.upstreamThere : t.upstreamAbout}
      done={isDone ? t.done : undefined}
    >
      {!isDone && (
        <Button component={Link} to="/operator/add-upstream" size="xs" leftSection={<IconPlus size={16} aria-hidden />}>
          {t.upstream}
        </Button>
      )}
    </Step>
  );
}

function CreditStep({ number, account }: Pick<Props, "account"> & { readonly number: number }) {
  const t = useTexts(said);
  const { operator } = useUser();
  const canPay = account === undefined || account.postpaid || account.balance > 0n;
  if (canPay) {
    const about = account?.postpaid ? (
      t.creditPostpaid
    ) : (
      <>
        {t.creditThere} {account && <Money of={account.balance} />}
      </>
    );
    return <Step number={number} title={t.credit} about={about} done={t.done} />;
  }
  return (
    <Step number={number} title={t.credit} about={operator ? t.creditOperator : t.creditAbout}>
      {operator ? (
        <AddFunds account={account} as="step" />
      ) : (
        <Anchor component={Link} to="/recharge" size="sm">
          {t.creditAction}
        </Anchor>
      )}
    </Step>
  );
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly about: ReactNode;
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
      <Box flex={1} miw={0}>
        <Text fw={600}>{title}</Text>
        <Text size="sm" c="dimmed" component="div">
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
