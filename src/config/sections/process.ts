/** The section of gateway.yaml about the process, its data and what it reports. */
import { z } from "zod";
import { faultTexts } from "../fault-texts.ts";
import {
  credentialSchema,
  databaseUrlSchema,
  headerNameSchema,
  maxWorkers,
  redisUrlSchema,
  secondsSchema,
  urlSchema,
} from "../values.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;

/** defaultRefusedDays is how long refused calls are kept where nothing says otherwise. */
export const defaultRefusedDays = 90;

export const processSettings = {
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
  workers: z
    .union([z.literal("auto"), z.number().int().min(1).max(maxWorkers)], faultTexts.WORKERS_EXPECTED)
    .optional()
    .meta({
      description: `How many processes serve on the one port; \`auto\` is as many as the machine, or its container, has cores. They share
      credit, rates and places as one process would, and SIGHUP replaces them one by one. Default: one process, which reads gateway.yaml anew on SIGHUP.
      \`--workers\` and WORKERS in the environment win.`,
      examples: ["auto"],
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
      refused_days: z.number().min(0.01).default(defaultRefusedDays).meta({
        description: "For how many days the counts of refused calls are kept, and the last thousand of each account.",
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
      description: `How long calls, refused calls and audit events are kept. Older ones are deleted, some at a time; sums of usage and the
        ledger stay.`,
    }),
  database: z
    .strictObject({
      url: databaseUrlSchema.optional().meta({
        description: `Its address, with \`?sslmode=verify-full&sslrootcert=FILE\` for TLS. DATABASE_URL in the environment wins.`,
        examples: [`postgres://gateway:\${DATABASE_PASSWORD}@db.internal:5432/gateway`],
      }),
      pool_size: z.number().int().min(1).max(200).default(5).meta({
        description:
          "How many connections of a node management shares. Money and the watch for changes have three more.",
      }),
      replica_url: databaseUrlSchema.optional().meta({
        description: `The address of a streaming replica of that database, from which lists, searches, sums and exports of calls are read. Balances,
        keys and whatever is decided are always the primary's. DATABASE_REPLICA_URL in the environment wins.`,
        examples: [`postgres://gateway:\${DATABASE_PASSWORD}@replica.internal:5432/gateway`],
      }),
      replica_max_lag_seconds: z.number().min(2).max(3600).default(30).meta({
        description:
          "How far the replica may be behind. Beyond that, and while it does not answer, the primary is read.",
      }),
    })
    .optional()
    .meta({
      description: `A Postgres (15 or newer) that several gateways keep their data in. Without it the data are in SQLite, in data_dir, for one
        gateway. With it data_dir keeps only what came of calls while the database was away. DATABASE_URL in the environment is enough.`,
      examples: [{ url: `postgres://gateway:\${DATABASE_PASSWORD}@db.internal:5432/gateway` }],
    }),
  config_key_file: z
    .string()
    .min(1)
    .optional()
    .meta({
      description: `The path of a file with the key that credentials of the stored configuration are sealed by: 32 bytes in hex or base64
        (\`openssl rand -hex 32\`). GATEWAY_CONFIG_KEY and GATEWAY_CONFIG_KEY_FILE in the environment win. Of several keys, with commas
        between them, the first seals and all open. Default: configuration.key in data_dir, which is made when it is needed; with Postgres
        there is none.`,
      examples: ["/etc/model-gateway/configuration.key"],
    }),
  redis: z
    .strictObject({
      url: redisUrlSchema.optional().meta({
        description: "Its address. REDIS_URL in the environment wins.",
        examples: [`redis://:\${REDIS_PASSWORD}@127.0.0.1:6379/0`],
      }),
      cluster: z.boolean().default(false).meta({
        description: "Whether the address is that of a node of a Redis Cluster, which tells where the others are.",
      }),
      prefix: z
        .string()
        .regex(/^[\x21-\x7a]{1,100}$/, faultTexts.REDIS_PREFIX_EXPECTED)
        .default("model-gateway:")
        .meta({ description: "What every key begins with. Gateways with the same prefix share their rates." }),
      when_away: z
        .enum(["divide", "refuse"])
        .default("divide")
        .meta({
          description: `What happens to calls while it does not answer: each node admits its part of every rate, the rate divided by the
          nodes that lived last (divide), or calls are refused with 503 (refuse). Sign-in and wrong credentials are always divided.`,
        }),
      nodes: z.number().int().min(1).max(10_000).default(1).meta({
        description: "By how many nodes a node divides rates that is started while Redis is away.",
      }),
      timeout_seconds: secondsSchema.default(0.05).meta({
        description: "How long an answer may take. An answer that takes longer makes Redis away.",
      }),
      connect_timeout_seconds: secondsSchema.default(2).meta({ description: "How long a connection may take." }),
    })
    .optional()
    .meta({
      description: `A Redis (6.2 or newer) or Valkey over which several gateways share rates: requests and tokens of accounts, calls of an
        RPC, wrong credentials, sign-in, and places at upstreams with a queue. Without it each gateway counts for itself. REDIS_URL in the environment is enough.`,
      examples: [{ url: `redis://:\${REDIS_PASSWORD}@127.0.0.1:6379/0` }],
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
