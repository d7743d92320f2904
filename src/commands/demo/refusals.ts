/**
 * A month of refused calls for the demo: a few each day, and a client that ran into the rate of its key one afternoon. What a refusal says
 * is what the gateway would have said: its limits are those of the key and of the account's tier.
 */
import {
  insufficientCredit,
  invalidValue,
  keyDisabled,
  keyExpired,
  modelNotFound,
  modelNotPermitted,
  type Refusal,
  rateLimited,
  tooManyRunning,
} from "../../call/refusals.ts";
import type { Tier } from "../../call/tiers.ts";
import { formatAmount } from "../../runtime/decimal.ts";
import { idOf } from "../../runtime/ids.ts";
import { dayMs, hourMs } from "../../runtime/time/durations.ts";
import { counted } from "../../runtime/words/counted.ts";
import type { RefusedCall, RefusedCount } from "../../storage/calls/refused.ts";
import type { Storage } from "../../storage/storage.ts";
import type { Model } from "../../targets/catalog.ts";
import type { ShortCall } from "./credit-limits.ts";
import { type Habit, habits } from "./plan.ts";
import type { Random } from "./random.ts";
import { type Caller, days, momentOfDay, operationFor } from "./traffic.ts";

/** batch is how many calls, and how many counts, are written at once. */
const batch = 50;
/** listed is how many refused calls of an account are listed one by one. */
const listed = 120;
/** The afternoon in which a client asks too fast, in days before now, and its hours by UTC. */
const burst = { daysAgo: 4, hours: [13, 14, 15], calls: 340 } as const;

/** strangeModels are names that no catalogue has, by the operation that they are asked for. */
export const strangeModels = {
  chat: "gpt-4-turbo-preview-eu",
  messages: "claude-sonnet-latest-internal",
  embeddings: "text-embedding-ada-003",
} as const;

/** wrongFields are fields that programs get wrong, by operation. */
const wrongFields = {
  chat: ["temperature", "max_tokens", "messages", "tools"],
  messages: ["max_tokens", "temperature", "messages"],
  embeddings: ["encoding_format", "input"],
} as const;

