/** Settings of a chat request that no request for a response has. Default values are dropped silently. */
import { CreateChatCompletionRequestSchema } from "../../../../gen/modelgateway/v1/chat_pb.ts";
import { invalidValue } from "../../../call/refusals.ts";
import { isFilled, isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import type { Dropped } from "../../paths/dropped.ts";

/** refuseImpossible throws a Refusal for what no response could have. */
export function refuseImpossible({ n }: JsonObject): void {
  if (typeof n === "number" && n > 1) throw invalidValue("n", "this model gives one choice; leave it out, or send 1");
}

const isNotZero = (value: JsonValue) => value !== 0;
const isAny = () => true;

/** Settings without a counterpart, each with a test for a value other than the default. */
const unsupported: ReadonlyMap<string, (value: JsonValue) => boolean> = new Map(
  Object.entries({
    audio: isAny,
    frequency_penalty: isNotZero,
    presence_penalty: isNotZero,
    logit_bias: isFilled,
    modalities: (value: JsonValue) => Array.isArray(value) && value.some((one) => one !== "text"),
    prediction: isAny,
    seed: isAny,
    stop: isFilled,
    store: (value: JsonValue) => value === true,
  }),
);

const isRead: ReadonlySet<string> = new Set(["reasoning", "prompt_cache_options"]);
const named: ReadonlySet<string> = new Set(CreateChatCompletionRequestSchema.members.map(({ name }) => name));

export function dropUnsupported(chat: JsonObject, dropped: Dropped): void {
  for (const [key, value] of Object.entries(chat)) {
    if (value === null) continue;
    if (unsupported.get(key)?.(value)) dropped.add(key);
    // `reasoning` is read where it is an object.
    else if (!named.has(key) && !(isRead.has(key) && isObject(value))) dropped.addExtra({ [key]: value }, "");
  }
  const { stream_options: options } = chat;
  if (isObject(options)) dropped.addExtra(options, "stream_options", ["include_usage"]);
}
