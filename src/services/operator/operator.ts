/** OperatorService: the RPCs for accounts, their keys, money, users and views. */
import type { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { catalogueRpcs } from "../configuration/catalogue.ts";
import { versionRpcs } from "../configuration/configuration.ts";
import { previewRpcs } from "../configuration/previews.ts";
import { operatorAccounts } from "./operator-accounts.ts";
import { operatorKeys } from "./operator-keys.ts";
import { operatorMeasures } from "./operator-measures.ts";
import { operatorMoney } from "./operator-money.ts";
import { operatorUsers } from "./operator-users.ts";
import { operatorViews } from "./operator-views.ts";
import type { OperatorParts } from "./parts.ts";

export function operatorService(parts: OperatorParts): ServiceImplementation<typeof OperatorService> {
  return {
    ...operatorAccounts(parts),
    ...operatorKeys(parts),
    ...operatorMoney(parts),
    ...operatorUsers(parts),
    ...operatorViews(parts),
    ...operatorMeasures(parts),
    ...versionRpcs({ stored: parts.stored, versions: parts.storage.configurations, clock: parts.clock }),
    ...catalogueRpcs(parts),
    ...previewRpcs({ ...parts, accounts: parts.storage.accounts, tiers: () => parts.settings().tiers }),
  };
}
