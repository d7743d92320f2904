/** A model of the catalogue, as messages tell of it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type CatalogModelSchema, ModelKind, type ModelPriceSchema } from "../../gen/modelgateway/v1/accounts_pb.ts";
import type { Model } from "../catalog.ts";

const kinds: Readonly<Record<Model["kind"], ModelKind>> = {
  chat: ModelKind.CHAT,
  embedding: ModelKind.EMBEDDING,
  speech: ModelKind.SPEECH,
};

/** `postpaid` says whether the account pays afterwards. */
export function catalogMessage(model: Model, postpaid: boolean): MessageInitShape<typeof CatalogModelSchema> {
  const { id, aliases, family, vendor, contextWindow, maxOutputTokens, price } = model;
  return {
    ...{ id, aliases: [...aliases], family, vendor, kind: kinds[model.kind] },
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(price ? { price: priceMessage(price) } : {}),
    callable: price !== undefined || postpaid,
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
