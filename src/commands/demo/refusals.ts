/** A month of refused calls for the demo: a few each day, and a client that ran into its rate one afternoon. */
import { Reason } from "../../call/refusals.ts";
import { idOf } from "../../runtime/ids.ts";
import type { RefusedCall, RefusedCount } from "../../storage/calls/refused.ts";
import type { Storage } from "../../storage/storage.ts";
import { createRandom, type Random } from "./random.ts";
import { type Caller, days } from "./traffic.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const seed = 20_261_127;
/** batch is how many calls, and how many counts, are written at once. */
const batch = 50;
/** listed is how many refused calls of an account are listed one by one. */
const listed = 120;
/** The afternoon in which a client of a large account asks too fast, in days before now, and its hours by UTC. */
const burst = { daysAgo: 4, hours: [13, 14, 15], calls: 340, least: 8 } as const;

/** kinds are the refusals that come now and then, the frequent ones first. */
const kinds = [
  [Reason.RATE_LIMITED, 429, "Rate limit reached: the account is allowed 600 requests a minute. Try again in 2 s."],
  [Reason.RATE_LIMITED, 429, "Rate limit reached: the account is allowed 600 requests a minute. Try again in 5 s."],
  [Reason.INVALID_VALUE, 400, "temperature"],
  [Reason.MODEL_NOT_FOUND, 404, "model"],
  [Reason.MODEL_NOT_PERMITTED, 403, "model"],
  [
    Reason.INSUFFICIENT_CREDIT,
    402,
    "This call needs at least 0.042 and 0.013 is left of the API key's credit limit. Raise the limit, use another key, or ask for less.",
  ],
] as const;

/** furnishRefusals writes refused calls of these keys of an account, most of them of the first. */
export async function furnishRefusals(
  { refused }: Pick<Storage, "refused">,
  callers: readonly Caller[],
  now: number,
): Promise<void> {
  const random = createRandom(seed + callers.length);
  const calls = refusals(callers, random, now);
  const counts = new Map<string, RefusedCount>();
  for (const { account_id, key_id, model, reason, created_at } of calls) {
    const minute = created_at - (created_at % hourMs);
    const known = reason === Reason.MODEL_NOT_FOUND ? "" : model;
    const name = JSON.stringify([minute, key_id, known, reason]);
    const requests = (counts.get(name)?.requests ?? 0) + 1;
    counts.set(name, { account_id, minute, key_id, model: known, reason, node: "", requests });
  }
  const [rows, last] = [[...counts.values()], calls.slice(-listed)];
  for (let at = 0; at < Math.max(rows.length, last.length); at += batch)
    await refused.write({ counts: rows.slice(at, at + batch), calls: last.slice(at, at + batch) });
}

/** refusals returns the calls, oldest first. */
function refusals(callers: readonly Caller[], random: Random, now: number): RefusedCall[] {
  const calls: RefusedCall[] = [];
  const [first] = callers;
  if (!first) return calls;
  const begin = Math.floor(now / dayMs) * dayMs;
  for (let day = days - 1; day >= 0; day--) {
    for (let i = random.whole(2, 9); i > 0; i--) {
      const kind = kinds[random.whole(0, kinds.length - 1)] ?? kinds[0];
      calls.push(refusal(random.choose(callers), kind, begin - day * dayMs + random.whole(0, dayMs - 1), random));
    }
    if (day !== burst.daysAgo || callers.length < burst.least) continue;
    for (let i = 0; i < burst.calls; i++) {
      const hour = burst.hours[random.whole(0, burst.hours.length - 1)] ?? burst.hours[0];
      calls.push(refusal(first, kinds[0], begin - day * dayMs + hour * hourMs + random.whole(0, hourMs - 1), random));
    }
  }
  return calls.filter(({ created_at }) => created_at < now).sort((one, other) => one.created_at - other.created_at);
}

function refusal(
  { accountId, keyId, habits }: Caller,
  [reason, status, detail]: (typeof kinds)[number],
  at: number,
  random: Random,
): RefusedCall {
  const habit = random.choose(habits);
  // Refused before the body was read.
  const model =
    reason === Reason.RATE_LIMITED ? "" : reason === Reason.MODEL_NOT_FOUND ? "gpt-4-turbo-preview" : habit.model;
  const operation = habit.model.startsWith("claude") ? "messages" : "chat";
  return {
    ...{ id: idOf("req", at, `${keyId} ${random.next()}`), account_id: accountId, key_id: keyId, operation, model },
    ...{ reason, status, detail, created_at: at },
  };
}
