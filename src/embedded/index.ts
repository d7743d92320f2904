/**
 * The embedded models: answers made in this process, without a network, the same for the same request.
 *
 * `embedded-embedding` makes vectors of texts. `embedded-chat` is a chat simulator for client developers; it can be told to be slow or to fail (`docs/embedded-models.md`). The speech models are in `speech/`.
 */
import type { Answer } from "../call/call.ts";
import type { Form, Output } from "../call/operations.ts";
import { type Attempt, type Provider, type Speak, wrapEverySpeak } from "../providers/contract.ts";
import { loadTokenizer } from "../tokens/tokenizer.ts";
import { wholeAnswer } from "./chat/answer.ts";
import { generate } from "./chat/chat.ts";
import { simulateBefore, simulationOf } from "./chat/simulate.ts";
import { streamedAnswer } from "./chat/stream.ts";
import { embed } from "./embeddings/index.ts";
import { createSpeech, isSpeechModel } from "./speech/index.ts";
import { withTimeouts } from "./timeouts.ts";

export interface EmbeddedOptions {
  /** Returns milliseconds since 1970. */
  readonly clock: () => number;
}

export function createEmbeddedProvider(options: EmbeddedOptions): Provider {
  const speech = createSpeech();
  const chat = (attempt: Attempt<"chat">) => answerChat(attempt, options);
  const provider: Provider = {
    // The form of the answer follows the attempt's, which types cannot express of a branch.
    kind: "embedded",
    speaks: {
      chat: chat as Speak<"chat">,
      embeddings: embed as Speak<"embeddings">,
      speech: speech.speak as Speak<"speech">,
    },
    async warm(models) {
      // A failure is ignored: the call that needs it tries again and reports it.
      if (models.some(isSpeechModel)) await speech.warm().catch(() => {});
    },
    // Nothing else outlives its call.
    close: () => speech.close(),
  };
  return wrapEverySpeak(provider, withTimeouts);
}

async function answerChat(attempt: Attempt<"chat">, { clock }: EmbeddedOptions): Promise<Answer<Output<"chat", Form>>> {
  const { request, form, model, signal, meter } = attempt;
  const { metadata, streamOptions } = request.message();
  const simulation = simulationOf(metadata);
  await simulateBefore(simulation, form, signal);
  const answer = await generate(request, await loadTokenizer(), signal);
  const head = { model, created: Math.floor(clock() / 1000) };
  meter.reportUsage({ input: answer.promptTokens });
  if (form === "whole") {
    meter.reportUsage({ output: answer.completionTokens });
    return { kind: "whole", body: wholeAnswer(answer, head) };
  }
  const includeUsage = streamOptions?.includeUsage ?? false;
  return { kind: "stream", frames: streamedAnswer(answer, head, { includeUsage, simulation, signal, meter }) };
}
