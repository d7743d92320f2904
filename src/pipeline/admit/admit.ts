/**
 * What is asked of every call on its headers alone: whose credential it is, whether it may call the RPC, and whether its
 * account's rate allows for one more. The rate is counted for every call that a key authenticates, whatever becomes of it.
 */
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Admission, Arrival } from "../../call/call.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Authenticate, Authenticated } from "./authenticate.ts";
import { accessOf, authorize, suffices } from "./authorize.ts";
import type { Guessed } from "./guesses.ts";
import type { Limit } from "./limit.ts";

export interface AdmitOptions {
  readonly authenticate: Authenticate;
  readonly limit: Limit["limit"];
  /** Told of whatever a caller is not known by. */
  readonly guessed: Guessed;
}

/** Throws a Refusal, now or later. */
export type Admit = (arrival: Arrival) => MaybePromise<Admission>;

export function createAdmit({ authenticate, limit, guessed }: AdmitOptions): Admit {
  return (arrival) => {
    const { method } = arrival;
    let authenticated: Authenticated;
    try {
      authenticated = authenticate(arrival);
    } catch (error) {
      return guessed(arrival, error);
    }
    const { caller, counted } = authenticated;
    // Who may not call the RPC counts for its account's rate, and must not use up the RPC's own.
    const bounded = counted?.byMethod || method.methodKind === "server_streaming" || accessOf(method).ownRate;
    const own = bounded && suffices(caller.rights, method) ? method : undefined;
    const taking = counted ? limit(counted, own, familyOf(arrival), counted.creditRemaining) : {};
    return andThen(taking, (headers) => {
      authorize(caller.rights, method);
      return { caller, headers };
    });
  };
}

function familyOf({ method, header }: Arrival): Family {
  const { family, eitherFamily } = accessOf(method);
  return eitherFamily && header("anthropic-version") ? Family.ANTHROPIC : family;
}
