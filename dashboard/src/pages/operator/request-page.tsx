/** One call of whichever account, as the operator sees it: no more of what was said than its account sees. */
import { useQuery } from "@connectrpc/connect-query";
import { useParams } from "@tanstack/react-router";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { OneRequest } from "../usage/request-page.tsx";
import { AccountLink } from "./account-link.tsx";

/** Keys are their account's, and named there. */
const unnamed = () => undefined;

export function AnyRequestPage() {
  const { requestId } = useParams({ from: "/signed-in/operator/requests/$requestId" });
  const asked = useQuery(OperatorService.method.getAnyRequest, { id: requestId });
  const account = (id: string) => <AccountLink id={id}>{id}</AccountLink>;
  return <OneRequest id={requestId} asked={asked} back="/operator/requests" nameOf={unnamed} account={account} />;
}
