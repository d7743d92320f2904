/** The limits and tiers in force. They are changed in the configuration, not here. */
import { useQuery } from "@connectrpc/connect-query";
import { Alert, Code, Text } from "@mantine/core";
import { IconFileSettings } from "@tabler/icons-react";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Page } from "../../parts/page.tsx";
import { Section } from "../../parts/section.tsx";
import { FailingOverSettings } from "./failing-over-settings.tsx";
import { KeepingSettings } from "./keeping-settings.tsx";
import { RateTable, TierTable } from "./limit-tables.tsx";
import { SettingList } from "./setting-list.tsx";

const said = texts(
  {
    title: "Limits",
    about: "What is in force now.",
    set: "All of this is set in",
    restart: "and takes effect when the gateway starts.",
    tiers: "Tiers",
    tiersAbout: "What an account may do in a minute. Its tier follows from what it has recharged, less refunds.",
    rates: "Rates of single RPCs",
    ratesAbout: "How often an account may make these calls, besides the limit of its tier.",
    failing: "Failing over",
    failingAbout: "What is done where an upstream fails before anything of its answer has come.",
    keeping: "Cache and retention",
    rest: "Everything else",
  },
  {
    title: "限制",
    about: "当前生效的限制。",
    set: "以下限制均在",
    restart: "中设置，网关启动时生效。",
    tiers: "等级",
    tiersAbout: "账户每分钟的用量上限。等级由累计充值（扣除退款）决定。",
    rates: "单个 RPC 的频率",
    ratesAbout: "除等级限制外，每个账户调用以下 RPC 的频率上限。",
    failing: "故障转移",
    failingAbout: "上游在返回任何内容之前失败时的处理方式。",
    keeping: "缓存与保留",
    rest: "其他",
  },
);

export function LimitsPage() {
  const t = useTexts(said);
  const limits = useQuery(OperatorService.method.describeLimits, {});
  return (
    <Page title={t.title} about={t.about}>
      <Answer of={limits} lines={8}>
        {(limits) => (
          <>
            <Alert color="gray" icon={<IconFileSettings aria-hidden />}>
              <Text size="sm">
                {t.set} <Code>gateway.yaml</Code> {t.restart}
              </Text>
            </Alert>
            <Section title={t.tiers} about={t.tiersAbout}>
              <TierTable tiers={limits.tiers} />
            </Section>
            <Section title={t.rates} about={t.ratesAbout}>
              <RateTable rates={limits.rpcRates} />
            </Section>
            <Section title={t.failing} about={t.failingAbout}>
              <FailingOverSettings of={limits} />
            </Section>
            <Section title={t.keeping}>
              <KeepingSettings of={limits} />
            </Section>
            <Section title={t.rest}>
              <SettingList of={limits} />
            </Section>
          </>
        )}
      </Answer>
    </Page>
  );
}
