/** Tells whether the gateway has an upstream besides its own simulators. */
import { useQuery } from "@connectrpc/connect-query";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";

/** useHasUpstream returns undefined while it is not known. Only operators may ask. */
export function useHasUpstream(): boolean | undefined {
  const upstreams = useQuery(OperatorService.method.listUpstreams, {});
  return upstreams.data?.upstreams.some(({ kind }) => kind !== "embedded");
}
