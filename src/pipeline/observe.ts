/**
 * Writes one log line a call, when the last of its answer has been handed over: what was called, by which key, how
 * it ended, what lay behind a failure, and how long it took. Never what was asked or answered, and never a credential.
 */
import type { Logger } from "pino";
import type { Arrival, Caller, Frames, Way } from "../call.ts";
import { asRefusal, Reason } from "../errors.ts";

export interface ObserveOptions {
  readonly log: Logger;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
}

/** Wraps the way of calls. */
export function observe(way: Omit<Way, "abandon">, { log, clock }: ObserveOptions): Way {
  const write = ({ id, method }: Arrival, caller: Caller | undefined, begun: number, error?: unknown) => {
    const refusal = error === undefined ? undefined : asRefusal(error);
    const line = {
      request_id: id,
      rpc: method.name,
      account_id: caller?.accountId,
      key_id: caller?.keyId,
      status: refusal?.status ?? 200,
      reason: refusal && reasonWord(refusal.reason),
      duration_ms: clock() - begun,
    };
    if (refusal?.reason === Reason.INTERNAL) log.error({ ...line, err: refusal.cause }, "call failed");
    else log.info({ ...line, cause: causeWords(refusal?.cause) }, "call");
  };
  return {
    async admit(arrival) {
      const begun = clock();
      try {
        return await way.admit(arrival);
      } catch (error) {
        write(arrival, undefined, begun, error);
        throw error;
      }
    },
    abandon: (arrival, caller, error) => write(arrival, caller, clock(), error),
    async handle(call) {
      const begun = clock();
      try {
        const answer = await way.handle(call);
        if (answer.kind === "stream") {
          return { ...answer, frames: watched(answer.frames, (error) => write(call, call.caller, begun, error)) };
        }
        write(call, call.caller, begun);
        return answer;
      } catch (error) {
        write(call, call.caller, begun, error);
        throw error;
      }
    },
  };
}

async function* watched(frames: Frames, ended: (error?: unknown) => void): Frames {
  let failure: unknown;
  try {
    yield* frames;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    ended(failure);
  }
}

/** What the engine says of a value may quote it: of such an error only the name is told. */
function causeWords(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : undefined;
  const { name, message, code } = cause as NodeJS.ErrnoException;
  const mayQuote = cause instanceof TypeError || cause instanceof SyntaxError || cause instanceof RangeError;
  return (mayQuote ? undefined : message) || code || name;
}

const words = new Map(Object.entries(Reason).map(([word, number]) => [number as Reason, word]));

/** The word of a reason, as the contract has it. */
export function reasonWord(reason: Reason): string {
  return words.get(reason) ?? "UNSPECIFIED";
}
