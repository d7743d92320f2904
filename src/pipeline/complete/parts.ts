/**
 * The parts of a call: a text completion of several prompts, on a chat model, is one request to the upstream for each prompt.
 * Every other call is one part.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Call } from "../../call/call.ts";
import type { Input } from "../../call/operations.ts";
import { promptTexts } from "../../families/completions-to-chat/request/prompt.ts";
import type { Wire } from "../../wire/wire.ts";
import type { TranslationPath } from "../attempt/translation-paths.ts";

/** isAskedByPrompt reports whether each prompt is asked by itself: where a completion is translated, it becomes a chat of one prompt. */
export function isAskedByPrompt([first]: TranslationPath): boolean {
  return first?.from === "completions";
}

/** completionOf returns the request of a call that is asked by prompt. */
export function completionOf(call: Call): Wire<Input<"completions">> {
  return call.request as Wire<Input<"completions">>;
}

/** countParts returns of how many requests to an upstream a call consists. Throws a Refusal. */
export function countParts(path: TranslationPath, call: Call): number {
  return isAskedByPrompt(path) ? promptTexts(completionOf(call).message().prompt).length : 1;
}

/** firstPart returns the call as its first part. Throws a Refusal. */
export function firstPart(path: TranslationPath, call: Call): Call {
  if (!isAskedByPrompt(path)) return call;
  const request = completionOf(call);
  const [prompt = "", ...others] = promptTexts(request.message().prompt);
  return others.length === 0 ? call : { ...call, request: request.with({ prompt }) as Wire<DescMessage> };
}
