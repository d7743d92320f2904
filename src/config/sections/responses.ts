/** The section of gateway.yaml about the Responses API. */
import { z } from "zod";

export const responsesSettings = {
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
