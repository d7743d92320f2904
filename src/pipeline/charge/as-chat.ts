/** Translates a request of another family to chat, to count its tokens without asking an upstream. */

import type { Input } from "../../call/operations.ts";
import { messagesToChat } from "../../families/messages-to-chat/index.ts";
import { responsesToChat } from "../../families/responses-to-chat/index.ts";
import type { Translation } from "../../families/translation.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import { estimatePromptTokens as estimateTokens } from "../../tokens/prompt.ts";
import type { Wire } from "../../wire/wire.ts";

const translations = { messages: messagesToChat, responses: responsesToChat } as const;
const context = { form: "whole", maxOutputTokens: undefined, answerId: "", now: 0, estimateTokens } as const;

/** asChat translates a request to chat, a long one in time slices. Rejects with a Refusal. */
export async function asChat<O extends keyof typeof translations>(
  family: O,
  request: Wire<Input<O>>,
): Promise<Wire<Input<"chat">>> {
  const translation = translations[family] as unknown as Translation<O, "chat">;
  const translated = await runCooperatively(translation.translate(request, context), request.isLong);
  return translated.request;
}
