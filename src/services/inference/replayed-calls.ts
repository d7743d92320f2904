/**
 * Wraps the model calls that can be replayed under an Idempotency-Key: all that are charged, except the compaction of
 * conversations.
 */
import type { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import type { Handler, ServiceImplementation } from "../../call/call.ts";
import type { Replays } from "../../pipeline/replay/replay.ts";

type Asked = Parameters<Replays>[0];
type AskedForm = Parameters<Replays>[1];
type Inference = ServiceImplementation<typeof InferenceService>;

const repeatable: { readonly [name in keyof Inference]?: readonly [Asked, AskedForm] } = {
  createChatCompletion: ["chat", "whole"],
  streamChatCompletion: ["chat", "stream"],
  createMessage: ["messages", "whole"],
  streamMessage: ["messages", "stream"],
  createCompletion: ["completions", "whole"],
  streamCompletion: ["completions", "stream"],
  createEmbeddings: ["embeddings", "whole"],
  createSpeech: ["speech", "whole"],
  streamSpeech: ["speech", "stream"],
  createResponse: ["responses", "whole"],
  streamResponse: ["responses", "stream"],
};

export function withReplays(service: Inference, replays: Replays): Inference {
  const wrapped = Object.entries(repeatable).map(([name, [asked, form]]) => {
    const handler = service[name as keyof Inference] as unknown as Handler;
    return [name, replays(asked, form, handler)];
  });
  return { ...service, ...(Object.fromEntries(wrapped) as Partial<Inference>) };
}
