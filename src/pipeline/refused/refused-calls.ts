/**
 * Records calls that were refused before a model was asked: how many there were, and the last one by one. Those of known keys are
 * recorded; a credential that is wrong belongs to nobody (`admit/guesses.ts` counts it).
 *
 * No call waits for it. What is to be recorded is added up in memory and written once a second; a process that dies loses what
 * it has added up since, some seconds where the database is slow. Memory is bounded: where more comes than can be written,
 * the oldest is dropped, and what is not counted in the end is told by `lost`.
 */
import type { DescService } from "@bufbuild/protobuf";
import { Reason, type Refusal } from "../../call/refusals.ts";
import type { RefusedBatch, RefusedCall } from "../../storage/calls/refused.ts";
import type { EndedCall, Observer } from "../observe.ts";
import { createHeldRefusals } from "./held-refusals.ts";
import { knownPath } from "./known-path.ts";
import { operationOf } from "./operation-of.ts";

export interface RefusedOptions {
  readonly write: (batch: RefusedBatch) => Promise<void>;
  /** Names this process: nobody else writes counts under it. */
  readonly node: string;
  /** Returns the id of a model of the catalogue by any of its names. */
  readonly modelId: (name: string) => string | undefined;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  readonly onError: (error: unknown) => void;
  /** everyMs is how often it writes, in milliseconds. Default: 1000. */
  readonly everyMs?: number;
}

export interface RefusedCalls {
  readonly observer: Observer;
  /** Returns how many calls could not be counted. */
  lost(): number;
  /** Writes what has been added up until now. Never rejects. */
  flush(): Promise<void>;
  /** Writes the rest, and stops. It gives up after some seconds. */
  close(): Promise<void>;
}

const defaultEveryMs = 1000;
const maxDetail = 300;
/** closeMs is how long the end is waited for, in milliseconds. */
const closeMs = 3_000;
/** tellMs is how often an error is told at most, in milliseconds. */
const tellMs = 60_000;

export function createRefusedCalls(options: RefusedOptions): RefusedCalls {
  const { write, clock, onError, everyMs = defaultEveryMs } = options;
  const held = createHeldRefusals(options);
  let toldAt = Number.NEGATIVE_INFINITY;
  let writing: Promise<void> | undefined;

  /** Writes what is held now; what comes meanwhile waits for the next time. */
  async function writeHeld(): Promise<void> {
    const taken = held.take();
    try {
      for (let batch = taken.next(); batch; batch = taken.next()) {
        await write(batch.rows);
        batch.written();
      }
    } catch (error) {
      taken.putBack();
      if (clock() - toldAt < tellMs) return;
      toldAt = clock();
      onError(error);
    }
  }

  const flush = () => {
    writing ??= writeHeld().finally(() => (writing = undefined));
    return writing;
  };
  const timer = setInterval(() => {
    if (!held.isEmpty()) void flush();
  }, everyMs).unref();
  return {
    observer: {
      ended(call) {
        const refused = refusedOf(call);
        if (refused) held.add(refused);
      },
    },
    lost: held.lost,
    flush,
    async close() {
      clearInterval(timer);
      const { promise: late, resolve } = Promise.withResolvers<void>();
      const giveUp = setTimeout(resolve, closeMs);
      // Once more after one that is under way, which lacks what came since it began.
      await Promise.race([flush().then(flush), late]);
      clearTimeout(giveUp);
    },
  };
}

/** refusedOf returns what is recorded of a call; undefined where nothing is. */
function refusedOf({ arrival, caller, record, refusal, begunAt }: EndedCall): RefusedCall | undefined {
  if (!refusal || !caller || caller.keyId === "") return undefined;
  // A call that was sent anywhere, or charged, is among those that were not refused.
  if (record.attempts.length > 0 || record.outcome !== undefined || record.replayed !== undefined) return undefined;
  if (refusal.reason === Reason.CANCELLED) return undefined;
  const operation = operationOf(arrival.method);
  if (operation === undefined) return undefined;
  return {
    id: arrival.id,
    account_id: caller.accountId,
    key_id: caller.keyId,
    operation,
    model: record.model ?? record.named ?? "",
    reason: refusal.reason,
    status: refusal.status,
    detail: detailOf(refusal, arrival.method.parent).slice(0, maxDetail),
    created_at: begunAt,
  };
}

function detailOf({ reason, message, param = "" }: Refusal, service: DescService): string {
  return quotable.has(reason) ? message : knownPath(service, param);
}

/** quotable are the reasons whose messages have nothing in them that a caller sent: these are kept whole. */
export const quotable: ReadonlySet<Reason> = new Set([
  ...[
    Reason.RATE_LIMITED,
    Reason.INSUFFICIENT_CREDIT,
    Reason.BUDGET_EXCEEDED,
    Reason.MODEL_UNPRICED,
    Reason.ACCOUNT_SUSPENDED,
  ],
  ...[
    Reason.PERMISSION_DENIED,
    Reason.INVALID_API_KEY,
    Reason.ADDRESS_NOT_PERMITTED,
    Reason.REQUEST_TOO_LARGE,
    Reason.REQUEST_TIMEOUT,
  ],
  ...[Reason.GATEWAY_BUSY, Reason.UPSTREAM_BUSY, Reason.STORAGE_UNAVAILABLE, Reason.NOT_CACHED],
]);
