/** The schema of upstreams and models, in gateway.yaml and in the built-in catalogue. */
import { z } from "zod";
import { type Mode, modes } from "../call/price.ts";
import { faultTexts, issueOf, problem } from "./fault-texts.ts";
import { profileSchema } from "./schema-profile.ts";
import {
  apiKeySchema,
  credentialSchema,
  headerNameSchema,
  modelIdSchema,
  modelNameSchema,
  moneySchema,
  nameSchema,
  ownHeaderSchema,
  priceFactorSchema,
  secondsSchema,
  tokensSchema,
  upstreamUrlSchema,
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
    name: nameSchema.meta({
      description: `Its name. That of a vendor in catalog/vendors.yaml gives it the vendor's profile and models.`,
      examples: ["local"],
    }),
    kind: upstreamKind.meta({
      description: `The API spoken there: \`openai\`, which everything compatible speaks too, or \`anthropic\`, which serves chat models
        only.`,
      examples: ["openai"],
    }),
    base_url: upstreamUrlSchema.meta({
      description: "Its address, to which the paths of operations are appended.",
      examples: ["http://127.0.0.1:9000/v1"],
    }),
    api_key: apiKeySchema.optional().meta({
      description: "Its key. Leave it out where the upstream wants none.",
      examples: [`\${UPSTREAM_KEY}`],
    }),
    api_keys: z
      .array(apiKeySchema)
      .min(1)
      .optional()
      .meta({
        description:
          "Several keys instead: calls take them in turn, and one that is refused or has used up its rate rests.",
        examples: [[`\${UPSTREAM_KEY}`, `\${OTHER_KEY}`]],
      }),
    credential: headerNameSchema.optional().meta({
      description: "The header that the key goes into, where it is not `Authorization: Bearer`.",
      examples: ["api-key"],
    }),
    headers: z
      .record(ownHeaderSchema, credentialSchema)
      .optional()
      .meta({
        description: "Further headers of each request.",
        examples: [{ "x-title": "our gateway" }],
      }),
    query: z
      .record(z.string().regex(/^[\w.-]{1,100}$/, faultTexts.QUERY_NAME_EXPECTED), credentialSchema)
      .optional()
      .meta({ description: "The query of each request.", examples: [{ "api-version": "2026-10-01" }] }),
    vendor: nameSchema.optional().meta({
      description: `Whose server it is: a vendor of catalog/vendors.yaml, whose profile it then has. Default: the vendor of its name or
        address.`,
      examples: ["vllm"],
    }),
    profile: profileSchema.optional().meta({
      description: `What it takes, where that is not known or not as the vendor's (docs/dialects.md). Keys that are left out are as the
        vendor's, or what nearly every server takes.`,
    }),
    discover: z
      .boolean()
      .optional()
      .meta({
        description: `Whether every model is served that it lists (GET base_url/models), read at the start and once a minute. A model of the
        catalogue is served as the catalogue describes it, any other as the \`kind\` of its entry, or else as a chat model, of the family
        openai-compatible, without a price (\`unpriced_models\`). Models that it does not list are not served from it, but for those
        below; while it is down at the start none is, and it is asked again until it answers. Good for a local server; OPENAI_BASE_URL
        without a file does the same. Without this key an upstream with a vendor's name and address is asked once an hour which of that
        vendor's models it lists, and serves no others of them; \`false\` turns this off.`,
        examples: [false],
      }),
    disabled: z
      .boolean()
      .optional()
      .meta({
        description: `Whether it serves nothing for now: its entry stays, and so do the targets that name it. A model that has no other target
        is not served.`,
        examples: [false],
      }),
    regional: z
      .boolean()
      .optional()
      .meta({
        description: `Whether it computes in one region whatever is asked, as vendors' hosts with data residency do: \`regional\` of a
        price then applies.`,
        default: false,
      }),
    timeouts: z
      .strictObject({
        connect_seconds: secondsSchema.optional().meta({ description: "For a connection.", default: 10 }),
        first_byte_seconds: secondsSchema.optional().meta({ description: "For the head of its answer.", default: 600 }),
        idle_seconds: secondsSchema.optional().meta({
          description: "Between two pieces of its answer. A comment in a stream is no piece.",
          default: 300,
        }),
        total_seconds: secondsSchema.optional().meta({
          description: "In all. Default: without a bound.",
          examples: [3600],
        }),
      })
      .optional()
      .meta({
        description: `How long it may take, in seconds. Each attempt has all of it. A caller may ask for less by
          \`x-gateway-timeout\`.`,
      }),
    queue: z
      .strictObject({
        max_concurrent: z
          .number()
          .int()
          .min(1)
          .max(100_000)
          .meta({
            description: "How many calls it may have at a time.",
            examples: [8],
          }),
        max_queued: z.number().int().min(0).max(100_000).default(100).meta({
          description: "How many may wait for a place.",
        }),
        max_wait_seconds: secondsSchema.default(60).meta({ description: "How long they may wait." }),
        shared: z
          .boolean()
          .optional()
          .meta({
            description: `Whether gateways that share a [Redis](#redis) share these places, too. \`false\` where each gateway has
              this upstream for itself, as a server on the same machine.`,
            default: true,
          }),
      })
      .optional()
      .meta({
        description:
          "How many calls it may have at a time. Those of a higher tier go first. Without this key: any number.",
      }),
    health_check: z
      .strictObject({
        path: z
          .string()
          .regex(/^\/[\x21-\x7e]*$/, faultTexts.PATH_EXPECTED)
          .meta({
            description: "A path below `base_url`, asked for with its key.",
            examples: ["/models"],
          }),
        interval_seconds: z.number().min(1).max(3600).default(30).meta({ description: "How often." }),
        failures: z.number().int().min(1).max(100).default(3).meta({
          description:
            "After so many failures in a row its targets are passed over where there are others, until it answers.",
        }),
      })
      .optional()
      .meta({ description: "Whether it is asked for a path now and then. Without this key: no." }),
  })
  .superRefine(checkKeys);

