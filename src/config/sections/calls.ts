/** The section of gateway.yaml about calls and their answers. */
import { z } from "zod";
import { modelNameSchema, secondsSchema } from "../values.ts";

export const callSettings = {
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
