/** Invalidates the lists of keys after one was changed or found deleted. */
import { createConnectQueryKey } from "@connectrpc/connect-query";
import { useQueryClient } from "@tanstack/react-query";
import { KeyService } from "../../../../gen/modelgateway/v1/keys_pb.ts";

const lists = createConnectQueryKey({ schema: KeyService.method.listKeys, cardinality: "finite" });

export function useForgetKeys(): () => void {
  const client = useQueryClient();
  return () => void client.invalidateQueries({ queryKey: lists });
}
