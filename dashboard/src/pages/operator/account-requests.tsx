/** An account's latest calls, with a link to all of them. */
import { useQuery } from "@connectrpc/connect-query";
import { Button } from "@mantine/core";
import { IconActivity } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Answer } from "../../parts/answer.tsx";
import { Empty } from "../../parts/empty.tsx";
import { RequestTable } from "../../parts/request-table.tsx";
import { Section } from "../../parts/section.tsx";

const said = texts(
  {
    title: "Latest requests",
    all: "All of its requests",
    none: "No requests yet",
    noneHow: "They appear here as soon as one of its keys calls a model.",
  },
  {
    title: "最近请求",
    all: "查看该账户的全部请求",
    none: "还没有请求",
    noneHow: "账户的密钥调用模型后，请求会显示在这里。",
  },
);

export function AccountRequests({ accountId }: { readonly accountId: string }) {
  const t = useTexts(said);
  const latest = useQuery(OperatorService.method.listAllRequests, { account: accountId, pageSize: 5 });
  return (
    <Section
      title={t.title}
      actions={
        <Button component={Link} to="/operator/requests" search={{ account: accountId } as never} variant="default">
          {t.all}
        </Button>
      }
    >
      <Answer of={latest}>
        {({ requests }) =>
          requests.length > 0 ? (
            <RequestTable requests={requests} page="/operator/requests/$requestId" />
          ) : (
            <Empty icon={IconActivity} title={t.none}>
              {t.noneHow}
            </Empty>
          )
        }
      </Answer>
    </Section>
  );
}
