/**
 * The form of gateway.yaml and of the built-in catalogue. `gateway.example.yaml` documents every key, and a test
 * holds the two together.
 */
import { z } from "zod";
import { parseDecimal } from "../decimal.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;

const name = z.string().regex(/^[A-Za-z0-9][\w.-]*$/, "expected a name of letters, digits, `.`, `_` and `-`");
export const modelIdSchema = z
  .string()
  .regex(/^[^\s]{1,200}$/, "expected a model id without spaces, at most 200 characters");
const tokens = z.number().int().min(1);
/** An address that paths are put behind, so it has nothing behind its own path. */
export const urlSchema = z
  .url({ protocol: /^https?$/, error: "expected an http(s) address" })
  .refine((text) => !/[?#]|\/\/[^/]*@/.test(text), "expected an address without user, `?` and `#`")
  .transform((text) => text.replace(/\/+$/, ""));
/** What goes into a header: not a line break that came along from a file. */
export const credentialSchema = z
  .string()
  .trim()
  .regex(/^[\x20-\x7e]*$/, "expected a key of ASCII characters");

/** An amount of money in units, as a decimal string: a YAML number would already have lost its last places. */
const money = z.string('expected a decimal in quotes, as "1.10"').transform((text, context) => {
  const read = parseDecimal(text);
  if ("value" in read && read.value >= 0 && read.value < 1e15) return read.value;
  context.addIssue(`expected ${"fault" in read ? read.fault : "at least 0, and less than 1000000000"}`);
  return z.NEVER;
});

const network = z.union(
  [z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()],
  "expected an address or a network, as 10.0.0.0/8",
);
const origin = z.union([z.literal("*"), urlSchema], "expected an origin, as https://app.example.com, or *");

const upstreamKind = z.enum(["openai", "anthropic"]);
export const modelKind = z.enum(["chat", "embedding", "speech"]);

/** The kinds of model that each kind of upstream serves. */
export const servedBy: Readonly<Record<z.output<typeof upstreamKind>, readonly z.output<typeof modelKind>[]>> = {
  openai: ["chat", "embedding", "speech"],
  anthropic: ["chat"],
};

const upstream = z.strictObject({
  name,
  kind: upstreamKind,
  base_url: urlSchema,
  api_key: credentialSchema.optional(),
  discover: z.boolean().optional(),
});

const target = z.strictObject({
  upstream: name,
  model: modelIdSchema,
  priority: z.number().int().min(0).default(0),
  weight: z.number().int().min(1).default(1),
});

const model = z.strictObject({
  id: modelIdSchema,
  aliases: z.array(modelIdSchema).default([]),
  family: name,
  vendor: name.optional(),
  kind: modelKind,
  completions: z.enum(["chat", "native"]).optional(),
  context_window: tokens.optional(),
  max_output_tokens: tokens.optional(),
  dimensions: z.number().int().min(1).optional(),
  price: z
    .strictObject({
      input: money.optional(),
      output: money.optional(),
      cache_read: money.optional(),
      cache_write: money.optional(),
      cache_write_hour: money.optional(),
      characters: money.optional(),
    })
    .optional(),
  created: z.iso.date().optional(),
  targets: z.array(target).default([]),
});

const rate = z.number().int().min(1).max(4_294_967_295);

const tier = z.strictObject({
  name: z.string().regex(/^[^\p{Cc}]{1,100}$/u, "expected a name of at most 100 characters"),
  recharge: money,
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

export const catalogueSchema = z.strictObject({ models: z.array(model) });

export const vendorsSchema = z.strictObject({
  vendors: z.array(
    z.strictObject({
      name,
      kind: upstreamKind.default("openai"),
      base_url: urlSchema,
      key_variable: z.string(),
      url_variable: z.string().optional(),
      url_suffix: z.string().optional(),
      discover_elsewhere: z.boolean().optional(),
    }),
  ),
});

export const fileSchema = z.strictObject({
  host: z.string().min(1).optional(),
  port: z.number().int().min(0).max(65535).optional(),
  data_dir: z.string().min(1).optional(),
  log_level: z.enum(logLevels).optional(),
  max_body_bytes: z
    .number()
    .int()
    .min(1024)
    .max(1024 ** 3)
    .optional(),
  body_timeout_seconds: z.number().min(0.1).max(3600).optional(),
  keep_alive_seconds: z.number().min(0.1).max(300).optional(),
  drain_seconds: z.number().min(0).max(3600).optional(),
  embedded_models: z.boolean().optional(),
  tiers: tiers.optional(),
  unit: z
    .strictObject({
      code: z.string().regex(/^[A-Z]{3,10}$/, "expected 3 to 10 capital letters, as JPY"),
      symbol: z.string().regex(/^[^\p{Cc}]{1,10}$/u, "expected 1 to 10 characters, as ¥"),
    })
    .optional(),
  durability: z.enum(["process", "power"]).optional(),
  operator_key: credentialSchema.min(32, "expected at least 32 characters").optional(),
  retries: z
    .strictObject({ attempts: z.number().int().min(1).max(10).optional(), share: z.number().min(0).max(1).optional() })
    .optional(),
  breaker: z
    .strictObject({
      failures: z.number().int().min(1).optional(),
      open_seconds: z.number().min(0.1).max(600).optional(),
    })
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
  default_models: z
    .strictObject({ completion: modelIdSchema.optional(), embedding: modelIdSchema.optional() })
    .optional(),
  public_urls: z
    .strictObject({
      root: urlSchema.optional(),
      direct: urlSchema.optional(),
      cdn: urlSchema.optional(),
      cn: urlSchema.optional(),
    })
    .optional(),
  trusted_proxies: z.array(network).optional(),
  cors_origins: z.array(origin).optional(),
  upstreams: z.array(upstream).default([]),
  models: z.array(model).default([]),
});

export type FileConfig = z.output<typeof fileSchema>;
export type UpstreamConfig = z.output<typeof upstream>;
export type TierConfig = z.output<typeof tier>;
export type ModelConfig = z.output<typeof model>;
export type VendorConfig = z.output<typeof vendorsSchema>["vendors"][number];
