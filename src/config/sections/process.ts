/** The section of gateway.yaml about the process, its data and what it reports. */
import { z } from "zod";
import { credentialSchema, headerNameSchema, urlSchema } from "../values.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;

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