interface Keys {
  readonly api_key?: string | undefined;
  readonly api_keys?: readonly string[] | undefined;
  readonly credential?: string | undefined;
}

/** checkKeys adds an issue for keys that are given twice, are empty, or have the scheme that the gateway adds. */
function checkKeys({ api_key, api_keys, credential }: Keys, context: z.RefinementCtx): void {
  if (api_key !== undefined && api_keys !== undefined) context.addIssue(issueOf(problem("KEY_AND_KEYS"), ["api_keys"]));
  for (const [i, key] of api_keys?.entries() ?? [])
    if (key === "") context.addIssue(issueOf(problem("TOO_SHORT", { least: 1 }), ["api_keys", i]));
  // In another header the scheme may be meant.
  if (credential?.toLowerCase() === "authorization") return;
  const hasScheme = (key: string | undefined) => /^bearer\s/i.test(key ?? "");
  if (hasScheme(api_key)) context.addIssue(issueOf(problem("CREDENTIAL_WITH_SCHEME"), ["api_key"]));
  for (const [i, key] of api_keys?.entries() ?? [])
    if (hasScheme(key)) context.addIssue(issueOf(problem("CREDENTIAL_WITH_SCHEME"), ["api_keys", i]));
}

const target = z.strictObject({
  upstream: nameSchema.meta({ description: "The name of an upstream.", examples: ["local"] }),
  model: modelNameSchema.meta({ description: "The model's name there.", examples: ["upstream-name"] }),
  priority: z.number().int().min(0).default(0).meta({
    description: "The lowest number is asked first.",
  }),
  weight: z.number().int().min(0).default(1).meta({
    description: "Its share among targets of the same priority; 0: it gets no calls, and its entry stays.",
  }),
});

/** checkWeights adds an issue if no target of a model would get calls. */
function checkWeights(targets: readonly z.output<typeof target>[], context: z.RefinementCtx): void {
  if (targets.length === 0 || targets.some(({ weight }) => weight > 0)) return;
  context.addIssue(issueOf(problem("WEIGHTS_ZERO")));
}

