/** One call: its outcome, usage, cost and duration. Never prompts or answers. */
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Anchor, Breadcrumbs, Group, Paper, SimpleGrid, Stack, Text } from "@mantine/core";
import { IconEyeOff } from "@tabler/icons-react";
import type { UseQueryResult } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";
import {
  type Charge,
  type ListRefusedResponse,
  type Request,
  UsageService,
} from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { PageMissing } from "../../frame/page-states.tsx";
import { useFormat } from "../../language/format.ts";
import { useJoin } from "../../language/join.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import cards from "../../parts/cards.module.css";
import { Copy } from "../../parts/copy.tsx";
import { Fact, KeyFact } from "../../parts/fact.tsx";
import { ModelLink } from "../../parts/model-link.tsx";
import { OutcomeMark, useOutcomeMeaning } from "../../parts/outcome.tsx";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import { Reason, refusalOf } from "../../refusal.ts";
import { AttemptTable } from "./attempt-table.tsx";
import { BillTable } from "./bill-table.tsx";
import { RefusedFacts } from "./refused-facts.tsx";
import { UsageTable } from "./usage-table.tsx";

const said = texts(
  {
    title: "Request",
    usage: "Usage",
    all: "All requests",
    account: "Account",
    id: "request id",
    model: "Model",
    upstream: "Upstream",
    operation: "Operation",
    key: "Key",
    owner: "Owner",
    tags: "Tags",
    cost: "Cost",
    waived: "Waived",
    came: "Time",
    firstByte: "First byte",
    noByte: "None",
    noUpstream: "None",
    duration: "Duration",
    summary: "Summary",
    tokens: "What it used",
    bill: "What it was charged by",
    details: "Details",
    never: "Prompts and answers are not shown: the gateway does not keep them.",
    waivedMeans: (amount: string) =>
      `${amount} could not be charged: it was more than the call had reserved and the credit that was left.`,
  },
  {
    title: "请求",
    usage: "用量",
    all: "全部请求",
    account: "账户",
    id: "请求 ID",
    model: "模型",
    upstream: "上游",
    operation: "操作",
    key: "密钥",
    owner: "负责人",
    tags: "标签",
    cost: "费用",
    waived: "免除",
    came: "时间",
    firstByte: "首字节",
    noByte: "无",
    noUpstream: "无",
    duration: "耗时",
    summary: "概要",
    tokens: "用量明细",
    bill: "计费依据",
    details: "详情",
    never: "此处不显示提问与回答的内容：网关不会保存它们。",
    waivedMeans: (amount: string) => `${amount} 未能收取：超出了该调用的预留金额和可用额度。`,
  },
);

export function RequestPage() {
  const { requestId } = useParams({ from: "/signed-in/usage/$requestId" });
  const asked = useQuery(UsageService.method.getRequest, { id: requestId });
  const keys = useQuery(KeyService.method.listKeys, {}).data?.keys ?? [];
  const nameOf = (keyId: string) => keys.find(({ id }) => id === keyId)?.name;
  const refused = useQuery(UsageService.method.listRefused, { id: requestId }, { enabled: isUnknown(asked.error) });
  return <OneRequest id={requestId} asked={asked} refused={refused} back="/usage" nameOf={nameOf} />;
}

/** isUnknown reports whether there is no such call; one that was refused may have the id. */
export function isUnknown(error: unknown): boolean {
  return error !== null && refusalOf(error).reason === Reason.RESOURCE_NOT_FOUND;
}

interface Asked {
  readonly request?: Request | undefined;
  /** charges is the lines of its bill. */
  readonly charges: readonly Charge[];
}

interface Props {
  readonly id: string;
  readonly asked: Pick<UseQueryResult<Asked, Error>, "data" | "error" | "refetch">;
  /** refused asks for a refused call with the id, where no other has it. */
  readonly refused: Pick<UseQueryResult<Pick<ListRefusedResponse, "refused">, Error>, "data" | "error" | "refetch">;
  /** back is the list that the call belongs to. */
  readonly back: "/usage" | "/operator/requests";
  /** nameOf returns the key's name, if known. */
  readonly nameOf: (keyId: string) => string | undefined;
  /** account shows the call's account, if it is not obvious. */
  readonly account?: ((accountId: string) => ReactNode) | undefined;
}

