/**
 * The schema of gateway.yaml. The description, default and example of each key become gateway.example.yaml, docs/configuration.md and
 * gen/gateway.schema.json by `npm run generate`; a test compares them.
 */
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
  name: z
    .string()
    .regex(/^[^\p{Cc}]{1,100}$/u, "expected a name of at most 100 characters")
    .meta({ description: "The name that accounts see.", examples: ["Team"] }),
  recharge: moneySchema.meta({
    description: `The cumulative recharge at which the tier begins, in units. "0" for the first tier, and more for each after it.`,
    examples: ["1000"],
  }),
  requests_per_minute: rate.meta({ description: "Requests a minute.", examples: [30_000] }),
  tokens_per_minute: rate.optional().meta({
    description: "Input and output tokens a minute. Without it tokens are not bounded.",
    examples: [5_000_000],
  }),
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

/** processSettings are the settings of the process, its data and what it reports. */
const processSettings = {
  host: z.string().min(1).optional().meta({
    description: `The address to listen on. HOST in the environment wins.`,
    default: "127.0.0.1",
  }),
  port: z
    .number()
    .int()
    .min(0)
    .max(65535)
    .optional()
    .meta({
      description: `The port to listen on, shared by HTTP/1.1, HTTP/2 without TLS, gRPC and Connect; 0 is any free one. PORT in the
      environment wins.`,
      default: 8080,
    }),
  data_dir: z
    .string()
    .min(1)
    .optional()
    .meta({
      description: `The folder of the database. Beside the database, gateway.db.notes holds charges that are not in it yet: always copy
      both. DATA_DIR in the environment wins.`,
      default: "./data",
    }),
  log_level: z.enum(logLevels).optional().meta({
    description: `How much is logged. Log lines are JSON on standard error. LOG_LEVEL in the environment wins.`,
    default: "info",
  }),
  memory: z
    .enum(["small", "large"])
    .optional()
    .meta({
      description: `How much memory the process may take to be fast: \`small\` takes a third less under load, and up to a fifth more
      processor time. Default: \`large\` where the machine, or its container, has 4 GB or more.`,
      examples: ["small"],
    }),
  docs: z.boolean().optional().meta({
    description: `Whether this documentation is served at /docs, to anybody who reaches the gateway.`,
    default: true,
  }),
  durability: z
    .enum(["process", "power"])
    .optional()
    .meta({
      description: `What committed money survives: \`process\`, the death of the gateway; \`power\`, also that of the machine, at the
      price of waiting for the disk.`,
      default: "process",
    }),
  retention: z
    .strictObject({
      requests_days: z
        .number()
        .min(0.01)
        .optional()
        .meta({
          description: "For how many days calls are kept. Default: for good.",
          examples: [90],
        }),
      audit_days: z
        .number()
        .min(0.01)
        .optional()
        .meta({
          description: "For how many days events of the audit log are kept. Default: for good.",
          examples: [400],
        }),
    })
    .optional()
    .meta({
      description: `How long calls and audit events are kept. Older ones are deleted, some at a time; sums of usage and the ledger
        stay.`,
    }),
  metrics: z
    .strictObject({
      host: z.string().min(1).default("127.0.0.1").meta({
        description: "The address to listen on. METRICS_HOST in the environment wins.",
      }),
      port: z.number().int().min(0).max(65535).default(9464).meta({
        description: "The port. METRICS_PORT in the environment wins.",
      }),
      enabled: z.boolean().default(true).meta({
        description: "Whether metrics are served. METRICS_PORT=off in the environment turns them off, too.",
      }),
    })
    .optional()
    .meta({
      description: `Where Prometheus reads metrics (GET /metrics), apart from the API's port and for the operator alone: there is no
        credential. Where none of this is set, here or in the environment, and the address is taken, the gateway starts without metrics.`,
      examples: [{ enabled: true, host: "127.0.0.1", port: 9464 }],
    }),
  telemetry: z
    .strictObject({
      endpoint: urlSchema.meta({
        description: "The collector's address. The paths /v1/traces and /v1/metrics are added.",
        examples: ["http://127.0.0.1:4318"],
      }),
      headers: z
        .record(headerNameSchema, credentialSchema)
        .default({})
        .meta({
          description: "Headers of each request to it.",
          examples: [{ authorization: `Bearer \${OTLP_TOKEN}` }],
        }),
    })
    .optional()
    .meta({
      description: `Where traces and metrics are sent by OTLP over HTTP (JSON), as an OpenTelemetry collector takes them.
        OTEL_EXPORTER_OTLP_ENDPOINT and OTEL_EXPORTER_OTLP_HEADERS in the environment win. Without it nothing is sent.`,
      examples: [{ endpoint: "http://127.0.0.1:4318", headers: { authorization: `Bearer \${OTLP_TOKEN}` } }],
    }),
};

