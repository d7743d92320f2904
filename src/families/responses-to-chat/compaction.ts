/**
 * A conversation that has grown too long ↔ the one item that stands for it.
 *
 * A request whose last item is a `compaction_trigger` asks for that item and nothing else: the model summarises the
 * conversation, without tools, and the summary becomes the item's `encrypted_content`. Callers keep it and send it
 * back unread, to any target. It is neither secret nor encrypted. Another server's item is dropped and named.
 */
import type { AssistantMessage } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { CreateResponseRequest, ResponseItem } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { JsonObject } from "../../wire/json.ts";
import { readChatOutput, summaryIn } from "../chat-output.ts";

const mark = "summary:";

const askForSummary = `The conversation has grown too long and goes on from a summary of it. Write this summary now, for the model \
that goes on with the work, and nothing else. Say what the user wants, with every wish and limit that still holds, in the user's \
own words where they matter; what was done and decided, and why; what was found out: files, names, commands, values, errors, \
as they are; what is left to do, and the next step. Leave out what no longer matters.`;

/** The beginning of a message that holds a summary. */
export const summaryFollows = "The conversation so far, in a summary that was made of it:";

/** The types of the item that stands for a conversation. */
export const compactionTypes: ReadonlySet<string> = new Set(["compaction", "compaction_summary", "context_compaction"]);

export function isTrigger({ extra }: ResponseItem): boolean {
  return extra?.type === "compaction_trigger";
}

export function isCompacted({ extra }: ResponseItem): boolean {
  return typeof extra?.type === "string" && compactionTypes.has(extra.type);
}

/** asksToCompact reports whether a request asks for the item that stands for its conversation. */
export function asksToCompact({ input }: CreateResponseRequest): boolean {
  const last = input.case === "inputItems" ? input.value.items.at(-1) : undefined;
  return last !== undefined && isTrigger(last);
}

export function summaryRequest(): JsonObject {
  return { role: "user", content: askForSummary };
}

/** summaryMessage returns the model's message for a compacted conversation; undefined where another server compacted it. */
export function summaryMessage({ encryptedContent = "" }: ResponseItem): JsonObject | undefined {
  return summaryOf(encryptedContent);
}

/** summaryOf returns the same from the item's `encrypted_content`. */
export function summaryOf(hidden: string): JsonObject | undefined {
  if (!hidden.startsWith(mark)) return undefined;
  const summary = Buffer.from(hidden.slice(mark.length), "base64url").toString();
  return { role: "user", content: `${summaryFollows}\n\n${summary}` };
}

/** Compaction collects the model's text and reports it as one item at the end. */
export class Compaction {
  readonly #id: string;
  readonly refused = false;
  #texts: string[] = [];
  #items: JsonObject[] = [];

  constructor(answerId: string) {
    this.#id = `cmp_${answerId}_0`;
  }

  take(message: AssistantMessage | undefined): JsonObject[] {
    this.#texts.push(readChatOutput(message).text);
    return [];
  }

  /** Throws a Refusal for an empty summary. */
  end(): JsonObject[] {
    const summary = summaryIn(this.#texts.join(""));
    const item = {
      id: this.#id,
      type: "compaction",
      encrypted_content: mark + Buffer.from(summary).toString("base64url"),
    };
    this.#items = [item];
    const { encrypted_content: _, ...begun } = item;
    return [
      { type: "response.output_item.added", output_index: 0, item: { ...begun, encrypted_content: "" } },
      { type: "response.output_item.done", output_index: 0, item },
    ];
  }

  json(): JsonObject[] {
    return this.#items;
  }
}
