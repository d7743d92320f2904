/**
 * A response → a chat completion, with every key that strict clients require.
 *
 * Items without a counterpart in a chat message, such as the vendor's own tools at work, are left out.
 */
import { upstreamFailed } from "../../../call/refusals.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
import { completionJson, type Said } from "../../chat-answers/completion.ts";
import {
  type AnswerContext,
  betweenMessages,
  callOf,
  finishOf,
  isCall,
  logprobsOf,
  reasoningBlock,
  reasoningIn,
  sourcesIn,
  textIn,
} from "./parts.ts";
import { chatUsage } from "./usage.ts";

/** chatCompletion throws a Refusal for an empty answer. */
export function chatCompletion(response: JsonObject, context: AnswerContext): JsonObject {
  const { output, model, service_tier: tier } = response;
  if (!Array.isArray(output)) throw upstreamFailed("its answer is empty");
  const draft = new Draft(context);
  for (const item of output) if (isObject(item)) draft.add(item);
  const usage = chatUsage(response);
  const finish = finishOf(response, draft.hasCalls, context);
  const head = { ...context, model: textOrEmpty(model) || context.model };
  const beside = { ...(usage ? { usage } : {}), ...(typeof tier === "string" ? { service_tier: tier } : {}) };
  return completionJson(head, draft.said(), { logprobs: draft.logprobs(), finish, beside });
}

class Draft {
  readonly #context: AnswerContext;
  readonly #texts: string[] = [];
  #refusal = "";
  readonly #reasoning: string[] = [];
  readonly #blocks: JsonObject[] = [];
  readonly #annotations: JsonObject[] = [];
  readonly #tokens: JsonValue[] = [];
  readonly #calls: JsonObject[] = [];

  constructor(context: AnswerContext) {
    this.#context = context;
  }

  get hasCalls(): boolean {
    return this.#calls.length > 0;
  }

  add(item: JsonObject): void {
    if (isCall(item)) this.#calls.push(callOf(item, true));
    else if (item.type === "message") this.#say(item);
    else if (item.type === "reasoning") this.#reason(item);
  }

  #say({ content }: JsonObject): void {
    this.#texts.push(textIn(content, ["output_text", "text"], "text"));
    this.#refusal += textIn(content, ["refusal"], "refusal");
    if (!Array.isArray(content)) return;
    for (const { annotations, logprobs } of content.filter(isObject)) {
      this.#annotations.push(...sourcesIn(annotations));
      if (Array.isArray(logprobs)) this.#tokens.push(...logprobs);
    }
  }

  #reason(item: JsonObject): void {
    const text = reasoningIn(item);
    if (text !== "") this.#reasoning.push(text);
    const block = reasoningBlock(item, this.#calls.length, this.#context.maker);
    if (block) this.#blocks.push(block);
  }

  said(): Said {
    const [first] = this.#calls;
    const legacy = this.#context.isLegacy && isObject(first?.function) ? first.function : undefined;
    return {
      text: this.#texts.filter((one) => one !== "").join(betweenMessages),
      refusal: this.#refusal || null,
      reasoning: this.#reasoning.join("\n\n"),
      thinkingBlocks: this.#blocks,
      annotations: this.#annotations,
      toolCalls: legacy ? [] : this.#calls,
      functionCall: legacy,
    };
  }

  logprobs(): JsonObject | null {
    return logprobsOf(this.#tokens);
  }
}