/** rates are the prices of tokens, in units per million. */
const rates = {
  input: moneySchema.optional().meta({ description: "Input.", examples: ["1.10"] }),
  output: moneySchema.optional().meta({ description: "Output; reasoning is output.", examples: ["4.40"] }),
  cache_read: moneySchema.optional().meta({
    description: "Input that is read from the upstream's prompt cache. Default: the price of input.",
    examples: ["0.55"],
  }),
  cache_write: moneySchema.optional().meta({
    description: "Input that is written to it, for the shortest lifetime on sale. Default: the price of input.",
    examples: ["1.10"],
  }),
  cache_write_hour: moneySchema.optional().meta({
    description:
      "Input that is written to it for longer: an hour (Anthropic), 12 hours (OpenAI). Default: the price of `cache_write`.",
    examples: ["2.20"],
  }),
  input_audio: moneySchema.optional().meta({
    description: "Input that is sound. Default: the price of input.",
    examples: ["11.00"],
  }),
  input_image: moneySchema.optional().meta({
    description: "Input that is pictures. Default: the price of input.",
    examples: ["1.10"],
  }),
  output_audio: moneySchema.optional().meta({
    description: "Output that is sound. Default: the price of output.",
    examples: ["44.00"],
  }),
};

const ownInput = moneySchema.meta({ description: "Input.", examples: ["2.20"] });
const band = z.strictObject({
  above: tokensSchema.meta({ description: "The prompt is longer than so many tokens.", examples: [272_000] }),
  ...rates,
  input: ownInput,
});
const bands = z.array(band).min(1).superRefine(checkAscending);

/** checkAscending adds an issue if a bound is not above the one before it. */
function checkAscending(list: readonly { readonly above: number }[], context: z.RefinementCtx): void {
  for (const [i, { above }] of list.entries()) {
    const before = list[i - 1];
    if (!before || above > before.above) continue;
    context.addIssue(issueOf(problem("BOUND_NOT_ASCENDING"), [i, "above"]));
  }
}

/** card is the rates of one service mode. They do not fall back on the ordinary rates, so `input` is required. */
const card = z.strictObject({
  ...rates,
  input: ownInput,
  long: bands.optional().meta({ description: "Its rates of calls with a long prompt.", examples: [] }),
});

