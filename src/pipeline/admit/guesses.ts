/**
 * Throttles guessing, at every door alike. A refusal for a wrong credential (`Refusal.guessed`) is counted for the address that it
 * came from, and delayed; beyond the limit it is replaced by one that says only when to come back. Valid credentials never come
 * here.
 *
 * Sign-ins, links and codes are counted before they are checked, because each check takes time
 * (`services/people/attempts.ts`). Here they are only reported.
 */
import type { DescMethod } from "@bufbuild/protobuf";
import { Caller as Least } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Arrival, Call, Handler } from "../../call/call.ts";
import { type CredentialKind, Reason, Refusal, reasonWord, tooManyAttempts } from "../../call/refusals.ts";
import type { Guesses } from "../../limits/guesses.ts";
import { hashToken } from "../../runtime/secrets.ts";
import type { AuditEventStore } from "../../storage/people/audit-events.ts";
import { accessOf } from "./authorize.ts";

/** FailedCredential is a credential that was refused. */
export interface FailedCredential {
  readonly kind: CredentialKind;
  readonly isThrottled: boolean;
}

export interface GuessesOptions {
  readonly guesses: Guesses;
  /** Called for each failed credential. */
  readonly onFailed: (failed: FailedCredential) => void;
  /** Called now and then for an address beyond the limit, with the number of its failures since. */
  readonly onBeyond: (address: string, kind: CredentialKind, count: number) => void;
}

type Guess = Pick<Arrival, "header" | "signal">;

/** Guessed counts a failed credential. It rejects with the refusal that the caller gets: the error itself where no credential failed. */
export type Guessed = (arrival: Pick<Arrival, "peer" | "signal" | "header">, error: unknown) => Promise<never>;

export function createGuessed({ guesses, onFailed, onBeyond }: GuessesOptions): Guessed {
  /** Returns the refusal that the caller gets, after a delay. */
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
    // The address is read now: a closed connection has none.
    const { address } = arrival.peer;
    const refusal = await throttled(error as Refusal, kind, address, arrival);
    const isThrottled = refusal.reason === Reason.RATE_LIMITED;
    onFailed({ kind, isThrottled });
    const count = isThrottled ? await guesses.report(address) : undefined;
    if (count !== undefined) onBeyond(address, kind, count);
    throw refusal;
  };
}

/** withGuesses wraps a handler, so that credentials that fail in a service are throttled too. Model calls have none in their bodies. */
export function withGuesses(handle: Handler, methods: readonly DescMethod[], guessed: Guessed): Handler {
  const throttled = new Set(methods.filter((method) => accessOf(method).caller !== Least.KEY));
  const handleThrottled = async (call: Call) => {
    try {
      return await handle(call);
    } catch (error) {
      return guessed(call, error);
    }
  };
  return (call) => (throttled.has(call.method) ? handleThrottled(call) : handle(call));
}

export interface ReportOptions {
  readonly newId: (prefix: string, now: number) => string;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
  /** Called with the error of a report that could not be written. */
  readonly onError: (error: unknown) => void;
}

/** reportTo returns a function that writes an address beyond the limit to the audit log, and never the credentials that it tried. */
export function reportTo(auditEvents: Pick<AuditEventStore, "insert">, { newId, clock, onError }: ReportOptions) {
  return (address: string, credential: CredentialKind, failures: number): void => {
    const now = clock();
    const event = {
      id: newId("act", now),
      created_at: now,
      action: "Credentials.Throttled",
      actor_kind: "nobody",
      actor_id: "",
      account_id: "",
      subject: "",
      details: JSON.stringify({ credential, failures }),
      refused: reasonWord(Reason.RATE_LIMITED),
      address,
    };
    void auditEvents.insert(event).catch(onError);
  };
}

/**
 * shownIn returns a hash of the credentials in the headers. Undefined where the credential is not in the headers, and for the operator key:
 * these failures count in full each time.
 */
function shownIn(header: Arrival["header"], kind: CredentialKind): string | undefined {
  if (kind !== "api_key" && kind !== "session" && kind !== "session_key") return undefined;
  const shown = ["authorization", "x-api-key", "api-key", "cookie", "x-gateway-key"].map(
    (name) => header(name) ?? null,
  );
  return hashToken(JSON.stringify(shown));
}

function isCountedBefore(kind: CredentialKind): boolean {
  return kind === "sign_in" || kind === "link";
}
