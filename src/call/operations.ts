/**
 * The operations that a model can be asked, with the messages of each. Routing, translations and providers share them.
 */
import {
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  CreateChatCompletionRequestSchema,
} from "../../gen/modelgateway/v1/chat_pb.ts";
import { CompletionSchema, CreateCompletionRequestSchema } from "../../gen/modelgateway/v1/completions_pb.ts";
import { CreateEmbeddingsRequestSchema, EmbeddingListSchema } from "../../gen/modelgateway/v1/embeddings_pb.ts";
import {
  CountMessageTokensRequestSchema,
  CreateMessageRequestSchema,
  MessageSchema,
  MessageStreamEventSchema,
  MessageTokenCountSchema,
} from "../../gen/modelgateway/v1/messages_pb.ts";
import {
  CreateResponseRequestSchema,
  ModelResponseSchema,
  ResponseStreamEventSchema,
} from "../../gen/modelgateway/v1/responses_pb.ts";
import { CreateSpeechRequestSchema, SpeechChunkSchema, SpeechSchema } from "../../gen/modelgateway/v1/speech_pb.ts";

/** operations says of each operation which kind of model it needs, its request, and its answer in either form. */
export const operations = {
  chat: {
    kind: "chat",
    input: CreateChatCompletionRequestSchema,
    whole: ChatCompletionSchema,
    stream: ChatCompletionChunkSchema,
  },
  messages: { kind: "chat", input: CreateMessageRequestSchema, whole: MessageSchema, stream: MessageStreamEventSchema },
  count_tokens: {
    kind: "chat",
    input: CountMessageTokensRequestSchema,
    whole: MessageTokenCountSchema,
    stream: MessageTokenCountSchema,
  },
  responses: {
    kind: "chat",
    input: CreateResponseRequestSchema,
    whole: ModelResponseSchema,
    stream: ResponseStreamEventSchema,
  },
  completions: {
    kind: "chat",
    input: CreateCompletionRequestSchema,
    whole: CompletionSchema,
    stream: CompletionSchema,
  },
  embeddings: {
    kind: "embedding",
    input: CreateEmbeddingsRequestSchema,
    whole: EmbeddingListSchema,
    stream: EmbeddingListSchema,
  },
  speech: { kind: "speech", input: CreateSpeechRequestSchema, whole: SpeechSchema, stream: SpeechChunkSchema },
} as const;

export type Operation = keyof typeof operations;

/** Form is the form of an answer: one message, or a stream of messages. Embeddings and token counts have the first form only. */
export type Form = "whole" | "stream";

export type Input<O extends Operation> = (typeof operations)[O]["input"];
export type Output<O extends Operation, F extends Form> = (typeof operations)[O][F];
