/** All models as the operator sees them, with where each is written. */
import { useQuery } from "@connectrpc/connect-query";
import type { DescribedModel } from "../../../../gen/modelgateway/v1/measures_pb.ts";
import { OperatorService } from "../../../../gen/modelgateway/v1/operator_pb.ts";
import { type Documents, originOf } from "../../configuration/document.ts";

/** ModelOrigin is where a model is written, or else how the gateway knows it. */
export type ModelOrigin = "file" | "stored" | "catalogue" | "embedded" | "discovered";

export function useDescribedModels() {
  return useQuery(OperatorService.method.describeModels, {}, { refetchInterval: 30_000 });
}

export function modelOriginOf(
  documents: Documents,
  { model, targets, vendorPrice, served }: DescribedModel,
): ModelOrigin {
  const written = originOf(documents, "models", model?.id ?? "");
  if (written) return written;
  if (targets.some(({ upstream }) => upstream === "embedded")) return "embedded";
  return vendorPrice || !served ? "catalogue" : "discovered";
}