/** doorSettings are the settings of connections, bodies and addresses. */
const doorSettings = {
  max_body_bytes: z
    .number()
    .int()
    .min(1024)
    .max(1024 ** 3)
    .optional()
    .meta({
      description: "The largest request body, in bytes (16 MiB). A form may have 256 KiB at most.",
      default: 16_777_216,
    }),
  body_timeout_seconds: z.number().min(0.1).max(3600).optional().meta({
    description: "How long a request body may take to arrive.",
    default: 60,
  }),
  bodies_in_flight: z
    .strictObject({
      max_bytes: bytesSchema.optional().meta({
        description: "In all (512 MiB, or four times `max_body_bytes` where that is more).",
        default: 536_870_912,
      }),
      max_bytes_per_account: bytesSchema.optional().meta({
        description: "Of one account. Default: a quarter of `max_bytes`.",
        default: 134_217_728,
      }),
    })
    .optional()
    .meta({
      description: `The bytes of request bodies held at a time. Requests beyond it are refused with 503 and \`Retry-After\`. The last
        quarter of the room is for bodies of at most 64 KiB.`,
    }),
  idle_seconds: z.number().min(1).max(3600).optional().meta({
    description: "How long a client may keep a connection on which nothing runs.",
    default: 65,
  }),
  stalled_reader_seconds: z
    .number()
    .min(0.5)
    .max(3600)
    .optional()
    .meta({
      description: `How long a client may leave all bytes of its answer unread before it is cut. A client that reads slowly is served
      for as long as it reads.`,
      default: 60,
    }),
  max_connections: z
    .number()
    .int()
    .min(1)
    .max(10_000_000)
    .optional()
    .meta({
      description: `The most client connections. Default: three quarters of the files that the process may have open (\`ulimit -n\`).
      Beyond it the connection that has been idle longest makes room.`,
      examples: [10_000],
    }),
  keep_alive_seconds: z.number().min(0.1).max(300).optional().meta({
    description: `After so much silence on a stream a comment is sent, so that proxies do not take the connection for dead.`,
    default: 15,
  }),
  drain_seconds: z
    .number()
    .min(0)
    .max(3600)
    .optional()
    .meta({
      description: `How long running requests may take to finish when the gateway is asked to stop. What still runs then is cut off, and
      charged within ten seconds: a supervisor should wait for so much longer before it kills the process.`,
      default: 30,
    }),
  disconnect_drain_seconds: z
    .number()
    .min(0)
    .max(60)
    .optional()
    .meta({
      description: `How long a stream is read on after its client has disconnected in the middle of it: the usage that the upstream then
      reports is what the call is charged. What is read is thrown away. 0 aborts the upstream call at once; the call is then charged by
      the output that was seen, with reasoning estimated from the time that it took.`,
      default: 5,
    }),
  public_urls: z
    .strictObject({
      root: urlSchema.optional().meta({
        description: "The gateway's address, without /v1.",
        examples: ["https://gateway.example.com"],
      }),
      direct: urlSchema.optional().meta({
        description: "An address that leads to it directly.",
        examples: ["https://us.gateway.example.com"],
      }),
      cdn: urlSchema.optional().meta({
        description: "An address that leads through a content delivery network.",
        examples: ["https://cdn.gateway.example.com"],
      }),
      cn: urlSchema.optional().meta({
        description: "An address for mainland China.",
        examples: ["https://cn.gateway.example.com"],
      }),
    })
    .optional()
    .meta({
      description: `The addresses under which clients reach the gateway, as \`GET /\` reports them. Default: the address that a request
        came to.`,
    }),
  trusted_proxies: z
    .array(networkSchema)
    .optional()
    .meta({
      description: "Proxies in front, by address or network: only their X-Forwarded-* headers are believed.",
      default: [],
      examples: [["10.0.0.0/8"]],
    }),
  cors_origins: z
    .array(originSchema)
    .optional()
    .meta({
      description: "Web pages that may call the gateway from a browser, by origin; `*` is any.",
      default: [],
      examples: [["https://app.example.com"]],
    }),
};