/** OneRequest shows one call on a page of its own: of the account, or of any account for the operator. */
export function OneRequest({ id, asked, refused, back, nameOf, account }: Props) {
  const t = useTexts(said);
  const unknown = isUnknown(asked.error);
  if (unknown && refused.data?.refused.length === 0) return <PageMissing />;
  return (
    <>
      <Breadcrumbs mb="xs" fz="sm">
        <Anchor component={Link} to={back} fz="sm">
          {back === "/usage" ? t.usage : t.all}
        </Anchor>
        <Text span size="sm" aria-current="page">
          {t.title}
        </Text>
      </Breadcrumbs>
      <Page
        title={t.title}
        about={
          <Group component="span" gap={4} wrap="nowrap" ff="monospace" style={{ overflowWrap: "anywhere" }}>
            {id} <Copy value={id} what={t.id} />
          </Group>
        }
      >
        {unknown ? (
          <Answer of={refused} lines={4}>
            {({ refused: [call] }) => call && <RefusedFacts of={call} nameOf={nameOf} account={account} />}
          </Answer>
        ) : (
          <Answer of={asked} lines={8}>
            {({ request, charges }) =>
              request && <RequestFacts request={request} charges={charges} nameOf={nameOf} account={account} />
            }
          </Answer>
        )}
      </Page>
    </>
  );
}

interface FactsProps extends Pick<Props, "nameOf" | "account"> {
  readonly request: Request;
  readonly charges: readonly Charge[];
}

function RequestFacts({ request, charges, nameOf, account }: FactsProps) {
  const t = useTexts(said);
  const format = useFormat();
  const meaning = useOutcomeMeaning(request);
  const { cost, waived, firstByteMs, durationMs } = request;
  return (
    <Stack gap="lg">
      <Paper withBorder p={{ base: "md", sm: "lg" }} component="section" aria-label={t.summary}>
        <Stack gap="md">
          <Group gap="sm" fw={600}>
            <OutcomeMark of={request} />
            <Text size="sm" c="dimmed">
              {meaning}
            </Text>
          </Group>
          <SimpleGrid component="dl" cols={{ base: 2, md: 4 }} m={0} verticalSpacing="md">
            <Fact name={t.cost}>{format.money(cost)}</Fact>
            <Fact name={t.duration}>{format.duration(durationMs)}</Fact>
            <Fact name={t.firstByte}>{firstByteMs === undefined ? t.noByte : format.duration(firstByteMs)}</Fact>
            <Fact name={t.model}>
              <ModelLink id={request.model} operators={account !== undefined} />
            </Fact>
            {waived > 0n && <Fact name={t.waived}>{t.waivedMeans(format.money(waived))}</Fact>}
          </SimpleGrid>
          {/* Where the cache answered, nobody was asked. */}
          {!request.cached && <AttemptTable request={request} />}
        </Stack>
      </Paper>
      <SimpleGrid cols={{ base: 1, lg: cost + waived > 0n && !request.cached ? 2 : 1 }} spacing="lg">
        {cost + waived > 0n && (
          <Section title={t.bill}>
            <BillTable charges={charges} request={request} label={t.bill} />
          </Section>
        )}
        {!request.cached && (
          <Section title={t.tokens}>
            <UsageTable request={request} label={t.tokens} />
          </Section>
        )}
      </SimpleGrid>
      <Details request={request} nameOf={nameOf} account={account} />
      <Alert color="gray" icon={<IconEyeOff aria-hidden />}>
        <Text size="sm">{t.never}</Text>
      </Alert>
    </Stack>
  );
}

function Details({ request, nameOf, account }: Omit<FactsProps, "charges">) {
  const t = useTexts(said);
  const format = useFormat();
  const join = useJoin();
  const { upstream, operation, keyId, keyTags, keyOwner, createdAt } = request;
  return (
    <Section title={t.details}>
      <SimpleGrid component="dl" cols={{ base: 2, md: 4 }} m={0} verticalSpacing="md">
        <Fact name={t.key} className={cards.nameOnPhone}>
          <KeyFact id={keyId} name={nameOf(keyId)} />
        </Fact>
        {keyOwner !== undefined && (
          <Fact name={t.owner} className={cards.nameOnPhone}>
            {keyOwner}
          </Fact>
        )}
        {account && (
          <Fact name={t.account} className={cards.nameOnPhone}>
            {account(request.accountId)}
          </Fact>
        )}
        <Fact name={t.came}>{createdAt && format.exactly(createdAt)}</Fact>
        <Fact name={t.operation}>{operation}</Fact>
        <Fact name={t.upstream}>{upstream || t.noUpstream}</Fact>
        {keyTags.length > 0 && <Fact name={t.tags}>{join.list(keyTags)}</Fact>}
      </SimpleGrid>
    </Section>
  );
}
