/**
 * The members that stand at the head of every answer of OpenAI's and Anthropic's: its id, its type, when it was made, and by which model.
 * Servers that resemble theirs leave some out, as GitHub's do in the first chunk of a stream, or have fractions of seconds. Clients in typed
 * languages read no answer without them.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Form, Operation } from "../../call/operations.ts";
import { scalarText } from "../../wire/json.ts";
import type { Attempt } from "../contract.ts";
import { seconds } from "./native/answers.ts";

/** types are those of answers, by operation and form. Other operations have no head, or one that is completed elsewhere. */
const types: ReadonlyMap<Operation, Readonly<Record<Form, string>>> = new Map([
  ["chat", { whole: "chat.completion", stream: "chat.completion.chunk" }],
  ["completions", { whole: "text_completion", stream: "text_completion" }],
]);

export type Answered = Pick<Attempt, "id" | "operation" | "model">;

/** AnswerHead returns the members of the head that an answer, or a chunk of one, lacks or has in another type; undefined where it has all. */
export type AnswerHead = (told: JsonObject) => JsonObject | undefined;

/** chatIdOf returns the id of the chat that answers a call, where its server has none. */
export function chatIdOf(callId: string): string {
  return `chatcmpl-${callId.replace(/^req_/, "")}`;
}

/** createHead returns a function for one answer, all chunks of which get the same head: what an earlier one told, where one did. */
export function createHead(form: Form, { id: callId, operation, model }: Answered): AnswerHead {
  const object = types.get(operation)?.[form];
  if (object === undefined) return () => undefined;
  let known: JsonObject | undefined;
  return (told) => {
    const { id, created } = told;
    const isWhole = typeof id === "string" && Number.isInteger(created) && typeof told.model === "string";
    if (isWhole && typeof told.object === "string") {
      known ??= told;
      return undefined;
    }
    const usual: JsonObject = {
      id: textOr(id, () => textOr(known?.id, () => chatIdOf(callId))),
      object: textOr(told.object, () => object),
      created: secondsIn(created) ?? secondsIn(known?.created) ?? seconds(),
      model: textOr(told.model, () => textOr(known?.model, () => model)),
    };
    known = usual;
    return Object.fromEntries(Object.entries(usual).filter(([key, value]) => value !== told[key]));
  };
}

function textOr(told: JsonValue | undefined, otherwise: () => string): string {
  return typeof told === "string" ? told : scalarText(told) || otherwise();
}

/** secondsIn returns a time in whole seconds; undefined where none is told. */
export function secondsIn(told: JsonValue = null): number | undefined {
  const read = typeof told === "string" && told !== "" ? Number(told) : told;
  return typeof read === "number" && Number.isFinite(read) ? Math.floor(read) : undefined;
}