export const priceSchema = z
  .strictObject({
    ...rates,
    characters: moneySchema.optional().meta({
      description: "Speech models instead of all these: a million characters.",
      examples: ["15.00"],
    }),
    long: bands.optional().meta({
      description: `All rates of a call whose prompt, its cache included, is longer than \`above\` tokens. Several bounds ascend.`,
      examples: [[{ above: 272_000, input: "2.20", output: "6.60", cache_read: "1.10" }]],
    }),
    priority: card.optional().meta({
      description: `The rates of a request with \`service_tier: priority\`, complete, long prompts included; and with \`fast\`, where
        that has none: OpenAI has both names for it. A request for a tier that is not here is refused.`,
      examples: [{ input: "2.20", output: "8.80", cache_read: "1.10" }],
    }),
    fast: card.optional().meta({
      description: "Those of Anthropic's `speed: fast`, and of a service tier of that name elsewhere.",
      examples: [
        {
          input: "6.60",
          output: "26.40",
          cache_read: "3.30",
          long: [{ above: 272_000, input: "13.20", output: "39.60" }],
        },
      ],
    }),
    ultrafast: card.optional().meta({
      description: "Those of the service tier `ultrafast`.",
      examples: [{ input: "6.60", output: "26.40", cache_read: "3.30" }],
    }),
    flex: card.optional().meta({
      description: "Those of the service tier `flex`.",
      examples: [{ input: "0.55", output: "2.20" }],
    }),
    batch: card.optional().meta({
      description: "Those of the service tier `batch`.",
      examples: [{ input: "0.55", output: "2.20" }],
    }),
    regional: priceFactorSchema.optional().meta({
      description: "The factor of all of it in a region: by `inference_geo`, and at upstreams that are `regional`.",
      examples: ["1.1"],
    }),
    web_search: moneySchema.optional().meta({
      description: "Units for each search of the web. Without it requests that may search are refused.",
      examples: ["0.01"],
    }),
    request: moneySchema.optional().meta({
      description: "Units for each request to an upstream, beside its usage.",
      examples: ["0"],
    }),
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
  if (price.output === undefined) context.addIssue(issueOf(problem("MISSING"), [...path, "output"]));
  for (const [i, band] of price.long?.entries() ?? []) checkOutput(band, output, [...path, "long", i], context);
  for (const mode of modes) {
    const card = (price as Partial<Record<Mode, WithOutput>>)[mode];
    if (card) checkOutput(card, output, [...path, mode], context);
  }
}

export const modelSchema = z.strictObject({
  id: modelIdSchema.meta({ description: "What callers call it.", examples: ["some-chat"] }),
  aliases: z
    .array(modelNameSchema)
    .default([])
    .meta({ description: "Other names that callers may use.", examples: [["some-chat-latest"]] }),
  family: nameSchema.meta({
    description: "The name that permissions of keys use, as `family:some`.",
    examples: ["some"],
  }),
  kind: modelKind.meta({ description: "What it does.", examples: ["chat"] }),
  completions: z
    .enum(["chat", "native"])
    .optional()
    .meta({
      description: `How a chat model serves /v1/completions: \`chat\`, each prompt as a conversation of one message; or \`native\`, by the
      upstream's own /completions, which servers of open models have and OpenAI's chat models refuse.`,
      default: "chat",
    }),
  context_window: tokensSchema.optional().meta({ description: "Input and output, in tokens.", examples: [128_000] }),
  max_output_tokens: tokensSchema.optional().meta({ description: "The most output, in tokens.", examples: [16_384] }),
  dimensions: z
    .number()
    .int()
    .min(1)
    .optional()
    .meta({
      description: "The length of a vector, of an embedding model.",
      examples: [1536],
    }),
  price: priceSchema.optional().meta({
    description: `Units per million tokens, as decimals in quotes (docs/prices.md). A model without a price costs what
      \`unpriced_models\` says.`,
  }),
  created: z.iso
    .date()
    .optional()
    .meta({ description: "The day of release.", examples: ["2026-01-31"] }),
  vendor: nameSchema.optional().meta({
    description: "Instead of targets: the upstream of this name serves it, under the model's own id.",
    examples: ["some"],
  }),
  sticky: z
    .boolean()
    .optional()
    .meta({
      description: `Whether a conversation goes to the same one of equal targets each time, for the sake of its prompt cache. Default:
      where reading from the cache costs less than input.`,
      examples: [true],
    }),
  reasoning: z
    .boolean()
    .optional()
    .meta({
      description: `Whether it reasons before it answers, unseen. A call whose client disconnects and whose upstream reports no usage in
      time is charged accordingly. Default: whether it ever reported reasoning.`,
      examples: [true],
    }),
  targets: z
    .array(target)
    .superRefine(checkWeights)
    .default([])
    .meta({ description: "Which upstreams serve it: the lowest priority first, and among equals by weight." }),
});

export const catalogueSchema = z.strictObject({ models: z.array(modelSchema) });

export const vendorsSchema = z.strictObject({
  vendors: z.array(
    z.strictObject({
      name: nameSchema,
      title: z.string(),
      kind: upstreamKind.default("openai"),
      base_url: urlSchema.optional(),
      key_variable: z.string(),
      other_key_variables: z.array(z.string()).default([]),
      token_variable: z.string().optional(),
      url_variable: z.string().optional(),
      other_url_variables: z.array(z.string()).default([]),
      url_port: z.number().int().optional(),
      url_suffix: z.string().optional(),
      credential: headerNameSchema.optional(),
      like: nameSchema.optional(),
      profile: profileSchema.optional(),
      discover: z.boolean().optional(),
      discover_elsewhere: z.boolean().optional(),
    }),
  ),
});

export type UpstreamConfig = z.output<typeof upstreamSchema>;
export type PriceConfig = z.output<typeof priceSchema>;
export type ModelConfig = z.output<typeof modelSchema>;
export type VendorConfig = z.output<typeof vendorsSchema>["vendors"][number];
