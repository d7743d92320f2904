/**
 * Asks an upstream in its dialect: sends the request, sees it accepted, and counts what is waited for it.
 *
 * What the upstream refuses is thrown as the refusal that the dialect makes of it, now or later.
 */

import type { AttemptRecord } from "../../call/call-record.ts";
import type { Refusal } from "../../call/refusals.ts";
import type { Fields } from "../../http1/client/index.ts";
import { andThen, type MaybePromise, thenOrCatch } from "../../runtime/maybe-promise.ts";
import type { Attempt } from "../contract.ts";
import { understood } from "../errors/fault.ts";
import { decoded } from "./content-coding.ts";
import type { Dialect } from "./dialect.ts";
import type { UpstreamReply } from "./reply.ts";
import type { Upstream } from "./upstream.ts";
import { readError, readWhole } from "./whole-body.ts";

/** Who is asked what. */
export interface ToAsk {
  readonly upstream: Upstream;
  readonly dialect: Dialect;
  /** Below the upstream's base address. */
  readonly path: string;
  readonly attempt: Attempt;
}

/** Returns what is made of the reply as soon as its head has come. */
export function ask<A>(asking: ToAsk, answerOf: (reply: UpstreamReply) => MaybePromise<A>): MaybePromise<A> {
  const { record } = asking.attempt;
  const coming = waited(record, () => post(asking));
  return andThen(coming, (coded) => {
    const reply = decoded(coded);
    if (reply.status === 200) return answerOf(reply);
    const reading = waited(record, () => readError(reply));
    return andThen(reading, (bytes): never => {
      throw refusalOf(reply, bytes, asking);
    });
  });
}

/**
 * Returns what is made of the reply when all of it has come. `eventsOf` returns what is made of one that comes as events, and
 * undefined for one that does not.
 */
export function askWhole<A>(
  asking: ToAsk,
  maxBytes: number,
  answerOf: (bytes: Buffer, reply: UpstreamReply) => MaybePromise<A>,
  eventsOf: (reply: UpstreamReply) => MaybePromise<A> | undefined = () => undefined,
): MaybePromise<A> {
  const read = (coded: UpstreamReply): MaybePromise<() => MaybePromise<A>> => {
    const reply = decoded(coded);
    if (reply.status !== 200)
      return andThen(readError(reply), (bytes) => () => {
        throw refusalOf(reply, bytes, asking);
      });
    const events = eventsOf(reply);
    if (events) return andThen(events, (answer) => () => answer);
    return andThen(readWhole(reply, maxBytes), (bytes) => () => answerOf(bytes, reply));
  };
  const reading = waited(asking.attempt.record, () => andThen(post(asking), read));
  return andThen(reading, (answer) => answer());
}

function post({ upstream, dialect, path, attempt }: ToAsk): MaybePromise<UpstreamReply> {
  const { signal, timeouts, late } = attempt;
  const strict = attempt.header("x-gateway-strict");
  const fields: Fields = { "x-request-id": attempt.id };
  if (strict !== undefined) fields["x-gateway-strict"] = strict;
  for (const name in attempt.traceHeaders) fields[name] = attempt.traceHeaders[name] as string;
  if (dialect.headers) Object.assign(fields, dialect.headers(attempt));
  const request = { path, common: dialect.common[attempt.form], fields, body: dialect.body(attempt) };
  return upstream.post(request, { signal, timeouts, late });
}

function refusalOf({ status, headers }: UpstreamReply, body: Buffer, { dialect, attempt }: ToAsk): Refusal {
  const told = headers["retry-after"];
  const retryAfter = typeof told === "string" ? told : undefined;
  return understood(() => dialect.refusal({ status, body, retryAfter, model: attempt.model }));
}

/** Counts the time until what is asked for is there, or fails, for the upstream's. */
function waited<T>(facts: AttemptRecord, work: () => MaybePromise<T>): MaybePromise<T> {
  const begunAt = performance.now();
  const count = () => {
    facts.waitedMs += performance.now() - begunAt;
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