/** peopleSettings are the settings of operators, users and keys. */
const peopleSettings = {
  operator_key: credentialSchema
    .min(32, "expected at least 32 characters")
    .optional()
    .meta({
      description: `The credential for OperatorService (accounts, recharges, redeem codes), at least 32 characters. Without one only
      operators who are signed in reach it, and the command line does the same.`,
      examples: [`\${OPERATOR_KEY}`],
    }),
  registration: z
    .enum(["open", "invitation", "closed"])
    .optional()
    .meta({
      description: `Who may register in the dashboard: everybody (open), people with a link from the operator (invitation), or nobody
      (closed).`,
      default: "invitation",
    }),
  max_keys_per_account: z.number().int().min(1).max(1_000_000).optional().meta({
    description: "How many API keys an account may have.",
    default: 5000,
  }),
  failed_credentials: z
    .strictObject({
      per_minute: z.number().int().min(1).max(1_000_000).meta({
        description: "How many an address may send at once, and how many more in each minute.",
        default: 30,
      }),
    })
    .optional()
    .meta({
      description: `How many wrong credentials (API keys, the operator key, sessions, redeem codes) an address may send; a network may
        send four times as many, and a repeated one counts a quarter. Each is answered later than the one before; beyond the bound by
        429, with a line in the audit log once a minute. A right credential always works at once. Sign-in and links have bounds of
        their own.`,
    }),
  tiers: tiers.optional().meta({
    description: `How fast an account may call. Its tier follows from everything that was ever recharged to it, less refunds; grants do
      not count. The first tier holds from "0".`,
    default: [
      { name: "Free", recharge: "0", requests_per_minute: 60 },
      { name: "VIP", recharge: "20", requests_per_minute: 1200 },
      { name: "Premium", recharge: "300", requests_per_minute: 10_000 },
    ],
  }),
};

