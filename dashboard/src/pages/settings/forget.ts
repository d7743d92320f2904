/** Invalidates queries about the user. */
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { sessionQuery } from "../../session.tsx";

/** useForgetSessions invalidates the list of sessions. */
export function useForgetSessions(): () => Promise<void> {
  const client = useQueryClient();
  const queryKey = createConnectQueryKey({ schema: SessionService.method.listSessions, cardinality: "finite" });
  return () => client.invalidateQueries({ queryKey });
}

/** useForgetUser invalidates what is known about the signed-in user. */
export function useForgetUser(): () => Promise<void> {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: sessionQuery.queryKey });
}