export interface RefusedAccount {
  readonly callers: readonly Caller[];
  /** short are the calls that keys could not pay for. */
  readonly short: readonly ShortCall[];
  /** Calls on a working day. */
  readonly callsADay: number;
  /** tierAt returns the account's tier at a moment. */
  readonly tierAt: (at: number) => Tier;
  readonly models: ReadonlyMap<string, Model>;
  /** unit is the code of the unit of money. */
  readonly unit: string;
  readonly random: Random;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

/** furnishRefusals writes the refused calls of an account. */
export async function furnishRefusals({ refused }: Pick<Storage, "refused">, account: RefusedAccount): Promise<void> {
  const calls = refusedCalls(account);
  const counts = new Map<string, RefusedCount>();
  for (const { account_id, key_id, model, reason, status, created_at } of calls) {
    const minute = created_at - (created_at % hourMs);
    const known = status === 404 ? "" : model;
    const name = JSON.stringify([minute, key_id, known, reason]);
    const requests = (counts.get(name)?.requests ?? 0) + 1;
    counts.set(name, { account_id, minute, key_id, model: known, reason, node: "", requests });
  }
  const [rows, last] = [[...counts.values()], calls.slice(-listed)];
  for (let at = 0; at < Math.max(rows.length, last.length); at += batch)
    await refused.write({ counts: rows.slice(at, at + batch), calls: last.slice(at, at + batch) });
}

/** refusedCalls returns them, the oldest first. */
function refusedCalls(account: RefusedAccount): RefusedCall[] {
  const { callers, now } = account;
  const calls = [...unpaid(account), ...ofEndedKeys(account), ...inBurst(account)];
  const begin = Math.floor(now / dayMs) * dayMs;
  for (let day = days - 1; callers.length > 0 && day >= 0; day--) calls.push(...ofDay(account, begin - day * dayMs));
  return calls.filter(({ created_at }) => created_at < now).sort((one, other) => one.created_at - other.created_at);
}

/** unpaid returns the calls that a key's credit limit did not cover. */
function unpaid({ short, unit, random }: RefusedAccount): RefusedCall[] {
  return short.map(({ call, available }) => {
    const { id, account_id, key_id, operation, model, cost, created_at } = call;
    const amounts = [formatAmount(cost, { code: unit }), formatAmount(available, { code: unit })] as const;
    const refusal = insufficientCredit("limit", ...amounts);
    const names = { id: idOf("req", created_at, `${id} ${random.next()}`), account_id, key_id, operation, model };
    return { ...names, ...toldOf(refusal, refusal.message), created_at };
  });
}

/** ofEndedKeys returns calls of programs that still use a key that is disabled or has expired. */
function ofEndedKeys(account: RefusedAccount): RefusedCall[] {
  const { callers, random, now } = account;
  return callers.flatMap((caller) => {
    const { to, key } = caller;
    const refusal = key.expires_at !== null && key.expires_at <= to ? keyExpired() : keyDisabled();
    const many = to < now ? Math.ceil((now - to) / dayMs) * 3 : 0;
    return Array.from({ length: many }, () => {
      const habit = random.choose(caller.habits);
      const at = to + random.whole(0, Math.min(now - to, 2 * dayMs) - 1);
      return refusedCall(account, caller, { habit, refusal, model: "", detail: refusal.message }, at);
    });
  });
}

/** inBurst returns the calls of one afternoon, of the first key that has a rate of its own. */
function inBurst(account: RefusedAccount): RefusedCall[] {
  const { callers, random, now } = account;
  const begin = (Math.floor(now / dayMs) - burst.daysAgo) * dayMs;
  const caller = callers.find(({ from, to, key }) => key.requests_per_minute !== null && from < begin && to >= now);
  const kind = caller && ownRate(caller);
  if (!caller || !kind) return [];
  return Array.from({ length: burst.calls }, () => {
    const hour = burst.hours[random.whole(0, burst.hours.length - 1)] ?? burst.hours[0];
    return refusedCall(account, caller, kind(random), begin + hour * hourMs + random.whole(0, hourMs - 1));
  });
}

/** ofDay returns what is refused on a day now and then. Clients that are too fast are refused several times in a row. */
function ofDay(account: RefusedAccount, begin: number): RefusedCall[] {
  const { callers, callsADay, random } = account;
  const calls: RefusedCall[] = [];
  for (let i = random.whole(0, Math.ceil(callsADay / 60)); i > 0; i--) {
    const caller = random.choose(callers);
    const at = begin + momentOfDay(random);
    if (at < caller.from || at >= caller.to) continue;
    const { make, isRepeated } = random.choose(kindsOf(account, caller, at));
    let moment = at;
    for (let many = isRepeated ? random.whole(1, 4) : 1; many > 0; many--) {
      calls.push(refusedCall(account, caller, make(random), moment));
      moment += random.whole(400, 4_000);
    }
  }
  return calls;
}

/** Told is what a refused call asked, and what it was told. */
interface Told {
  readonly habit: Habit;
  readonly refusal: Refusal;
  /** model is empty where the call was refused before its body was read. */
  readonly model: string;
  readonly detail: string;
}

type Make = (random: Random) => Told;

interface Kind {
  readonly weight: number;
  readonly isRepeated: boolean;
  readonly make: Make;
}

/** kindsOf returns the refusals that a caller may meet at a moment. */
function kindsOf({ models, callsADay, tierAt }: RefusedAccount, caller: Caller, at: number): Kind[] {
  const once = { isRepeated: false };
  const kinds: Kind[] = [
    { ...once, weight: 5, make: (random) => wrongValue(random.choose(caller.habits), models, random) },
    { ...once, weight: 2, make: (random) => strangeModel(random.choose(caller.habits), models) },
  ];
  const again = { isRepeated: true };
  const forbidden = forbiddenHabits(caller, models);
  if (forbidden.length > 0)
    kinds.push({ ...once, weight: 5, make: (random) => notPermitted(random.choose(forbidden)) });
  const own = ownRate(caller);
  if (own) kinds.push({ ...again, weight: 6, make: own });
  const { max_concurrent: most } = caller.key;
  if (most !== null)
    kinds.push({ ...again, weight: 3, make: (random) => beforeBody(caller, random, tooManyRunning(most)) });
  // An account that makes as many calls in a day as it may in a minute may meet the rate of its tier.
  const { requestsPerMinute } = tierAt(at);
  if (requestsPerMinute <= callsADay)
    kinds.push({ ...again, weight: 4, make: rate(caller, requestsPerMinute, "the account") });
  return kinds;
}

function wrongValue(habit: Habit, models: RefusedAccount["models"], random: Random): Told {
  const fields = wrongFields[operationFor(models.get(habit.model))];
  const field = fields[random.whole(0, fields.length - 1)] ?? fields[0];
  return { habit, refusal: invalidValue(field, "it is out of bounds"), model: habit.model, detail: field };
}

function strangeModel(habit: Habit, models: RefusedAccount["models"]): Told {
  const model = strangeModels[operationFor(models.get(habit.model))];
  return { habit, refusal: modelNotFound(model), model, detail: "model" };
}

function notPermitted(habit: Habit): Told {
  return { habit, refusal: modelNotPermitted(habit.model), model: habit.model, detail: "model" };
}

function ownRate(caller: Caller): Make | undefined {
  const { requests_per_minute: limit } = caller.key;
  return limit === null ? undefined : rate(caller, limit, "the API key");
}

function rate(caller: Caller, limit: number, whose: "the account" | "the API key"): Make {
  return (random) => {
    const allowed = `${counted(limit, "request")} a minute`;
    return beforeBody(caller, random, rateLimited(allowed, random.whole(1, 9) * 1_000, {}, whose));
  };
}

function beforeBody({ habits: own }: Caller, random: Random, refusal: Refusal): Told {
  return { habit: random.choose(own), refusal, model: "", detail: refusal.message };
}

/** forbiddenHabits returns what a program of the key's kind asks, but the key may not. */
function forbiddenHabits({ key, planned }: Caller, models: RefusedAccount["models"]): readonly Habit[] {
  if (key.models === null) return [];
  const permitted = JSON.parse(key.models) as readonly string[];
  return habits[planned].filter(({ model }) => {
    const family = models.get(model)?.family;
    return !permitted.includes(model) && !permitted.includes(`family:${family}`);
  });
}

function refusedCall(account: RefusedAccount, caller: Caller, told: Told, at: number): RefusedCall {
  const { accountId, keyId } = caller;
  const { habit, refusal, model, detail } = told;
  return {
    ...{ id: idOf("req", at, `${keyId} ${account.random.next()}`), account_id: accountId, key_id: keyId, model },
    ...{ operation: operationFor(account.models.get(habit.model)), created_at: at },
    ...toldOf(refusal, detail),
  };
}

function toldOf({ reason, status }: Refusal, detail: string): Pick<RefusedCall, "reason" | "status" | "detail"> {
  return { reason, status, detail };
}
