/**
 * Vectors of more inputs than a server takes at once: text-embeddings-inference takes 32, Alibaba 10, and clients ask for hundreds. A
 * server that refuses a list for its length is asked for as many at a time as it says, or for half of them, one batch after another. To
 * the caller it is one answer, and one attempt, within the bounds of one: the usage is the sum, and where a batch fails, so does the whole,
 * and what the batches before have used is kept with the attempt and charged to nobody.
 *
 * Sources: https://github.com/OpenSPG/KAG/issues/669, https://github.com/Zoo-Code-Org/Zoo-Code/issues/335,
 * https://github.com/apecloud/ApeRAG/issues/716
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { EmbeddingListSchema } from "../../../../gen/modelgateway/v1/embeddings_pb.ts";
import type { Answer } from "../../../call/call.ts";
import { upstreamFailed } from "../../../call/refusals.ts";
import type { ToldUsage, Usage } from "../../../call/usage.ts";
import { isObject, objectsIn } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import type { Attempt, Meter, Speak } from "../../contract.ts";
import { asFailure } from "../../errors/fault.ts";
import { maxAnswerBytes } from "../../frames/answer-form.ts";
import { inputsOf } from "../../frames/vectors.ts";
import { maxCount } from "../../usage/count.ts";
import { type AskAgain, createAskAgain } from "./ask-again.ts";
import { bearableIn } from "./refused-inputs.ts";

type Vectors = Answer<typeof EmbeddingListSchema>;

/** mostRequests is the most requests for one list: what takes more is the caller's to divide. */
const mostRequests = 256;

/** inBatches returns a function that speaks so. It throws a Refusal. */
export function inBatches(speak: Speak<"embeddings">): Speak<"embeddings"> {
  const ask = async (attempt: Attempt<"embeddings">): Promise<Vectors> => {
    const again = createAskAgain(attempt);
    try {
      return (await speak(attempt)) as Vectors;
    } catch (error) {
      const count = inputsOf(attempt.request.outline().input ?? null);
      const size = sizeIn(error, { asked: count, left: count, requests: 1 });
      return askInBatches(attempt, size, again, speak);
    }
  };
  return ask as Speak<"embeddings">;
}

/** Refused is how many inputs were refused, how many are left with these, and how many requests were made. */
interface Refused {
  readonly asked: number;
  readonly left: number;
  readonly requests: number;
}

/** sizeIn returns how many are asked for at once next. It throws the failure where it is for anything else, or takes too many requests. */
function sizeIn(error: unknown, { asked, left, requests }: Refused): number {
  const size = bearableIn(error, asked);
  if (size === undefined || requests + Math.ceil(left / size) > mostRequests) throw error;
  return size;
}

async function askInBatches(
  attempt: Attempt<"embeddings">,
  first: number,
  again: AskAgain,
  speak: Speak<"embeddings">,
): Promise<Vectors> {
  const inputs = attempt.request.json().input as JsonValue[];
  const used = new UsedSoFar();
  const answers = new JoinedAnswers();
  let size = first;
  let requests = 1;
  try {
    for (let from = 0; from < inputs.length; ) {
      const batch = inputs.slice(from, from + size);
      const asked = await again(batch);
      requests++;
      try {
        const answer = await speak({ ...asked, meter: used.from(from, attempt.meter) });
        await answers.add(answer as Vectors, from);
        from += batch.length;
      } catch (error) {
        size = sizeIn(error, { asked: batch.length, left: inputs.length - from, requests });
      }
    }
  } catch (error) {
    const { sum } = used;
    if (sum) attempt.record.told = usageOf(sum);
    throw error;
  }
  if (used.sum && used.batches === answers.count) attempt.meter.reportUsage(used.sum);
  return answers.joined();
}

/** UsedSoFar sums what batches use. */
class UsedSoFar {
  /** The usage that the server told of each batch, by the place of the batch's first input. */
  readonly #told = new Map<number, ToldUsage>();

  /** from returns the meter of the batch that begins at a place. */
  from(place: number, meter: Meter): Meter {
    this.#told.delete(place);
    const take = (usage: ToldUsage) => this.#told.set(place, { ...this.#told.get(place), ...usage });
    return {
      reportUsage: take,
      countText: (text) => meter.countText(text),
      reportGivenUp: () => meter.reportGivenUp(),
      reportEnd: () => meter.reportEnd(),
    };
  }

  /** batches is how many have told their usage: a part of it would be charged for the whole. */
  get batches(): number {
    return this.#told.size;
  }

  get sum(): ToldUsage | undefined {
    const told = [...this.#told.values()].map((usage) => ({ ...usage }) as JsonObject);
    return told.length > 0 ? (told.reduce(added) as ToldUsage) : undefined;
  }
}

/** usageOf returns the counts of what was told. */
function usageOf({ input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning }: ToldUsage): Usage {
  const counts = { input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning };
  const known = Object.entries(counts).map(([part, count = 0]) => [part, Math.min(count, maxCount)] as const);
  return Object.fromEntries(known) as unknown as Usage;
}

/** JoinedAnswers makes one answer of those of the batches. Long ones are read and written in time slices. */
class JoinedAnswers {
  readonly #data: JsonObject[] = [];
  #first: JsonObject = {};
  #headers: Vectors["headers"];
  #usages: JsonObject[] = [];
  #bytes = 0;
  count = 0;

  /** Adds the answer for the inputs from a place on. Rejects with a Refusal where all are longer than one answer may be. */
  async add(answer: Vectors, from: number): Promise<void> {
    if (answer.kind !== "whole") throw upstreamFailed("it answered with a stream");
    const { data, usage, ...others } = await this.#read(answer.body);
    if (this.count++ === 0) {
      this.#first = others;
      this.#headers = answer.headers;
    }
    if (isObject(usage)) this.#usages.push(usage);
    const items = objectsIn(data);
    for (const [position, item] of items.entries()) this.#data.push({ ...item, index: from + placeOf(item, position) });
  }

  async #read(answer: Wire<typeof EmbeddingListSchema>): Promise<JsonObject> {
    const written = await answer.writeInSlices();
    this.#bytes += written.byteLength;
    if (this.#bytes > maxAnswerBytes) throw upstreamFailed("its answer is too large");
    try {
      return (await written.parseInSlices()).json();
    } catch (error) {
      // Its vectors were not read before.
      throw asFailure(error);
    }
  }

  async joined(): Promise<Vectors> {
    const usage = this.#usages.length === this.count ? { usage: this.#usages.reduce(added) } : {};
    const json = { ...this.#first, data: this.#data, ...usage };
    const body = await Wire.ofJson(EmbeddingListSchema, json, true).writeInSlices();
    return this.#headers ? { kind: "whole", body, headers: this.#headers } : { kind: "whole", body };
  }
}

/** placeOf returns the place of a vector among those of its answer. */
function placeOf({ index = null }: JsonObject, position: number): number {
  return index !== null && Number.isSafeInteger(Number(index)) ? Number(index) : position;
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
