/**
 * Throttles guesses, at every door alike: a refusal that says what credential was wrong (`Refusal.guessed`) is counted for
 * the address that it came from, told with a delay, and beyond the bound replaced by one that tells nothing but when to come
 * back. What is right is not seen here.
 *
 * Sign-in, links and codes are counted beforehand, for each takes time to be looked at (`services/people/attempts.ts`): here they are
 * only told of.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { Caller as Least } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Arrival, Call, Handler } from "../../call/call.ts";
import { type CredentialKind, Reason, Refusal, reasonWord, tooManyAttempts } from "../../call/refusals.ts";
import type { Guesses } from "../../limits/guesses.ts";
import { catchError } from "../../runtime/maybe-promise.ts";
import { hashToken } from "../../runtime/secrets.ts";
import type { AuditEventStore } from "../../storage/people/audit-events.ts";
import { accessOf } from "./authorize.ts";

/** A failed credential. */
export interface FailedCredential {
  readonly kind: CredentialKind;
  readonly isThrottled: boolean;
}

export interface GuessesOptions {
  readonly guesses: Guesses;
  /** Told of each. */
  readonly onFailed: (failed: FailedCredential) => void;
  /** Told of an address that is beyond its bound, now and then, and how often it has failed since. */
  readonly onBeyond: (address: string, kind: CredentialKind, count: number) => void;
}

type Guess = Pick<Arrival, "header" | "signal">;

/** Throws what the caller is refused with, in the end: the error itself where it is no failed credential. */
export type Guessed = (arrival: Pick<Arrival, "peer" | "signal" | "header">, error: unknown) => Promise<never>;

export function createGuessed({ guesses, onFailed, onBeyond }: GuessesOptions): Guessed {
  /** Returns the refusal to tell. */
  async function throttled(refusal: Refusal, kind: CredentialKind, address: string, { header, signal }: Guess) {
    if (!isCountedBefore(kind)) {
      const retryAfterMs = await guesses.failed(address, shownIn(header, kind), signal);
      return retryAfterMs > 0 ? tooManyAttempts(retryAfterMs) : refusal;
    }
    guesses.note(address);
    return refusal;
  }

  return async (arrival, error) => {
    const kind = error instanceof Refusal ? error.guessed : undefined;
    if (kind === undefined) throw error;
    // A connection that is gone has no address any more.
    const { address } = arrival.peer;
    const refusal = await throttled(error as Refusal, kind, address, arrival);
    const isThrottled = refusal.reason === Reason.RATE_LIMITED;
    onFailed({ kind, isThrottled });
    const count = isThrottled ? await guesses.report(address) : undefined;
    if (count !== undefined) onBeyond(address, kind, count);
    throw refusal;
  };
}

/** Has what a service finds wrong go the same way. Calls of models show their service no credential. */
export function withGuesses(handle: Handler, methods: readonly DescMethod[], guessed: Guessed): Handler {
  const looked = new Set(methods.filter((method) => accessOf(method).caller !== Least.KEY));
  return (call: Call) => {
    if (!looked.has(call.method)) return handle(call);
    return catchError(
      () => handle(call),
      (error) => guessed(call, error),
    );
  };
}

export interface ReportOptions {
  readonly newId: (prefix: string, now: number) => string;
  /** Milliseconds since 1970. */
  readonly clock: () => number;
  /** Told of a report that could not be written. */
  readonly onError: (error: unknown) => void;
}

/** Returns what writes an address that is beyond its bound into the audit log: never what was guessed. */
export function reportTo(acts: Pick<AuditEventStore, "insert">, { newId, clock, onError }: ReportOptions) {
  return (address: string, credential: CredentialKind, failures: number): void => {
    const now = clock();
    try {
      acts.insert({
        ...{
          id: newId("act", now),
          created_at: now,
          action: "Credentials.Throttled",
          actor_kind: "nobody",
          actor_id: "",
        },
        ...{ account_id: "", subject: "", details: JSON.stringify({ credential, failures }) },
        ...{ refused: reasonWord(Reason.RATE_LIMITED), address },
      });
    } catch (error) {
      onError(error);
    }
  };
}

/** Returns a hash of what the headers show; undefined where it stands elsewhere, and for the operator's: each counts in full. */
function shownIn(header: Arrival["header"], kind: CredentialKind): string | undefined {
  if (kind !== "api_key" && kind !== "session" && kind !== "session_key") return undefined;
  const shown = ["authorization", "x-api-key", "cookie", "x-gateway-key"].map((name) => header(name) ?? null);
  return hashToken(JSON.stringify(shown));
}

function isCountedBefore(kind: CredentialKind): boolean {
  return kind === "sign_in" || kind === "link";
}