/** moneySettings are the settings of amounts and prices. */
const moneySettings = {
  unit: z
    .strictObject({
      code: z
        .string()
        .regex(/^[A-Z]{3,10}$/, "expected 3 to 10 capital letters, as JPY")
        .meta({
          description: "Its code: 3 to 10 capital letters.",
          default: "JPY",
        }),
      symbol: z
        .string()
        .regex(/^[^\p{Cc}]{1,10}$/u, "expected 1 to 10 characters, as ¥")
        .meta({
          description: "Its symbol: 1 to 10 characters.",
          default: "¥",
        }),
    })
    .optional()
    .meta({ description: "The unit of money: every amount and price of the configuration and of the API is in it." }),
  catalogue_prices: z
    .strictObject({
      dollar: factorSchema.optional().meta({ description: "How many units a US dollar is.", examples: ["155"] }),
      markup: factorSchema.optional().meta({ description: "A factor besides.", examples: ["1.10"] }),
    })
    .optional()
    .meta({
      description: `How the catalogue's prices, which are in US dollars, become units. Without \`dollar\` a round figure is taken
        (catalog/currencies.yaml), or one unit where the unit is no currency, and the start says so.`,
      examples: [{ dollar: "155", markup: "1.10" }],
    }),
  unpriced_models: z
    .union(
      [
        z.enum(unpricedValues),
        z.strictObject({ price: priceSchema.meta({ description: "The price of all of them, as that of a model." }) }),
      ],
      `expected ${unpricedValues.join(", ")}, or {price: {…}} with decimals in quotes`,
    )
    .optional()
    .meta({
      description: `What calls cost to models without a price, such as those of a local server: \`free_for_first_account\` (nothing
        for the operator's own first account: the oldest that an operator signs in to, or that belongs to no user; other prepaid
        accounts are refused), \`free\` (nothing for any), \`refused\`, or a price for all of them. Postpaid accounts may always call
        them, at no cost where they have no price.`,
      default: "free_for_first_account",
      examples: [{ price: { input: "1.00", output: "2.00" } }],
    }),
};

/** callSettings are the settings of calls and of their answers. */
const callSettings = {
  embedded_models: z
    .boolean()
    .optional()
    .meta({
      description: `Whether the embedded simulators are served. Default: true without a file, false with one.`,
      examples: [true],
    }),
  default_models: z
    .strictObject({
      completion: modelNameSchema.optional().meta({
        description: "The model of text completions that name none.",
        examples: ["some-chat"],
      }),
      embedding: modelNameSchema.optional().meta({
        description: "The model of embeddings that name none.",
        examples: ["some-embedding"],
      }),
    })
    .optional()
    .meta({ description: "The models of requests that name none and need not. Default: the first of the kind." }),
  retries: z
    .strictObject({
      attempts: z.number().int().min(1).max(10).optional().meta({
        description: "The most attempts at one model in a call.",
        default: 3,
      }),
      share: z.number().min(0).max(1).optional().meta({
        description: "The most of what a target is sent that may be retries.",
        default: 0.15,
      }),
    })
    .optional()
    .meta({
      description: `A failure by an upstream's fault before any content of the answer was sent is answered by the model's other targets,
        and where there is none by the same one again.`,
    }),
  hedging: z
    .strictObject({
      after_seconds: secondsSchema.meta({ description: "How long no answer came.", examples: [5] }),
      share: z.number().min(0).max(1).default(0.05).meta({
        description: "The most of all calls that may be sent twice.",
      }),
    })
    .optional()
    .meta({
      description: `Calls that are not streamed are sent a second time, to another target where there is one, when no answer came after
        so long, and the first answer is taken. An upstream may charge for both; the caller pays for the one it got. Without this key
        none is.`,
      examples: [{ after_seconds: 5, share: 0.05 }],
    }),
  breaker: z
    .strictObject({
      failures: z.number().int().min(1).optional().meta({
        description: "How many failures without a success between open it.",
        default: 5,
      }),
      open_seconds: z.number().min(0.1).max(600).optional().meta({
        description: "For how long the target then gets no calls.",
        default: 5,
      }),
    })
    .optional()
    .meta({ description: "A target that failed so often gets no calls for a while, and then one that probes it." }),
  cache: z
    .strictObject({
      max_bytes: z
        .number()
        .int()
        .min(1024)
        .max(64 * 1024 ** 3)
        .meta({
          description: "The most memory for answers. Those that are still under way take as much again at most.",
          examples: [268_435_456],
        }),
      seconds: secondsSchema.default(3600).meta({ description: "How long an answer is kept at most." }),
      price_share: z.number().min(0).max(1).default(0).meta({
        description: "The part of its original cost that a cached answer costs: 0 is nothing, 1 all of it.",
      }),
    })
    .optional()
    .meta({
      description: `Answers and streams are kept in memory for the same request of the same account. \`Cache-Control\` of a request is
        honoured. Without this key nothing is kept.`,
      examples: [{ max_bytes: 268_435_456, seconds: 3600, price_share: 0 }],
    }),
};

