/**
 * Joins the completions of several prompts into one.
 *
 * Choices are numbered on from prompt to prompt, `n` for each; the usage is the sum. All pieces of a stream have the
 * same time and model.
 */
import { CompletionSchema } from "../../../../gen/modelgateway/v1/completions_pb.ts";
import type { Frames } from "../../../call/call.ts";
import { isObject, type JsonObject, type JsonValue } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";

type Completion = Wire<typeof CompletionSchema>;

/** joinCompletions takes the completions in the order of their prompts. `n` is the number of choices per prompt. */
export function joinCompletions(completions: readonly Completion[], n: number): Completion {
  const parts = completions.map((completion) => completion.json());
  const usages = parts.flatMap(({ usage }) => (usage ? [usage as JsonObject] : []));
  const choices = parts.flatMap((part, prompt) => placedChoices(part, prompt * n));
  const usage = usages.length > 0 ? { usage: usages.reduce(added) } : {};
  return Wire.ofJson(CompletionSchema, { ...parts[0], choices, ...usage }, true);
}

/** CompletionJoin joins the streams of completions, whose pieces may come in any order. */
export class CompletionJoin {
  readonly #n: number;
  #head: JsonObject | undefined;
  #usage: JsonObject | undefined;

  constructor(n: number) {
    this.#n = n;
  }

  /** Returns the pieces of one prompt, by index, as pieces of the joined stream, without usage. */
  async *of(prompt: number, frames: Frames<typeof CompletionSchema>): Frames<typeof CompletionSchema> {
    for await (const batch of frames) {
      const pieces = batch.flatMap((piece) => this.#joined(prompt, piece.json()));
      if (pieces.length > 0) yield pieces;
    }
  }

  /** Returns the piece that ends the stream: the usage, where any was reported. */
  atEnd(): Completion[] {
    if (!this.#usage) return [];
    const json = { object: "text_completion", ...this.#head, choices: [], usage: this.#usage };
    return [Wire.ofJson(CompletionSchema, json, true)];
  }

  #joined(prompt: number, piece: JsonObject): Completion[] {
    const { id, created, model, usage } = piece as { [key: string]: JsonValue };
    this.#head ??= { id, created, model } as JsonObject;
    if (usage) {
      this.#usage = added(this.#usage ?? {}, usage as JsonObject);
      return [];
    }
    const choices = placedChoices(piece, prompt * this.#n);
    return [Wire.ofJson(CompletionSchema, { ...piece, ...this.#head, choices }, true)];
  }
}

function placedChoices({ choices }: JsonObject, from: number): JsonObject[] {
  if (!Array.isArray(choices)) return [];
  return (choices as JsonObject[]).map((choice) => ({ ...choice, index: from + (choice.index as number) }));
}

/** added adds the counts of the same names, nested ones included. */
function added(sum: JsonObject, more: JsonObject): JsonObject {
  const total = { ...sum };
  for (const [key, value] of Object.entries(more)) {
    if (key === "__proto__") continue;
    const known = (Object.hasOwn(total, key) ? total[key] : undefined) ?? null;
    if (typeof known === "number" && typeof value === "number") total[key] = known + value;
    else if (isObject(known) && isObject(value)) total[key] = added(known, value);
    else if (value !== null) total[key] = value;
  }
  return total;
}
