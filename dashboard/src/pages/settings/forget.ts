/** Forgets what is known, so that it is asked for anew. */
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { sessionQuery } from "../../session.tsx";

/** Forgets where one is signed in. */
export function useForgetSessions(): () => Promise<void> {
  const client = useQueryClient();
  const queryKey = createConnectQueryKey({ schema: SessionService.method.listSessions, cardinality: "finite" });
  return () => client.invalidateQueries({ queryKey });
}

/** Forgets what is known of who is signed in. */
export function useForgetUser(): () => Promise<void> {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: sessionQuery.queryKey });
}
