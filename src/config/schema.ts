/** The schema of gateway.yaml. `gateway.example.yaml` documents every key; a test compares the two. */
import { z } from "zod";
import { modelSchema, priceSchema, upstreamSchema } from "./schema-models.ts";
import {
  credentialSchema,
  factorSchema,
  headerNameSchema,
  modelNameSchema,
  moneySchema,
  networkSchema,
  originSchema,
  secondsSchema,
  urlSchema,
} from "./values.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;

/** unpricedValues: who may call models without a price for free: the first account, everybody, or nobody. */
const unpricedValues = ["free_for_first_account", "free", "refused"] as const;

const rate = z.number().int().min(1).max(4_294_967_295);

const tier = z.strictObject({
  name: z.string().regex(/^[^\p{Cc}]{1,100}$/u, "expected a name of at most 100 characters"),
  recharge: moneySchema,
  requests_per_minute: rate,
  tokens_per_minute: rate.optional(),
});

const tiers = z
  .array(tier)
  .min(1, "expected at least one tier")
  .superRefine((list, context) => {
    const names = new Set<string>();
    for (const [i, { name, recharge }] of list.entries()) {
      const before = list[i - 1];
      if (i === 0 && recharge !== 0) context.addIssue({ code: "custom", path: [0, "recharge"], message: lowest });
      if (before && recharge <= before.recharge) {
        context.addIssue({ code: "custom", path: [i, "recharge"], message: ascending });
      }
      if (names.has(name)) context.addIssue({ code: "custom", path: [i, "name"], message: `a second tier "${name}"` });
      names.add(name);
    }
  });
const lowest = 'expected "0" for the first tier, which every account has from its beginning';
const ascending = "expected more than for the tier before it";

const bytesSchema = z
  .number()
  .int()
  .min(64 * 1024)
  .max(1024 ** 4);

