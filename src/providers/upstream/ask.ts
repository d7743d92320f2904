/**
 * Calls an upstream in its dialect: sends the request, checks the status, and records the time waited.
 *
 * An error answer is thrown as the dialect's refusal, now or later.
 */

import type { AttemptRecord } from "../../call/call-record.ts";
import type { Refusal } from "../../call/refusals.ts";
import type { Fields } from "../../http1/client/index.ts";
import { andThen, type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import type { Attempt } from "../contract.ts";
import type { Dialect } from "../dialect.ts";
import { readOrFail } from "../errors/fault.ts";
import { decoded } from "./content-coding.ts";
import type { UpstreamReply } from "./reply.ts";
import { retryAfterIn } from "./retry-delay.ts";
import type { Upstream } from "./upstream.ts";
import { readError, readWhole } from "./whole-body.ts";

/** UpstreamCall is one call to an upstream. */
export interface UpstreamCall {
  readonly upstream: Upstream;
  readonly dialect: Dialect;
  /** The path below the upstream's base address. */
  readonly path: string;
  readonly attempt: Attempt;
}

/** ask returns the result of `answerOf` for the reply, as soon as its head has come. */
export function ask<A>(call: UpstreamCall, answerOf: (reply: UpstreamReply) => MaybePromise<A>): MaybePromise<A> {
  const { record } = call.attempt;
  const coming = timeWait(record, () => post(call));
  return andThen(coming, (coded) => {
    const reply = decoded(coded);
    if (isSuccess(reply)) return answerOf(reply);
    const reading = timeWait(record, () => readError(reply));
    return andThen(reading, (bytes): never => {
      throw refusalOf(reply, bytes, call);
    });
  });
}

/**
 * askWhole returns the result of `answerOf` for the complete body. `eventsOf` returns the result for a reply of events, and undefined for
 * any other reply.
 */
export function askWhole<A>(
  call: UpstreamCall,
  maxBytes: number,
  answerOf: (bytes: Buffer, reply: UpstreamReply) => MaybePromise<A>,
  eventsOf: (reply: UpstreamReply) => MaybePromise<A> | undefined = () => undefined,
): MaybePromise<A> {
  const read = (coded: UpstreamReply): MaybePromise<() => MaybePromise<A>> => {
    const reply = decoded(coded);
    if (!isSuccess(reply))
      return andThen(readError(reply), (bytes) => () => {
        throw refusalOf(reply, bytes, call);
      });
    const events = eventsOf(reply);
    if (events) return andThen(events, (answer) => () => answer);
    return andThen(
      readWhole(reply, maxBytes, call.attempt.room?.openAnswer()),
      (bytes) => () => answerOf(bytes, reply),
    );
  };
  const reading = timeWait(call.attempt.record, () => andThen(post(call), read));
  return andThen(reading, (answer) => answer());
}

/** isSuccess reports a reply that may hold an answer. Proxies that have changed an answer may say so by 203. */
function isSuccess({ status }: UpstreamReply): boolean {
  return status >= 200 && status <= 203;
}

function post({ upstream, dialect, path, attempt }: UpstreamCall): MaybePromise<UpstreamReply> {
  const { signal, timeouts, spentMs, onLate, room } = attempt;
  const strict = attempt.header("x-gateway-strict");
  const fields: Fields = { "x-request-id": attempt.id };
  if (strict !== undefined) fields["x-gateway-strict"] = strict;
  for (const name in attempt.traceHeaders) fields[name] = attempt.traceHeaders[name] as string;
  if (dialect.headers) Object.assign(fields, dialect.headers(attempt));
  const request = { path, common: dialect.common[attempt.asked ?? attempt.form], fields, body: dialect.body(attempt) };
  return upstream.post(request, { signal, timeouts, spentMs, late: onLate, broken: room?.broke });
}

function refusalOf({ status, headers }: UpstreamReply, body: Buffer, { dialect, attempt }: UpstreamCall): Refusal {
  const retryAfter = retryAfterIn(headers);
  return readOrFail(() => dialect.refusal({ status, body, retryAfter, model: attempt.model }));
}

/** timeWait adds the time until the work succeeds or fails to the record's wait for the upstream. */
function timeWait<T>(record: AttemptRecord, work: () => MaybePromise<T>): MaybePromise<T> {
  const begunAt = performance.now();
  const count = () => {
    record.waitedMs += performance.now() - begunAt;
  };
  return thenOrCatch(
    work,
    (there) => {
      count();
      return there;
    },
    (error): never => {
      count();
      throw error;
    },
  );
}
