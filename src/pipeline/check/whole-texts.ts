/**
 * Accepts requests to models with lone surrogates in their texts, which become U+FFFD. Agents cut outputs of tools through emoji, and send the
 * half in each turn from then on: vendors refuse the whole request for it, and the conversation is lost.
 * Source: https://github.com/anthropics/claude-code/issues/69927
 *
 * Only a request that is refused for it is looked through. Nothing has been done for it then: texts are checked before all else.
 */
import type { Answer, Call, Handler } from "../../call/call.ts";
import { isModelRequest } from "../../families/foreign-bodies/foreign-bodies.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import { catchError } from "../../runtime/maybe-promise.ts";
import { isLoneSurrogate } from "../../wire/json.ts";
import { withWholeCharacters } from "../../wire/scan/lone-surrogates.ts";
import { Wire } from "../../wire/wire.ts";

/** withWholeTexts wraps a handler that validates the request first. It throws what the handler throws. */
export function withWholeTexts(handle: Handler): Handler {
  return (call) =>
    catchError(
      () => handle(call),
      (error) => {
        if (!isLoneSurrogate(error) || !isModelRequest(call.request.desc)) throw error;
        return handleWhole(handle, call, error);
      },
    );
}

async function handleWhole(handle: Handler, call: Call, error: unknown): Promise<Answer> {
  const { request } = call;
  const text = await runCooperatively(withWholeCharacters(request.bytes()), request.isLong);
  if (!text) throw error;
  const whole = Wire.ofBytes(request.desc, text);
  return handle({ ...call, request: request.isLong ? await whole.parseInSlices() : whole });
}
