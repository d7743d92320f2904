/**
 * Charges a call for what it used, once, however it ends: the table of charges.
 *
 * Whole answers are settled before they are handed over. A stream is settled before the batch that holds its end, or, if
 * it breaks off or its caller leaves, then: by what had been used up to there. A caller who leaves before the first
 * byte, and a call that never brought one, cost nothing. The caller's leaving does not hinder the settlement.
 */
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { Answer, AnswerHeaders, Call, Caller, Frames } from "../call.ts";
import type { Model, Target } from "../catalog.ts";
import { formatDecimal } from "../decimal.ts";
import type { Charged, Ledger } from "../ledger/ledger.ts";
import { type CallUsage, costOf, nothingUsed } from "../ledger/price.ts";
import type { Operation } from "../providers/operations.ts";
import type { CallMeter } from "./meter.ts";
import { charactersOf } from "./reserve.ts";
import type { Tried } from "./send.ts";

/** A call whose cost was reserved. */
export interface Running {
  readonly call: Call;
  readonly asked: Operation;
  readonly model: Model;
  /** Where it went last. */
  readonly target: () => Target;
  /** Where it was tried before that. */
  readonly tried: readonly Tried[];
  readonly meter: CallMeter;
  /** Milliseconds since 1970. */
  readonly arrivedAt: number;
  /** Whether it went as far as to be reserved: what was refused before is no matter of money. */
  readonly isReserved: () => boolean;
}

export interface SettleOptions {
  readonly ledger: Ledger;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told how many tokens a call used, all in all. */
  readonly onUsed: (caller: Caller, tokens: number) => void;
  /** Told of what went wrong where nobody waits. */
  readonly onError: (error: unknown) => void;
}

/** Runs a call to its answer, and charges it. Throws what `work` throws, when that has been settled. */
export type Settle = <A extends Answer>(running: Running, work: () => Promise<A>) => Promise<A>;

export function createSettle(options: SettleOptions): Settle {
  return async <A extends Answer>(running: Running, work: () => Promise<A>) => {
    const settlement = settling(running, options);
    const { signal } = running.call;
    let answer: A;
    try {
      answer = await work();
    } catch (error) {
      await settlement.end(signal.aborted ? Outcome.LEFT : Outcome.FAILED);
      throw error;
    }
    if (answer.kind === "whole") {
      if (!signal.aborted) settlement.began();
      await settlement.end(signal.aborted ? Outcome.LEFT : Outcome.ANSWERED);
      return { ...answer, headers: { ...answer.headers, ...settlement.costHeaders() } };
    }
    // Frames that nobody began to read have no end of their own.
    signal.addEventListener("abort", () => void settlement.endUnread(), { once: true });
    const frames = settled(answer.frames, running, settlement);
    return { ...answer, frames, trailers: settlement.costHeaders };
  };
}

interface Settling {
  /** Notes that the caller gets its first byte. */
  began(): void;
  /** Ends a call whose caller left before it asked for the first byte. */
  endUnread(): Promise<void>;
  /** Charges the call, unless that was done. */
  end(outcome: Outcome): Promise<void>;
  /** Returns what the answer tells of its cost. */
  costHeaders(): AnswerHeaders;
}

function settling(running: Running, { ledger, clock, onUsed, onError }: SettleOptions): Settling {
  let firstByteAt: number | undefined;
  let ending: Promise<void> | undefined;
  let headers: AnswerHeaders = {};

  async function charge(outcome: Outcome): Promise<void> {
    if (!running.isReserved()) return;
    const endedAt = clock();
    const isAnswered = outcome === Outcome.ANSWERED;
    const hasCost = firstByteAt !== undefined && outcome !== Outcome.FAILED;
    const { used, estimated, isNothing } = hasCost ? await running.meter.measure(isAnswered) : unmeasured;
    const { call, asked, model, tried, arrivedAt } = running;
    const whole = { ...used, characters: hasCost ? charactersOf(asked, call.request) : 0 };
    const charged = await ledger.settle({
      id: call.id,
      account_id: call.caller.accountId,
      key_id: call.caller.keyId,
      operation: asked,
      model: model.id,
      upstream: running.target().upstream,
      tried: tried.length === 0 ? null : JSON.stringify(tried),
      outcome,
      ...columnsOf(whole),
      estimated: estimated ? 1 : 0,
      cost: model.price && !isNothing ? costOf(model.price, whole) : 0,
      created_at: arrivedAt,
      duration_ms: Math.max(0, endedAt - arrivedAt),
      first_byte_ms: firstByteAt === undefined ? null : Math.max(0, firstByteAt - arrivedAt),
    });
    onUsed(running.call.caller, tokensOf(whole));
    headers = headersOf(whole, estimated, charged);
  }

  const isOver = ledger.begin();
  const end = (outcome: Outcome) => {
    ending ??= charge(outcome).finally(isOver);
    return ending;
  };
  return {
    began() {
      firstByteAt ??= clock();
    },
    async endUnread() {
      if (firstByteAt === undefined) await end(Outcome.LEFT).catch(onError);
    },
    end,
    costHeaders: () => headers,
  };
}

const unmeasured = { used: nothingUsed, estimated: false, isNothing: true };

async function* settled(frames: Frames, { call, meter }: Running, settlement: Settling): Frames {
  let hasBegun = false;
  let outcome: Outcome = Outcome.LEFT;
  try {
    for await (const batch of frames) {
      hasBegun = true;
      // Who has left does not get it any more.
      if (!call.signal.aborted) {
        settlement.began();
        if (meter.isOver()) await settlement.end(Outcome.ANSWERED);
      }
      yield batch;
    }
    if (!call.signal.aborted) {
      settlement.began();
      outcome = Outcome.ANSWERED;
    }
  } catch (error) {
    if (!call.signal.aborted) outcome = hasBegun ? Outcome.BROKEN : Outcome.FAILED;
    throw error;
  } finally {
    await settlement.end(outcome);
  }
}

function tokensOf({ input, cacheRead, cacheWrite, cacheWriteHour, output }: CallUsage): number {
  return input + cacheRead + cacheWrite + cacheWriteHour + output;
}

function columnsOf({ input, cacheRead, cacheWrite, cacheWriteHour, output, reasoning, characters }: CallUsage) {
  return {
    input,
    cache_read: cacheRead,
    cache_write: cacheWrite + cacheWriteHour,
    output,
    reasoning,
    characters,
  };
}

/** `x-gateway-usage` has the parts that are not zero: `input=12, cache_read=3, output=5`. */
function headersOf(used: CallUsage, estimated: boolean, charged: Charged | undefined): AnswerHeaders {
  const parts = Object.entries(columnsOf(used)).filter(([, count]) => count > 0);
  const words = parts.map(([part, count]) => `${part}=${count}`);
  if (estimated) words.push("estimated");
  return { "x-gateway-cost": formatDecimal(charged?.cost ?? 0), "x-gateway-usage": words.join(", ") };
}
