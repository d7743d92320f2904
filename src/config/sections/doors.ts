/** The section of gateway.yaml about connections, bodies and addresses. */
import { z } from "zod";
import { networkSchema, originSchema, urlSchema } from "../values.ts";

/** bytesSchema is a bound for bytes in memory: 64 KiB to 1 TiB. */
const bytesSchema = z
  .number()
  .int()
  .min(64 * 1024)
  .max(1024 ** 4);

export const doorSettings = {
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
        description: "In all (384 MiB, or four times `max_body_bytes` where that is more).",
        default: 402_653_184,
      }),
      max_bytes_per_account: bytesSchema.optional().meta({
        description: "Of one account. Default: a quarter of `max_bytes`.",
        default: 100_663_296,
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
  stop_delay_seconds: z
    .number()
    .min(0)
    .max(600)
    .optional()
    .meta({
      description: `How long calls are still accepted when the gateway is asked to stop, while /readyz says that it drains: until load
      balancers that ask for it have noticed. Then \`drain_seconds\` begin. Kubernetes waits by itself (\`preStop\`).`,
      default: 0,
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
