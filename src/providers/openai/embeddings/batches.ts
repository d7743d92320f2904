/**
 * Vectors of more inputs than a server takes at once: text-embeddings-inference takes 32, Alibaba 10, and clients ask for hundreds. A server that
 * refuses a list for its length is asked for as many at a time as it says, or for half of them, one batch after another. To the caller it is
 * one answer, and one attempt: the usage is the sum, and where a batch fails, so does the whole, with what the batches before have used told.
 *
 * Sources: https://github.com/OpenSPG/KAG/issues/669, https://github.com/Zoo-Code-Org/Zoo-Code/issues/335,
 * https://github.com/apecloud/ApeRAG/issues/716
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { EmbeddingListSchema } from "../../../../gen/modelgateway/v1/embeddings_pb.ts";
import type { Answer } from "../../../call/call.ts";
import { Refusal, upstreamFailed } from "../../../call/refusals.ts";
import type { ToldUsage } from "../../../call/usage.ts";
import { isObject } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import type { Attempt, Meter, Speak } from "../../contract.ts";

type Vectors = Answer<typeof EmbeddingListSchema>;

/** mostBatches is the most requests for one call: what takes more is the caller's to divide. */
const mostBatches = 256;

/** inBatches returns a function that speaks so. It throws a Refusal. */
export function inBatches(speak: Speak<"embeddings">): Speak<"embeddings"> {
  const ask = async (attempt: Attempt<"embeddings">): Promise<Vectors> => {
    try {
      return (await speak(attempt)) as Vectors;
    } catch (error) {
      const inputs = attempt.request.outline().input;
      const size = Array.isArray(inputs) ? sizeIn(error, inputs.length) : undefined;
      if (size === undefined) throw error;
      return askInBatches(attempt, size, ask);
    }
  };
  return ask as Speak<"embeddings">;
}

/** How servers say that a list is too long: in English, and in Chinese. What they say of the length of a text is another matter. */
const saysTooMany =
  /\bbatch(?:es)?\b|\b(?:too many|number of|at most \d+|maximum of \d+|up to \d+) (?:inputs?|texts?|items?|documents?)\b|\barray too long\b|(?:数组|批量|批次).{0,30}(?:最大|超过|大于)/i;
/** The statuses of a refusal for what a request holds. */
const statuses: ReadonlySet<number> = new Set([400, 413, 422]);
const maxSaid = 2_000;

/** sizeIn returns how many of these inputs may be asked for at once; undefined where a failure is for anything else. */
function sizeIn(error: unknown, inputs: number): number | undefined {
  if (!(error instanceof Refusal) || !statuses.has(error.status) || inputs < 2) return undefined;
  const said = error.message.slice(0, maxSaid);
  if (!saysTooMany.test(said)) return undefined;
  const numbers = (said.match(/(?<![\d.,])\d{1,4}(?![\d]|[.,]\d)/g) ?? []).map(Number);
  const fewer = numbers.filter((number) => number >= 1 && number < inputs);
  const size = fewer.length > 0 ? Math.max(...fewer) : Math.ceil(inputs / 2);
  return Math.ceil(inputs / size) <= mostBatches ? size : undefined;
}

async function askInBatches(
  attempt: Attempt<"embeddings">,
  size: number,
  ask: (attempt: Attempt<"embeddings">) => Promise<Vectors>,
): Promise<Vectors> {
  const inputs = attempt.request.json().input as JsonValue[];
  const rest = attempt.request.with({ input: "" }); // So that no batch costs the reading of them all.
  const used = new UsedSoFar();
  const answers: JsonObject[] = [];
  let headers: Vectors["headers"];
  try {
    for (let from = 0; from < inputs.length; from += size) {
      const request = rest.with({ input: inputs.slice(from, from + size) });
      const answer = await ask({ ...attempt, request, meter: used.next(attempt.meter) });
      if (answer.kind !== "whole") throw upstreamFailed("it answered with a stream");
      answers.push(placed(answer.body.json(), from));
      headers ??= answer.headers;
    }
  } catch (error) {
    if (used.sum) attempt.meter.reportUsage(used.sum);
    throw error;
  }
  if (used.sum && used.isWhole) attempt.meter.reportUsage(used.sum);
  const body = Wire.ofJson(EmbeddingListSchema, joined(answers), true);
  return headers ? { kind: "whole", body, headers } : { kind: "whole", body };
}

/** UsedSoFar sums what batches use. */
class UsedSoFar {
  readonly #told: ToldUsage[] = [];
  #batches = 0;

  /** next returns the meter of the next batch. */
  next(meter: Meter): Meter {
    const place = this.#batches++;
    const take = (usage: ToldUsage) => {
      this.#told[place] = { ...this.#told[place], ...usage };
    };
    return {
      reportUsage: take,
      countText: (text) => meter.countText(text),
      reportGivenUp: () => meter.reportGivenUp(),
      reportEnd: () => meter.reportEnd(),
    };
  }

  /** isWhole is whether each batch has told its usage: a part of it would be charged for the whole. */
  get isWhole(): boolean {
    return Object.keys(this.#told).length === this.#batches;
  }

  get sum(): ToldUsage | undefined {
    const told = Object.values(this.#told);
    return told.length > 0 ? (told.map((usage) => ({ ...usage }) as JsonObject).reduce(added) as ToldUsage) : undefined;
  }
}

/** placed returns an answer with the places of its vectors among all. */
function placed(answer: JsonObject, from: number): JsonObject {
  const data = Array.isArray(answer.data) ? answer.data.filter(isObject) : [];
  const placeOf = ({ index = null }: JsonObject, position: number) =>
    index !== null && Number.isSafeInteger(Number(index)) ? Number(index) : position;
  return { ...answer, data: data.map((item, position) => ({ ...item, index: from + placeOf(item, position) })) };
}

function joined(answers: readonly JsonObject[]): JsonObject {
  const { usage: _, ...first } = answers[0] ?? {};
  const usages = answers.map(({ usage }) => usage).filter(isObject);
  const data = answers.flatMap((answer) => answer.data as JsonValue[]);
  return { ...first, data, ...(usages.length === answers.length ? { usage: usages.reduce(added) } : {}) };
}

/** added returns the sums of the counts of both, and what else the first has. */
function added(one: JsonObject, other: JsonObject): JsonObject {
  const sums = Object.entries(other).map(([key, value]) => {
    const before = one[key];
    if (typeof value === "number") return [key, typeof before === "number" ? before + value : value] as const;
    return [key, isObject(value) && isObject(before) ? added(before, value) : (before ?? value)] as const;
  });
  return { ...one, ...Object.fromEntries(sums) };
}
