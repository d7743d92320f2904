/**
 * How vendors say that a conversation does not fit the model, each in the words that the other family's clients look
 * for: they shorten it and try again.
 */

/** The refusal's own words in either family. */
export interface OverflowWords {
  readonly param: "messages";
  readonly openaiCode: "context_length_exceeded";
  /** The message as Anthropic's clients know it. */
  readonly vendorMessage: string;
}

/** Codes and types of the OpenAI family; servers like it say it in their message only. */
const codes: ReadonlySet<unknown> = new Set(["context_length_exceeded", "exceed_context_size_error"]);
const openai = /maximum context length|exceeds? the (?:available |model's )?context (?:size|length|window)/i;
/** "This model's maximum context length is 8 tokens. However, your messages resulted in 9 tokens." */
const counts = /maximum context length is (\d+) tokens.{0,80}?(\d+) tokens/is;
const anthropic = /^prompt is too long\b|exceeds? context limit/i;

interface VendorError {
  readonly message: string;
  readonly code?: unknown;
  readonly type?: unknown;
}

/** Returns nothing where the error is another. */
export function overflowWords({ message, code, type }: VendorError): OverflowWords | undefined {
  const isAnthropic = anthropic.test(message);
  if (!isAnthropic && !codes.has(code) && !codes.has(type) && !openai.test(message)) return undefined;
  return {
    param: "messages",
    openaiCode: "context_length_exceeded",
    vendorMessage: isAnthropic ? message : `prompt is too long: ${countsIn(message) ?? message}`,
  };
}

function countsIn(message: string): string | undefined {
  const [, most, sent] = counts.exec(message) ?? [];
  return sent && `${sent} tokens > ${most} maximum`;
}
