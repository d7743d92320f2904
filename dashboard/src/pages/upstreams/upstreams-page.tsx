/** The upstreams with their health, refreshed every five seconds while the page is visible; and those that are switched off. */
import { useQuery } from "@connectrpc/connect-query";
import { Button, SimpleGrid } from "@mantine/core";
import { IconCloud, IconPlus } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { OperatorService, type Upstream } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { type Documents, entriesOf, textAt } from "../../configuration/document.ts";
import { useConfiguration } from "../../configuration/use-configuration.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { UnservedCard, UpstreamCard } from "./upstream-card.tsx";
import { useHourlyMeasures } from "./use-hourly-measures.ts";

const said = texts(
  {
    title: "Upstreams",
    about: "The servers of the models, and their health in the last 15 minutes as this process has observed it.",
    add: "Add an upstream",
    none: "No upstreams",
    noneHow: "Add the first one: pick a vendor, enter its key, try it, and save.",
  },
  {
    title: "上游",
    about: "模型运行的位置，以及本进程在最近 15 分钟内观察到的状况。",
    add: "添加上游",
    none: "没有上游",
    noneHow: "请添加第一个上游：选择厂商、输入密钥、测试并保存。",
  },
);

export function UpstreamsPage() {
  const t = useTexts(said);
  // Refetches only while the window is visible.
  const upstreams = useQuery(OperatorService.method.listUpstreams, {}, { refetchInterval: 5_000 });
  const configuration = useConfiguration().data?.configuration;
  const measures = useHourlyMeasures({ groupBy: "upstream" });
  const add = (
    <Button component={Link} to="/operator/add-upstream" leftSection={<IconPlus size={16} aria-hidden />}>
      {t.add}
    </Button>
  );
  return (
    <Page title={t.title} about={t.about} actions={add}>
      <Answer of={upstreams} lines={6}>
        {({ upstreams }) => {
          const served = upstreams.filter(({ disabled }) => !disabled);
          const others = notServed(configuration, served);
          return upstreams.length + others.length > 0 ? (
            <SimpleGrid cols={{ base: 1, lg: 2 }}>
              {served.map((upstream) => (
                <UpstreamCard
                  key={upstream.name}
                  of={upstream}
                  configuration={configuration}
                  sums={measures.sumsOf(upstream.name)}
                  buckets={measures.buckets}
                />
              ))}
              {configuration &&
                others.map((name) => <UnservedCard key={name} name={name} configuration={configuration} />)}
            </SimpleGrid>
          ) : (
            <Empty icon={IconCloud} title={t.none} action={add}>
              {t.noneHow}
            </Empty>
          );
        }}
      </Answer>
    </Page>
  );
}

/** notServed returns the names of upstreams that are configured and not served: those that are switched off, or were just saved. */
function notServed(documents: Documents | undefined, served: readonly Upstream[]): readonly string[] {
  const names = new Set(served.map(({ name }) => name));
  return entriesOf(documents?.effective, "upstreams")
    .map((entry) => textAt(entry, "name"))
    .filter((name) => !names.has(name));
}
