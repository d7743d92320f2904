/** InferenceService: each model endpoint names its operation and calls the pipeline. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { SpeechChunkSchema } from "../../../gen/modelgateway/v1/speech_pb.ts";
import type { Answer, Call, Frames, ServiceImplementation } from "../../call/call.ts";
import { refuseOddObjects } from "../../call/request/input-objects.ts";
import { authorizeModel } from "../../pipeline/admit/authorize.ts";
import type { Complete } from "../../pipeline/complete/complete.ts";
import type { Catalog, Model } from "../../targets/catalog.ts";
import { Wire } from "../../wire/wire.ts";
import type { ResponsesParts } from "../responses/parts.ts";
import { prepareResponse, responseMethods } from "../responses/responses.ts";
import { type ExplainParts, explainMethod } from "./explain.ts";
import { getModel, listModels } from "./models.ts";

export interface InferenceParts {
  readonly responses: Omit<ResponsesParts, "complete" | "catalog">;
  readonly catalog: Catalog;
  readonly complete: Complete;
  readonly explain: ExplainParts;
  /** settings returns the models of requests that name none and need not. Default: the catalogue's first of the kind. */
  readonly settings: () => { readonly defaultModels: DefaultModels };
}

interface DefaultModels {
  readonly completion?: string | undefined;
  readonly embedding?: string | undefined;
}

export function inferenceService(parts: InferenceParts): ServiceImplementation<typeof InferenceService> {
  const { catalog, complete, settings, responses } = parts;
  const defaults: Defaults = {
    completions: () => ({ model: settings().defaultModels.completion ?? firstOf(catalog, "chat"), prompt: "" }),
    embeddings: () => ({ model: settings().defaultModels.embedding ?? firstOf(catalog, "embedding"), input: "" }),
  };
  return {
    createChatCompletion: (call) => complete("chat", "whole", call),
    streamChatCompletion: (call) => complete("chat", "stream", call),
    createMessage: (call) => complete("messages", "whole", call),
    streamMessage: (call) => complete("messages", "stream", call),
    countMessageTokens: (call) => complete("count_tokens", "whole", call),
    createCompletion(call) {
      const filled = withDefaults(catalog, call, defaults.completions);
      return complete("completions", "whole", filled);
    },
    streamCompletion(call) {
      const filled = withDefaults(catalog, call, defaults.completions);
      return complete("completions", "stream", filled);
    },
    createEmbeddings(call) {
      const filled = withDefaults(catalog, call, defaults.embeddings);
      return complete("embeddings", "whole", filled);
    },
    ...responseMethods({ ...responses, complete, catalog }),
    createSpeech: (call) => complete("speech", "whole", call),
    async streamSpeech(call) {
      return withEventTypes(await complete("speech", "stream", call));
    },
    explainCall: explainMethod(parts.explain, async (asked, call) => {
      if (asked === "responses") return prepareResponse(call, responses);
      const isDefaulted = asked === "completions" || asked === "embeddings";
      return isDefaulted ? withDefaults(catalog, call, defaults[asked]) : call;
    }),
    listModels: async ({ request, caller }) => listModels(catalog, caller, request.message()),
    getModel: async ({ request, caller }) => getModel(catalog, caller, request.message().id ?? ""),
  };
}

function firstOf(catalog: Catalog, kind: Model["kind"]): string {
  return catalog.list().find((model) => model.kind === kind)?.id ?? "";
}

/**
 * Defaults returns the values for fields that a request lacks, by operation. They are functions because the catalogue
 * changes.
 */
type Defaults = Readonly<Record<"completions" | "embeddings", () => Readonly<Record<string, string>>>>;

/**
 * withDefaults fills in missing fields. SPEC makes them optional, so a request is never refused for lacking one. Throws a Refusal for an object
 * that is no input.
 */
function withDefaults<I extends DescMessage>(
  catalog: Catalog,
  call: Call<I>,
  valuesNow: Defaults["completions"],
): Call<I> {
  const json = call.request.outline();
  refuseOddObjects(json);
  const values = valuesNow();
  // vLLM has vectors of a conversation, whose parts may be images: an empty text beside it would be what it takes.
  const saysOtherwise = (key: string) => key === "input" && Array.isArray(json.messages);
  const missing = Object.entries(values).filter(([key]) => (json[key] ?? null) === null && !saysOtherwise(key));
  const model = missing.find(([key]) => key === "model")?.[1];
  // The refusal names no model: the caller did not choose one.
  if (model) authorizeModel(call.caller, catalog.get(model), undefined);
  return missing.length === 0 ? call : { ...call, request: call.request.with(Object.fromEntries(missing)) };
}

/** withEventTypes sets the event type of every chunk of audio. */
function withEventTypes(answer: Answer<typeof SpeechChunkSchema>): Answer<typeof SpeechChunkSchema> {
  return answer.kind === "stream" ? { ...answer, frames: framesWithEventTypes(answer.frames) } : answer;
}

async function* framesWithEventTypes(frames: Frames<typeof SpeechChunkSchema>): Frames<typeof SpeechChunkSchema> {
  for await (const batch of frames) {
    yield batch.map((frame) => {
      const message = frame.message();
      const type = message.usage ? "speech.audio.done" : "speech.audio.delta";
      return Wire.ofMessage(SpeechChunkSchema, { ...message, type });
    });
  }
}
