/** A stream that an upstream begins at once, and ends when a test lets it. */
import { eventStream, type ScriptedExchange } from "../scripted-upstream.ts";
import { chatChunk, chatUsage, done, openaiFrames, usageChunk } from "../vendors.ts";

/** wholeStream is what a caller reads of it. */
export const wholeStream = /"Hel".*"lo".*data: \[DONE\]\n\n$/s;

/** streamCost is what it costs, at a price of 1 and 2 for a token. */
export const streamCost = chatUsage.prompt_tokens + 2 * chatUsage.completion_tokens;

/** streamUntil returns a script of an upstream whose streams end when `mayEnd` resolves. */
export function streamUntil(mayEnd: Promise<void>): (exchange: ScriptedExchange) => Promise<void> {
  return async (exchange) => {
    exchange.head(200, eventStream);
    await exchange.write(openaiFrames(chatChunk({ role: "assistant", content: "Hel" })));
    await mayEnd;
    await exchange.write(openaiFrames(chatChunk({ content: "lo" }), chatChunk({}, "stop"), usageChunk()));
    exchange.end(done);
  };
}
