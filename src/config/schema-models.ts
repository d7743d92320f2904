/** The schema of upstreams and models, in gateway.yaml and in the built-in catalogue. */
import { z } from "zod";
import { profileSchema } from "./schema-profile.ts";
import {
  credentialSchema,
  factorSchema,
  headerNameSchema,
  modelIdSchema,
  modelNameSchema,
  moneySchema,
  nameSchema,
  secondsSchema,
  tokensSchema,
  urlSchema,
} from "./values.ts";

const upstreamKind = z.enum(["openai", "anthropic"]);
export const modelKind = z.enum(["chat", "embedding", "speech"]);

/** servedBy is the kinds of models that each kind of upstream serves. */
export const servedBy: Readonly<Record<z.output<typeof upstreamKind>, readonly z.output<typeof modelKind>[]>> = {
  openai: ["chat", "embedding", "speech"],
  anthropic: ["chat"],
};

export const upstreamSchema = z
  .strictObject({
    name: nameSchema,
    kind: upstreamKind,
    base_url: urlSchema,
    vendor: nameSchema.optional(),
    profile: profileSchema.optional(),
    api_key: credentialSchema.optional(),
    api_keys: z.array(credentialSchema).min(1, "expected at least one key").optional(),
    credential: headerNameSchema.optional(),
    headers: z.record(headerNameSchema, credentialSchema).optional(),
    query: z.record(z.string().regex(/^[\w.-]{1,100}$/, "expected a name of the query"), credentialSchema).optional(),
    discover: z.boolean().optional(),
    regional: z.boolean().optional(),
    timeouts: z
      .strictObject({
        connect_seconds: secondsSchema.optional(),
        first_byte_seconds: secondsSchema.optional(),
        idle_seconds: secondsSchema.optional(),
        total_seconds: secondsSchema.optional(),
      })
      .optional(),
    queue: z
      .strictObject({
        max_concurrent: z.number().int().min(1).max(100_000),
        max_queued: z.number().int().min(0).max(100_000).default(100),
        max_wait_seconds: secondsSchema.default(60),
      })
      .optional(),
    health_check: z
      .strictObject({
        path: z.string().regex(/^\/[\x21-\x7e]*$/, "expected a path, as /models"),
        interval_seconds: z.number().min(1).max(3600).default(30),
        failures: z.number().int().min(1).max(100).default(3),
      })
      .optional(),
  })
  .superRefine(({ api_key, api_keys }, context) => {
    if (api_key === undefined || api_keys === undefined) return;
    context.addIssue({ code: "custom", path: ["api_keys"], message: "expected either api_key or api_keys, not both" });
  });

const target = z.strictObject({
  upstream: nameSchema,
  model: modelNameSchema,
  priority: z.number().int().min(0).default(0),
  weight: z.number().int().min(1).default(1),
});

const rates = {
  input: moneySchema.optional(),
  output: moneySchema.optional(),
  cache_read: moneySchema.optional(),
  cache_write: moneySchema.optional(),
  cache_write_hour: moneySchema.optional(),
  input_audio: moneySchema.optional(),
  input_image: moneySchema.optional(),
  output_audio: moneySchema.optional(),
};

const band = z.strictObject({ above: tokensSchema, ...rates, input: moneySchema });
const bands = z.array(band).min(1, "expected at least one bound").superRefine(checkAscending);

/** checkAscending adds an issue if a bound is not above the one before it. */
function checkAscending(list: readonly { readonly above: number }[], context: z.RefinementCtx): void {
  for (const [i, { above }] of list.entries()) {
    const before = list[i - 1];
    if (!before || above > before.above) continue;
    context.addIssue({ code: "custom", path: [i, "above"], message: "expected more than for the bound before it" });
  }
}

/** card is the rates of one service mode. They do not fall back on the ordinary rates, so `input` is required. */
const card = z.strictObject({ ...rates, input: moneySchema, long: bands.optional() });

export const priceSchema = z
  .strictObject({
    ...rates,
    characters: moneySchema.optional(),
    long: bands.optional(),
    priority: card.optional(),
    fast: card.optional(),
    flex: card.optional(),
    batch: card.optional(),
    regional: factorSchema.optional(),
    web_search: moneySchema.optional(),
    request: moneySchema.optional(),
  })
  .superRefine((price, context) => checkOutput(price, price.output, [], context));

interface WithOutput {
  readonly output?: number | undefined;
  readonly long?: readonly WithOutput[] | undefined;
}

/** checkOutput adds an issue for rates without `output` if the price has one: output would be free. */
function checkOutput(
  price: WithOutput,
  output: number | undefined,
  path: PropertyKey[],
  context: z.RefinementCtx,
): void {
  if (output === undefined) return;
  if (price.output === undefined)
    context.addIssue({ code: "custom", path: [...path, "output"], message: "is missing" });
  for (const [i, band] of price.long?.entries() ?? []) checkOutput(band, output, [...path, "long", i], context);
  for (const mode of modes) {
    const card = (price as Partial<Record<(typeof modes)[number], WithOutput>>)[mode];
    if (card) checkOutput(card, output, [...path, mode], context);
  }
}

/** modes are the service modes that may have rates of their own. */
const modes = ["priority", "fast", "flex", "batch"] as const;

export const modelSchema = z.strictObject({
  id: modelIdSchema,
  aliases: z.array(modelNameSchema).default([]),
  family: nameSchema,
  vendor: nameSchema.optional(),
  kind: modelKind,
  completions: z.enum(["chat", "native"]).optional(),
  context_window: tokensSchema.optional(),
  max_output_tokens: tokensSchema.optional(),
  dimensions: z.number().int().min(1).optional(),
  price: priceSchema.optional(),
  created: z.iso.date().optional(),
  sticky: z.boolean().optional(),
  reasoning: z.boolean().optional(),
  targets: z.array(target).default([]),
});

export const catalogueSchema = z.strictObject({ models: z.array(modelSchema) });

export const vendorsSchema = z.strictObject({
  vendors: z.array(
    z.strictObject({
      name: nameSchema,
      kind: upstreamKind.default("openai"),
      base_url: urlSchema.optional(),
      key_variable: z.string(),
      url_variable: z.string().optional(),
      url_suffix: z.string().optional(),
      credential: headerNameSchema.optional(),
      like: nameSchema.optional(),
      profile: profileSchema.optional(),
      discover_elsewhere: z.boolean().optional(),
    }),
  ),
});

export type UpstreamConfig = z.output<typeof upstreamSchema>;
export type PriceConfig = z.output<typeof priceSchema>;
export type ModelConfig = z.output<typeof modelSchema>;
export type VendorConfig = z.output<typeof vendorsSchema>["vendors"][number];
