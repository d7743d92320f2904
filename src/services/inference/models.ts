/** ListModels and GetModel: the models that a key may call, in a form that serves both families. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  type ListModelsRequest,
  ListModelsResponseSchema,
  ModelSchema,
} from "../../../gen/modelgateway/v1/models_pb.ts";
import type { Answer, Caller } from "../../call/call.ts";
import { invalidValue, modelNotFound } from "../../call/refusals.ts";
import { mayUse } from "../../pipeline/admit/authorize.ts";
import type { Catalog, Model } from "../../targets/catalog.ts";
import { Wire } from "../../wire/wire.ts";
import { asked } from "../asked.ts";

export function listModels(
  catalog: Catalog,
  caller: Caller,
  request: ListModelsRequest,
): Answer<typeof ListModelsResponseSchema> {
  const { limit } = request;
  const [afterId, beforeId] = [asked(request.afterId), asked(request.beforeId)];
  const all = catalog.list().filter((model) => mayUse(caller, model));
  const from = afterId === undefined ? 0 : indexOf(all, "after_id", afterId) + 1;
  const rest = all.slice(from, beforeId === undefined ? undefined : indexOf(all, "before_id", beforeId));
  // Paging backwards returns the models just before `before_id`.
  const page = beforeId === undefined ? rest.slice(0, limit) : rest.slice(-(limit ?? rest.length));
  const [first, last] = [page[0]?.id, page.at(-1)?.id];
  const message = create(ListModelsResponseSchema, {
    object: "list",
    data: page.map(modelInit),
    hasMore: page.length < rest.length,
    ...(first === undefined || last === undefined ? {} : { firstId: first, lastId: last }),
  });
  const body = Wire.ofMessage(ListModelsResponseSchema, message);
  // Anthropic's clients expect the keys on an empty page, too.
  return { kind: "whole", body: first === undefined ? body.with({ first_id: null, last_id: null }) : body };
}

/** indexOf throws a Refusal if no listed model has the id. */
function indexOf(models: readonly Model[], param: string, id: string): number {
  const place = models.findIndex((model) => model.id === id);
  if (place === -1) throw invalidValue(param, "no model in the list has this id");
  return place;
}

/** getModel throws a Refusal for a model that is not served, or that the key may not call. */
export function getModel(catalog: Catalog, caller: Caller, id: string): Answer<typeof ModelSchema> {
  const model = catalog.get(id);
  if (!mayUse(caller, model)) throw modelNotFound(id);
  const message = create(ModelSchema, modelInit(model));
  return { kind: "whole", body: Wire.ofMessage(ModelSchema, message) };
}

function modelInit(model: Model): MessageInitShape<typeof ModelSchema> {
  const { contextWindow, maxOutputTokens } = model;
  return {
    id: model.id,
    object: "model",
    created: BigInt(Math.floor(model.releasedAt / 1000)),
    ownedBy: model.vendor || model.family,
    type: "model",
    displayName: model.id,
    createdAt: new Date(model.releasedAt).toISOString().replace(".000Z", "Z"),
    lifecycle: "active",
    family: model.family,
    kind: model.kind,
    ...(contextWindow === undefined ? {} : { maxInputTokens: contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxTokens: maxOutputTokens }),
    extra: whileActive,
  };
}

/**
 * whileActive are members without which Anthropic's typed clients take no model. What is not known of a model, as its capabilities, is left out: there
 * clients that validate take no null.
 */
const whileActive = { deprecated_at: null, retires_at: null } as const;
