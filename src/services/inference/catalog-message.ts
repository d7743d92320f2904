/** Builds the API messages of the catalogue's models and prices. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { type CatalogModelSchema, ModelKind, type ModelPriceSchema } from "../../../gen/modelgateway/v1/accounts_pb.ts";
import { modes, type Price, type RateCard, type Rates } from "../../call/price.ts";
import type { Model } from "../../targets/catalog.ts";

const kinds: Readonly<Record<Model["kind"], ModelKind>> = {
  chat: ModelKind.CHAT,
  embedding: ModelKind.EMBEDDING,
  speech: ModelKind.SPEECH,
};

/**
 * catalogMessage builds a model's message. `mayCallUnpriced` is whether the account may call a model without a price.
 */
export function catalogMessage(model: Model, mayCallUnpriced: boolean): MessageInitShape<typeof CatalogModelSchema> {
  const { id, aliases, family, vendor, contextWindow, maxOutputTokens, price, reasons, releasedAt } = model;
  return {
    id,
    aliases: [...aliases],
    family,
    vendor,
    kind: kinds[model.kind],
    ...(contextWindow === undefined ? {} : { contextWindow }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(price ? { price: priceMessage(price) } : {}),
    callable: price !== undefined || mayCallUnpriced,
    ...(reasons === undefined ? {} : { reasoning: reasons }),
    ...(releasedAt === 0 ? {} : { releasedAt: timestampFromMs(releasedAt) }),
  };
}

function priceMessage(price: Price): MessageInitShape<typeof ModelPriceSchema> {
  const { characters, search, request, regional, long, modes: others = {} } = price;
  return {
    ...ratesMessage(price),
    characters: BigInt(characters),
    ...(search === undefined ? {} : { webSearch: BigInt(search) }),
    ...(request === undefined ? {} : { request: BigInt(request) }),
    ...(regional === undefined ? {} : { regional: BigInt(regional) }),
    long: longMessages(long),
    modes: modes.flatMap((mode) => {
      const card = others[mode];
      return card ? [{ mode, rates: ratesMessage(card), long: longMessages(card.long) }] : [];
    }),
  };
}

function longMessages(bands: RateCard["long"] = []) {
  return bands.map(({ above, ...rates }) => ({ above, rates: ratesMessage(rates) }));
}

export function ratesMessage(rates: Rates) {
  const { inputAudio, inputImage, outputAudio } = rates;
  return {
    input: BigInt(rates.input),
    cacheRead: BigInt(rates.cacheRead),
    cacheWrite: BigInt(rates.cacheWrite),
    cacheWriteHour: BigInt(rates.cacheWriteHour),
    output: BigInt(rates.output),
    ...(inputAudio === undefined ? {} : { inputAudio: BigInt(inputAudio) }),
    ...(inputImage === undefined ? {} : { inputImage: BigInt(inputImage) }),
    ...(outputAudio === undefined ? {} : { outputAudio: BigInt(outputAudio) }),
  };
}
