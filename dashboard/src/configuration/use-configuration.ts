/** The configuration in force, and the types of changes to it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { useQuery } from "@connectrpc/connect-query";
import type { ConfigurationChangeSchema } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";

export type Change = MessageInitShape<typeof ConfigurationChangeSchema>;

export function useConfiguration() {
  return useQuery(OperatorService.method.getConfiguration, {});
}
