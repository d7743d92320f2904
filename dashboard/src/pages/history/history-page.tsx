/** The versions of the configuration: who made each, when and what for; what differs between two; and the way back to one. */
import { useInfiniteQuery } from "@connectrpc/connect-query";
import { IconVersions } from "@tabler/icons-react";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { useConfiguration } from "../../configuration/use-configuration.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { fromTheTop, paged } from "../../parts/paged.ts";
import { PagedList } from "../../parts/paged-list.tsx";
import { CompareVersions } from "./compare-versions.tsx";
import { VersionTable } from "./version-table.tsx";

const said = texts(
  {
    title: "History",
    about:
      "Every change of the configuration made here, by the command line or by the API. What is written in gateway.yaml has its history where that file is kept.",
    none: "Nothing has been changed yet",
    how: "Upstreams, models, tiers and settings that are saved by these pages become versions, which are listed here.",
  },
  {
    title: "更改历史",
    about:
      "通过页面、命令行或 API 对配置所做的每次更改。写在 gateway.yaml 中的内容不在此列，其历史由保存该文件之处记录。",
    none: "尚无更改",
    how: "在页面中保存的上游、模型、等级和设置会成为版本，列在此处。",
  },
);

export function HistoryPage() {
  const t = useTexts(said);
  const configuration = useConfiguration().data?.configuration;
  const { listConfigurations } = OperatorService.method;
  const versions = useInfiniteQuery(listConfigurations, { pageToken: fromTheTop, pageSize: 50 }, paged);
  const newest = configuration?.version ?? 0;
  return (
    <Page title={t.title} about={t.about}>
      {newest > 0 && <CompareVersions newest={newest} />}
      <PagedList
        of={versions}
        entriesOf={({ versions }) => versions}
        empty={
          <Empty icon={IconVersions} title={t.none}>
            {t.how}
          </Empty>
        }
      >
        {(versions) => <VersionTable of={versions} newest={newest} />}
      </PagedList>
    </Page>
  );
}
