/**
 * Admits a call by its headers alone: authenticates its credential, takes a request from its account's rate, and checks that the
 * credential may call the RPC. Every call with a valid credential counts for the rate, whatever becomes of it.
 */
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Admission, Arrival } from "../../call/call.ts";
import { refusedTo } from "../../call/refusals.ts";
import { andThen, catchError, isPromise, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Authenticate, Authenticated } from "./authenticate.ts";
import { accessOf, authorize, suffices } from "./authorize.ts";
import type { Guessed } from "./guesses.ts";
import type { Limit } from "./limit.ts";

export interface AdmitOptions {
  readonly authenticate: Authenticate;
  readonly limit: Limit["limit"];
  /** Handles failed credentials. */
  readonly guessed: Guessed;
}

/** Admit admits a call by its headers alone. Throws a Refusal, now or later. */
export type Admit = (arrival: Arrival) => MaybePromise<Admission>;

export function createAdmit({ authenticate, limit, guessed }: AdmitOptions): Admit {
  function admitted(arrival: Arrival, { caller, counted }: Authenticated): MaybePromise<Admission> {
    const { method } = arrival;
    // A caller that may not call the RPC counts for its account's rate, but must not use up the RPC's own limit.
    const bounded = counted?.byMethod || method.methodKind === "server_streaming" || accessOf(method).ownRate;
    const own = bounded && suffices(caller.rights, method) ? method : undefined;
    return catchError(
      () => {
        const taking = counted ? limit(counted, own, familyOf(arrival), counted.creditRemaining) : unlimited;
        return andThen(taking, ({ headers, nearest }) => {
          authorize(caller.rights, method);
          return { caller, headers, nearest };
        });
      },
      (error): never => {
        throw refusedTo(caller, error);
      },
    );
  }

  return (arrival) => {
    let authenticating: MaybePromise<Authenticated>;
    try {
      authenticating = authenticate(arrival);
    } catch (error) {
      return guessed(arrival, error);
    }
    if (!isPromise(authenticating)) return admitted(arrival, authenticating);
    // Whoever reads it later finds it kept: a connection that is closed meanwhile has none.
    void arrival.peer.address;
    return authenticating.then(
      (authenticated) => admitted(arrival, authenticated),
      (error: unknown) => guessed(arrival, error),
    );
  };
}

const unlimited = { headers: {}, nearest: undefined };

function familyOf({ method, header }: Arrival): Family {
  const { family, eitherFamily } = accessOf(method);
  return eitherFamily && header("anthropic-version") ? Family.ANTHROPIC : family;
}