const settingsSchema = z.strictObject({
  host: z.string().min(1).optional(),
  port: z.number().int().min(0).max(65535).optional(),
  data_dir: z.string().min(1).optional(),
  log_level: z.enum(logLevels).optional(),
  memory: z.enum(["small", "large"]).optional(),
  max_body_bytes: z
    .number()
    .int()
    .min(1024)
    .max(1024 ** 3)
    .optional(),
  body_timeout_seconds: z.number().min(0.1).max(3600).optional(),
  bodies_in_flight: z
    .strictObject({
      max_bytes: bytesSchema.optional(),
      max_bytes_per_account: bytesSchema.optional(),
    })
    .optional(),
  keep_alive_seconds: z.number().min(0.1).max(300).optional(),
  idle_seconds: z.number().min(1).max(3600).optional(),
  stalled_reader_seconds: z.number().min(0.5).max(3600).optional(),
  max_connections: z.number().int().min(1).max(10_000_000).optional(),
  drain_seconds: z.number().min(0).max(3600).optional(),
  disconnect_drain_seconds: z.number().min(0).max(60).optional(),
  embedded_models: z.boolean().optional(),
  tiers: tiers.optional(),
  unit: z
    .strictObject({
      code: z.string().regex(/^[A-Z]{3,10}$/, "expected 3 to 10 capital letters, as JPY"),
      symbol: z.string().regex(/^[^\p{Cc}]{1,10}$/u, "expected 1 to 10 characters, as ¥"),
    })
    .optional(),
  catalogue_prices: z.strictObject({ dollar: factorSchema.optional(), markup: factorSchema.optional() }).optional(),
  unpriced_models: z
    .union(
      [z.enum(unpricedValues), z.strictObject({ price: priceSchema })],
      `expected ${unpricedValues.join(", ")}, or {price: {…}} with decimals in quotes`,
    )
    .optional(),
  durability: z.enum(["process", "power"]).optional(),
  operator_key: credentialSchema.min(32, "expected at least 32 characters").optional(),
  failed_credentials: z.strictObject({ per_minute: z.number().int().min(1).max(1_000_000) }).optional(),
  retries: z
    .strictObject({ attempts: z.number().int().min(1).max(10).optional(), share: z.number().min(0).max(1).optional() })
    .optional(),
  breaker: z
    .strictObject({
      failures: z.number().int().min(1).optional(),
      open_seconds: z.number().min(0.1).max(600).optional(),
    })
    .optional(),
  hedging: z.strictObject({ after_seconds: secondsSchema, share: z.number().min(0).max(1).default(0.05) }).optional(),
  cache: z
    .strictObject({
      max_bytes: z
        .number()
        .int()
        .min(1024)
        .max(64 * 1024 ** 3),
      seconds: secondsSchema.default(3600),
      price_share: z.number().min(0).max(1).default(0),
    })
    .optional(),
  metrics: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1"),
      port: z.number().int().min(0).max(65535).default(9464),
      enabled: z.boolean().default(true),
    })
    .optional(),
  telemetry: z
    .strictObject({ endpoint: urlSchema, headers: z.record(headerNameSchema, credentialSchema).default({}) })
    .optional(),
  retention: z
    .strictObject({ requests_days: z.number().min(0.01).optional(), audit_days: z.number().min(0.01).optional() })
    .optional(),
  registration: z.enum(["open", "invitation", "closed"]).optional(),
  max_keys_per_account: z.number().int().min(1).max(1_000_000).optional(),
  responses: z
    .strictObject({
      keep_hours: z.number().min(0.01).max(8784).optional(),
      max_per_account: z.number().int().min(1).max(10_000).optional(),
      max_bytes: z
        .number()
        .int()
        .min(1024)
        .max(64 * 1024 ** 2)
        .optional(),
    })
    .optional(),
  background_responses: z
    .strictObject({
      max: z.number().int().min(1).max(100_000).optional(),
      max_per_account: z.number().int().min(1).max(100_000).optional(),
      max_bytes: z
        .number()
        .int()
        .min(1024 ** 2)
        .optional(),
      max_bytes_per_account: z
        .number()
        .int()
        .min(1024 ** 2)
        .optional(),
    })
    .optional(),
  responses_socket: z
    .strictObject({
      enabled: z.boolean().default(true),
      idle_seconds: z.number().min(1).max(3600).optional(),
      max_bytes: z.number().int().min(1024).optional(),
      max_bytes_per_account: z.number().int().min(1024).optional(),
    })
    .optional(),
  default_models: z
    .strictObject({ completion: modelNameSchema.optional(), embedding: modelNameSchema.optional() })
    .optional(),
  public_urls: z
    .strictObject({
      root: urlSchema.optional(),
      direct: urlSchema.optional(),
      cdn: urlSchema.optional(),
      cn: urlSchema.optional(),
    })
    .optional(),
  trusted_proxies: z.array(networkSchema).optional(),
  cors_origins: z.array(originSchema).optional(),
  upstreams: z.array(upstreamSchema).default([]),
  models: z.array(modelSchema).default([]),
});

/** minBodiesFactor: a body of the largest size must fit besides the memory reserved for small ones. */
const minBodiesFactor = 4 / 3;
export const defaultMaxBodyBytes = 16 * 1024 * 1024;

export const fileSchema = settingsSchema.superRefine(({ max_body_bytes, bodies_in_flight }, context) => {
  const largest = max_body_bytes ?? defaultMaxBodyBytes;
  const least = { max_bytes: Math.ceil(largest * minBodiesFactor), max_bytes_per_account: largest };
  for (const [key, bytes] of Object.entries(least)) {
    const written = bodies_in_flight?.[key as keyof typeof least];
    if (written === undefined || written >= bytes) continue;
    const message = `expected at least ${bytes}, to have room for a body of max_body_bytes (${largest})`;
    context.addIssue({ code: "custom", path: ["bodies_in_flight", key], message });
  }
});

export type FileConfig = z.output<typeof fileSchema>;
export type TierConfig = z.output<typeof tier>;
