/** One call of any account, for the operator. It shows no more of the content than the account sees. */
import { useQuery } from "@connectrpc/connect-query";
import { useParams } from "@tanstack/react-router";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { isUnknown, OneRequest } from "../usage/request-page.tsx";
import { AccountLink } from "./account-link.tsx";
import { useAccountNames } from "./use-account-names.ts";

/** Only an account's own users see its keys' names. */
const unnamed = () => undefined;

export function AnyRequestPage() {
  const { requestId } = useParams({ from: "/signed-in/operator/requests/$requestId" });
  const asked = useQuery(OperatorService.method.getAnyRequest, { id: requestId });
  const names = useAccountNames();
  const account = (id: string) => <AccountLink id={id}>{names.get(id) ?? id}</AccountLink>;
  const refused = useQuery(
    OperatorService.method.listAllRefused,
    { id: requestId },
    { enabled: isUnknown(asked.error) },
  );
  const places = { back: "/operator/requests", nameOf: unnamed, account } as const;
  return <OneRequest id={requestId} asked={asked} refused={refused} {...places} />;
}
