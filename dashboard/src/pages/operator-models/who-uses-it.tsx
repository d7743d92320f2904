/** Lists the accounts that called a model in the last 30 days, and what they spent on it. */
import { useQuery } from "@connectrpc/connect-query";
import { Text } from "@mantine/core";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { Bucket, RequestGroup } from "../../../../gen/modelgateway/v1/usage_pb.ts";
import { GroupTable } from "../../charts/group-table.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Section } from "../../parts/section.tsx";
import { AccountLink } from "../operator/account-link.tsx";
import { useAccountNames } from "../operator/use-account-names.ts";

const said = texts(
  { title: "Who uses it", about: "In the last 30 days.", account: "Account", none: "Nobody has called it." },
  { title: "谁在使用", about: "最近 30 天。", account: "账户", none: "没有账户调用过。" },
);

export function WhoUsesIt({ model }: { readonly model: string }) {
  const t = useTexts(said);
  const calls = useQuery(OperatorService.method.summarizeAllRequests, {
    summary: { bucket: Bucket.DAY, filter: { model }, groupBy: RequestGroup.ACCOUNT },
  });
  const names = useAccountNames();
  return (
    <Section title={t.title} about={t.about}>
      <Answer of={calls} lines={3}>
        {({ summary }) =>
          summary && summary.groups.length > 0 ? (
            <GroupTable
              of={summary.groups}
              head={t.account}
              nameOf={(id) => names.get(id) ?? id}
              link={(id, name) => (
                <AccountLink id={id} fz="inherit">
                  {name}
                </AccountLink>
              )}
              flush
            />
          ) : (
            <Text size="sm" c="dimmed">
              {t.none}
            </Text>
          )
        }
      </Answer>
    </Section>
  );
}
