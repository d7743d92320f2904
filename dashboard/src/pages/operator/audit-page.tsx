/** The audit log: what was done to the gateway and its accounts, and by whom. */
import { Paper, Stack } from "@mantine/core";
import { IconHistory } from "@tabler/icons-react";
import { getRouteApi } from "@tanstack/react-router";
import { texts, useTexts } from "../../language/language.tsx";
import { Empty } from "../../parts/empty.tsx";
import { Page } from "../../parts/page.tsx";
import { PagedList } from "../../parts/paged-list.tsx";
import { AuditEvents } from "./audit-events.tsx";
import { AuditFilters } from "./audit-filters.tsx";
import { useActs } from "./use-lists.ts";

const said = texts(
  {
    title: "Audit log",
    about: "What was done to the gateway and its accounts, by whom, and what was refused.",
    none: "No entries yet",
    noneHow: "Sign-ins, changes of keys and accounts, and what operators do appear here.",
    notFound: "No entries match",
    notFoundHow: "Change the filters, or clear them.",
  },
  {
    title: "审计日志",
    about: "对网关及其账户的操作、操作者以及被拒绝的操作。",
    none: "还没有记录",
    noneHow: "登录、密钥与账户的更改以及网关管理员的操作会显示在这里。",
    notFound: "没有匹配的记录",
    notFoundHow: "请更改或清除筛选条件。",
  },
);

const route = getRouteApi("/signed-in/operator/audit");

export function AuditPage() {
  const t = useTexts(said);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const acts = useActs(search);
  const isFiltered = Object.keys(search).length > 0;
  return (
    <Page title={t.title} about={t.about}>
      <Stack>
        <AuditFilters search={search} onChange={(search) => void navigate({ search, replace: true })} />
        <PagedList
          of={acts}
          entriesOf={(page) => page.acts}
          lines={8}
          empty={
            <Paper withBorder>
              <Empty icon={IconHistory} title={isFiltered ? t.notFound : t.none}>
                {isFiltered ? t.notFoundHow : t.noneHow}
              </Empty>
            </Paper>
          }
        >
          {(all) => <AuditEvents acts={all} />}
        </PagedList>
      </Stack>
    </Page>
  );
}
