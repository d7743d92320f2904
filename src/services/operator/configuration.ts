/** The operator's RPCs for the configuration. */
import type { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { internal } from "../../call/refusals.ts";

type Rpcs = Pick<
  ServiceImplementation<typeof OperatorService>,
  | "getConfiguration"
  | "changeConfiguration"
  | "listConfigurations"
  | "compareConfigurations"
  | "rollBackConfiguration"
  | "testUpstream"
  | "previewTiers"
  | "listVendors"
  | "listBuiltInModels"
>;

export function configurationRpcs(): Rpcs {
  const absent = () => {
    throw internal(new Error("the configuration's RPCs are not there yet"));
  };
  return {
    getConfiguration: absent,
    changeConfiguration: absent,
    listConfigurations: absent,
    compareConfigurations: absent,
    rollBackConfiguration: absent,
    testUpstream: absent,
    previewTiers: absent,
    listVendors: absent,
    listBuiltInModels: absent,
  };
}
