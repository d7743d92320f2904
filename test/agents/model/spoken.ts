/** What a family's API is to the model of the agents' test. */
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import type { Asked, Reply } from "./plan.ts";

export type Body = Readonly<Record<string, unknown>>;

export interface Spoken {
  read(body: Body): Asked;
  /** Returns what its server answers to what it refuses; undefined where it takes the request. */
  refuses(body: Body): object | undefined;
  /** Answers, whole or as a stream, as the request asks. `id` is another for each answer. */
  answer(exchange: ScriptedExchange, body: Body, reply: Reply, id: string): void;
}

/** Returns the texts in content of any family: a text, or a list of parts, in results too. */
export function textsOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return (content as readonly Body[])
    .map(({ text, content, input }) => `${text ?? ""}${textsOf(content)}${input ? JSON.stringify(input) : ""}`)
    .join("\n");
}

/** Cuts a text in pieces, as a stream tells it. */
export function cut(text: string): string[] {
  return text.match(/.{1,12}/gsu) ?? [];
}