/** responsesSettings are the settings of the Responses API. */
const responsesSettings = {
  responses: z
    .strictObject({
      keep_hours: z.number().min(0.01).max(8784).optional().meta({ description: "For how long.", default: 24 }),
      max_per_account: z.number().int().min(1).max(10_000).optional().meta({
        description: "How many of an account. The oldest make room.",
        default: 1000,
      }),
      max_bytes: z
        .number()
        .int()
        .min(1024)
        .max(64 * 1024 ** 2)
        .optional()
        .meta({ description: "The largest one that is kept, in bytes (1 MiB).", default: 1_048_576 }),
    })
    .optional()
    .meta({ description: "Responses of /v1/responses are kept so that later requests can go on from them." }),
  background_responses: z
    .strictObject({
      max: z.number().int().min(1).max(100_000).optional().meta({ description: "The most at a time.", default: 1000 }),
      max_per_account: z.number().int().min(1).max(100_000).optional().meta({
        description: "The most of one account.",
        default: 100,
      }),
      max_bytes: z
        .number()
        .int()
        .min(1024 ** 2)
        .optional()
        .meta({
          description: `The bytes of their requests, and of the events of those that are streamed, in all (256 MiB). Events that take
            more room are not kept, and their stream cannot be resumed.`,
          default: 268_435_456,
        }),
      max_bytes_per_account: z
        .number()
        .int()
        .min(1024 ** 2)
        .optional()
        .meta({ description: "The same of one account (64 MiB).", default: 67_108_864 }),
    })
    .optional()
    .meta({
      description: `Responses that are made in the background ("background": true). Beyond these bounds they are refused with 503. A
        call that still runs \`drain_seconds\` after the gateway was asked to stop fails, and is charged for its output.`,
    }),
  responses_socket: z
    .strictObject({
      enabled: z.boolean().default(true).meta({
        description: "Whether they are served. Else a handshake is refused with 426, upon which agents go on by HTTP.",
      }),
      idle_seconds: z.number().min(1).max(3600).optional().meta({
        description: "After how long a connection on which nothing runs is closed.",
        default: 600,
      }),
      max_bytes: z.number().int().min(1024).optional().meta({
        description: `The memory for the last response of each connection, from which the next may go on, in all (256 MiB).`,
        default: 268_435_456,
      }),
      max_bytes_per_account: z.number().int().min(1024).optional().meta({
        description: "The same of one account (64 MiB).",
        default: 67_108_864,
      }),
    })
    .optional()
    .meta({ description: "Responses over a WebSocket, at /v1/responses." }),
};

const settingsSchema = z.strictObject({
  ...processSettings,
  ...doorSettings,
  ...peopleSettings,
  ...moneySettings,
  ...callSettings,
  ...responsesSettings,
  upstreams: z
    .array(upstreamSchema)
    .default([])
    .meta({
      description: `Where models run. An upstream that has the name of a vendor in catalog/vendors.yaml serves that vendor's models of
      catalog/models.yaml without listing them.`,
    }),
  models: z.array(modelSchema).default([]).meta({
    description: `What callers may ask for. A model with the id of one in catalog/models.yaml takes its place.`,
  }),
});

/** settingGroups are the keys of the file, under the headings of the reference. */
export const settingGroups = {
  "The process": Object.keys(processSettings),
  "Connections and bodies": Object.keys(doorSettings),
  "People, keys and tiers": Object.keys(peopleSettings),
  Money: Object.keys(moneySettings),
  Calls: Object.keys(callSettings),
  Responses: Object.keys(responsesSettings),
  Upstreams: ["upstreams"],
  Models: ["models"],
} as const;

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
