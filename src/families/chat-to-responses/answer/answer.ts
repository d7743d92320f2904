/**
 * A response → a chat completion, with every key that strict clients require.
 *
 * Items without a counterpart in a chat message, such as the vendor's own tools at work, are left out.
 */
import { upstreamFailed } from "../../../call/refusals.ts";
import { isObject, type JsonObject, type JsonValue, textOrEmpty } from "../../../wire/json.ts";
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
  return {
    id: context.id,
    object: "chat.completion",
    created: context.created,
    model: textOrEmpty(model) || context.model,
    choices: [{ index: 0, message: draft.message(), logprobs: draft.logprobs(), finish_reason: finish }],
    ...(usage ? { usage } : {}),
    ...(typeof tier === "string" ? { service_tier: tier } : {}),
  };
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

  message(): JsonObject {
    const text = this.#texts.filter((one) => one !== "").join(betweenMessages);
    const isSilent = text === "" && (this.hasCalls || this.#refusal !== "");
    const [first] = this.#calls;
    const isLegacy = this.#context.isLegacy && first !== undefined && isObject(first.function);
    return {
      role: "assistant",
      content: isSilent ? null : text,
      refusal: this.#refusal || null,
      ...(this.#reasoning.length > 0 ? { reasoning_content: this.#reasoning.join("\n\n") } : {}),
      ...(this.#blocks.length > 0 ? { thinking_blocks: this.#blocks } : {}),
      ...(this.#annotations.length > 0 ? { annotations: this.#annotations } : {}),
      ...(this.hasCalls && !isLegacy ? { tool_calls: this.#calls } : {}),
      ...(isLegacy ? { function_call: first.function as JsonObject } : {}),
    };
  }

  logprobs(): JsonObject | null {
    return logprobsOf(this.#tokens);
  }
}
