/** A month of calls: more by day than by night, fewer at weekends, growing, and with one bad afternoon of a vendor. */
import type { CallUsage } from "../../call/usage.ts";
import type { PastCharges } from "../../composition/past-charges.ts";
import { idOf } from "../../runtime/ids.ts";
import { dayMs, hourMs } from "../../runtime/time/durations.ts";
import type { Capture } from "../../storage/columns.ts";
import type { ApiKey } from "../../storage/keys.ts";
import type { Model } from "../../targets/catalog.ts";
import type { Habit, habits } from "./plan.ts";
import type { Random } from "./random.ts";

export interface Caller {
  readonly accountId: string;
  readonly keyId: string;
  readonly weight: number;
  readonly habits: readonly Habit[];
  /** planned is the kind of program that it is, whose habits it has as far as its key permits. */
  readonly planned: keyof typeof habits;
  readonly key: Pick<ApiKey, "expires_at" | "max_concurrent" | "models" | "requests_per_minute">;
  /** from is when the key was created, and when it stops to be used; in milliseconds since 1970. */
  readonly from: number;
  readonly to: number;
}

export interface TrafficOptions {
  /** Calls on a working day. */
  readonly callsADay: number;
  readonly callers: readonly Caller[];
  readonly models: ReadonlyMap<string, Model>;
  readonly charges: PastCharges;
  readonly random: Random;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

export const days = 30;

/** The share of a day's calls in each hour, by UTC. */
const hours = [2, 2, 1, 1, 1, 2, 3, 5, 7, 8, 8, 7, 6, 7, 8, 8, 7, 6, 4, 3, 2, 2, 2, 2];
const wholeDay = hours.reduce((sum, share) => sum + share, 0);

/** momentOfDay returns a moment, in milliseconds since midnight by UTC, in an hour as likely as it is busy. */
export function momentOfDay(random: Random): number {
  const { hour } = random.choose(hours.map((weight, hour) => ({ weight, hour })));
  return hour * hourMs + random.whole(0, hourMs - 1);
}

/** operationFor returns the operation that programs call a model by: its vendor's own. */
export function operationFor(model: Model | undefined): "chat" | "messages" | "embeddings" {
  if (model?.kind === "embedding") return "embeddings";
  return model?.targets[0]?.upstream === "anthropic" ? "messages" : "chat";
}

/** One vendor has a bad afternoon so many days ago. */
const incident = { upstream: "anthropic", daysAgo: 9, fromHour: 13, toHour: 16 } as const;

/** madeCalls returns the calls, oldest first. */
export function madeCalls(options: TrafficOptions): Capture[] {
  const { now, random, callsADay } = options;
  const calls: Capture[] = [];
  const first = Math.floor(now / hourMs) * hourMs - days * dayMs;
  for (let hour = first; hour < now; hour += hourMs) {
    const date = new Date(hour);
    const isWeekend = date.getUTCDay() % 6 === 0;
    const growth = 0.7 + (0.3 * (hour - first)) / (days * dayMs);
    const share = (hours[date.getUTCHours()] ?? 1) / wholeDay;
    const many = Math.round(callsADay * share * growth * (isWeekend ? 0.35 : 1) * random.around(1, 0.15));
    const moments = Array.from({ length: many }, () => hour + random.whole(0, hourMs - 1)).sort((a, b) => a - b);
    for (const at of moments) {
      const call = at < now - 5_000 ? madeCall(options, at) : undefined;
      if (call) calls.push(call);
    }
  }
  return calls;
}

function madeCall({ callers, models, charges, random, now }: TrafficOptions, at: number): Capture | undefined {
  const caller = random.choose(callers);
  const habit = random.choose(caller.habits);
  const model = models.get(habit.model);
  const upstream = model?.targets[0]?.upstream;
  if (!model || upstream === undefined || at < caller.from || at >= caller.to) return undefined;
  const isBad = isIncident(upstream, at, now);
  const outcome = outcomeOf(random, isBad);
  const asked = usageOf(habit, random);
  const isNothing = outcome === 2 || outcome === 6;
  const used = isNothing ? none : outcome === 3 || outcome === 4 ? cutOff(asked, random) : asked;
  const duration = (habit.output === 0 ? 90 : 350 + asked.output * 11) * random.around(isBad ? 3 : 1, 0.35);
  const retried = random.happens(isBad ? 0.3 : 0.02) ? retryOf(upstream, at, random) : undefined;
  const took = Math.round(isNothing ? random.around(outcome === 6 ? 240 : 1800, 0.5) : duration) + (retried?.ms ?? 0);
  const priced = charges.charge(model, used);
  return {
    ...{ id: idOf("req", at, `${caller.keyId} ${at} ${random.next()}`), created_at: at },
    ...{ account_id: caller.accountId, key_id: caller.keyId, model: model.id, upstream, outcome },
    operation: operationFor(model),
    ...{ input: used.input, cache_read: used.cacheRead, cache_write: used.cacheWrite, output: used.output },
    ...{ reasoning: used.reasoning, characters: 0, estimated: outcome === 3 ? 1 : 0, ...priced },
    duration_ms: took,
    first_byte_ms: isNothing
      ? null
      : Math.round(Math.min(took, (retried?.ms ?? 0) + random.around(isBad ? 1900 : 420, 0.4))),
    tried: retried ? JSON.stringify([retried]) : null,
  };
}

function isIncident(upstream: string, at: number, now: number): boolean {
  const day = Math.floor(now / dayMs) - incident.daysAgo;
  const hour = new Date(at).getUTCHours();
  const isThen = Math.floor(at / dayMs) === day && hour >= incident.fromHour && hour < incident.toHour;
  return isThen && upstream === incident.upstream;
}

/** Numbers of the proto's Outcome. */
function outcomeOf(random: Random, isBad: boolean): 1 | 2 | 3 | 4 | 6 {
  if (random.happens(isBad ? 0.22 : 0.006)) return 2;
  if (random.happens(isBad ? 0.05 : 0.003)) return 3;
  if (random.happens(0.008)) return 6;
  return random.happens(0.012) ? 4 : 1;
}

const none: CallUsage = {
  ...{ input: 0, cacheRead: 0, cacheWrite: 0, cacheWriteHour: 0, output: 0, reasoning: 0, characters: 0 },
};

function usageOf({ input, output, cached = 0, reasoning = 0 }: Habit, random: Random): CallUsage {
  const prompt = Math.max(8, Math.round(random.around(input, 0.6)));
  const cacheRead = random.happens(0.8) ? Math.round(prompt * cached) : 0;
  const written = output === 0 ? 0 : Math.max(1, Math.round(random.around(output, 0.7)));
  return { ...none, input: prompt - cacheRead, cacheRead, output: written, reasoning: Math.round(written * reasoning) };
}

function cutOff(usage: CallUsage, random: Random): CallUsage {
  const output = Math.round(usage.output * random.next());
  return { ...usage, output, reasoning: Math.min(usage.reasoning, output) };
}

const failures = ["it answered with status 529", "it answered with status 503", "it did not answer in time"];

function retryOf(upstream: string, at: number, random: Random) {
  const failure = failures[random.whole(0, failures.length - 1)] as string;
  return { upstream, at: at + 4, ms: Math.round(random.around(700, 0.6)), failure };
}
