/** A model of the catalogue, as messages tell of it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type CatalogModelSchema, ModelKind, type ModelPriceSchema } from "../../gen/modelgateway/v1/accounts_pb.ts";
import type { Model } from "../catalog.ts";

const kinds: Readonly<Record<Model["kind"], ModelKind>> = {
  chat: ModelKind.CHAT,
  embedding: ModelKind.EMBEDDING,
  speech: ModelKind.SPEECH,
};

/** `mayCallUnpriced` says whether the account may call a model that has no price. */
export function catalogMessage(model: Model, mayCallUnpriced: boolean): MessageInitShape<typeof CatalogModelSchema> {
  const { id, aliases, family, vendor, contextWindow, maxOutputTokens, price } = model;
  return {
    ...{ id, aliases: [...aliases], family, vendor, kind: kinds[model.kind] },
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(price ? { price: priceMessage(price) } : {}),
    callable: price !== undefined || mayCallUnpriced,
  };
}

function priceMessage(price: NonNullable<Model["price"]>): MessageInitShape<typeof ModelPriceSchema> {
  return {
    input: BigInt(price.input),
    cacheRead: BigInt(price.cacheRead),
    cacheWrite: BigInt(price.cacheWrite),
    output: BigInt(price.output),
    characters: BigInt(price.characters),
  };
}
