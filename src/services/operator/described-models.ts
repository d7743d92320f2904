/** Builds the API messages of all that is known of models: targets, and the vendors' prices beside the gateway's. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { DescribedModelSchema } from "../../../gen/modelgateway/v1/measures_pb.ts";
import type { Model, Target } from "../../targets/catalog.ts";
import { catalogMessage } from "../inference/catalog-message.ts";

/** KnownModels is all models: those that are served, and the built-in catalogue's. */
export interface KnownModels {
  readonly served: readonly Model[];
  /** inDollars is the built-in catalogue, with its vendors' prices in US dollars. */
  readonly inDollars: readonly Model[];
  /** inUnits is the same with the prices that the gateway takes for it. */
  readonly inUnits: readonly Model[];
  /** dollar and markup are the factors between the two, in millionths. */
  readonly dollar: number;
  readonly markup: number;
  /** restMs returns the milliseconds until a target gets calls again; 0: it gets them. */
  readonly restMs: (target: Target) => number;
}

/** noModels is what a process knows that serves none. */
export const noModels: KnownModels = {
  ...{ served: [], inDollars: [], inUnits: [] },
  ...{ dollar: 1_000_000, markup: 1_000_000 },
  restMs: () => 0,
};

export function describedModels(known: KnownModels): MessageInitShape<typeof DescribedModelSchema>[] {
  const byId = (models: readonly Model[]) => new Map(models.map((model) => [model.id, model]));
  const [inDollars, inUnits] = [byId(known.inDollars), byId(known.inUnits)];
  const served = new Set(known.served.map(({ id }) => id));
  const rest = known.inUnits.filter(({ id }) => !served.has(id)).map((model) => ({ ...model, targets: [] }));
  return [...known.served, ...rest].map((model) => {
    const [vendor, catalogue] = [inDollars.get(model.id), inUnits.get(model.id)];
    return {
      model: catalogMessage(model, false),
      served: served.has(model.id),
      targets: model.targets.map((target) => targetMessage(target, known.restMs(target))),
      ...priceOf("vendorPrice", vendor),
      ...priceOf("cataloguePrice", catalogue),
    };
  });
}

function targetMessage({ upstream, model, priority, weight }: Target, restMs: number) {
  return { upstream, model, priority, weight, restingMs: Math.ceil(restMs) };
}

function priceOf(field: "vendorPrice" | "cataloguePrice", model: Model | undefined) {
  const price = model && catalogMessage(model, false).price;
  return price ? { [field]: price } : {};
}
