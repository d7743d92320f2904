/** The upstreams with their health, refreshed every five seconds while the page is visible. */
import { useQuery } from "@connectrpc/connect-query";
import { SimpleGrid } from "@mantine/core";
import { IconCloud } from "@tabler/icons-react";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { UpstreamCard } from "./upstream-card.tsx";

const said = texts(
  {
    title: "Upstreams",
    about: "The servers of the models, and their health in the last 15 minutes as this process has observed it.",
    none: "No upstreams",
    noneHow: "They are configured in gateway.yaml.",
  },
  {
    title: "上游",
    about: "模型运行的位置，以及本进程在最近 15 分钟内观察到的状况。",
    none: "没有上游",
    noneHow: "上游在 gateway.yaml 中配置。",
  },
);

export function UpstreamsPage() {
  const t = useTexts(said);
  // Refetches only while the window is visible.
  const upstreams = useQuery(OperatorService.method.listUpstreams, {}, { refetchInterval: 5_000 });
  return (
    <Page title={t.title} about={t.about}>
      <Answer of={upstreams} lines={6}>
        {({ upstreams }) =>
          upstreams.length > 0 ? (
            <SimpleGrid cols={{ base: 1, lg: 2 }}>
              {upstreams.map((upstream) => (
                <UpstreamCard key={upstream.name} of={upstream} />
              ))}
            </SimpleGrid>
          ) : (
            <Empty icon={IconCloud} title={t.none}>
              {t.noneHow}
            </Empty>
          )
        }
      </Answer>
    </Page>
  );
}
