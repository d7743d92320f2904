/**
 * Writes one log line a call: what was called, by which key, how it ended, what lay behind a failure, where it went, what
 * it used and how long it took. Each member is named here, so that nothing else can get in: never what was asked or
 * answered, and never a credential.
 */
import type { Logger } from "pino";
import { Reason, reasonWord } from "../errors.ts";
import type { Facts } from "../facts.ts";
import type { Ended, Observer } from "../pipeline/observe.ts";
import { inputTokens } from "./quantities.ts";

export function createCallLog(log: Logger): Observer {
  return {
    ended(call) {
      const { refusal } = call;
      const line = lineOf(call);
      if (refusal?.reason === Reason.INTERNAL) log.error({ ...line, err: refusal.cause }, "call failed");
      else log.info({ ...line, cause: causeWords(refusal?.cause) }, "call");
    },
  };
}

function lineOf({ arrival, caller, facts, begunAt, endedAt, refusal }: Ended) {
  return {
    request_id: arrival.id,
    rpc: arrival.method.name,
    account_id: caller?.accountId,
    key_id: caller?.keyId,
    status: refusal?.status ?? 200,
    reason: refusal && reasonWord(refusal.reason),
    duration_ms: endedAt - begunAt,
    ...modelLine(facts),
  };
}

/** What is told of calls of models only. */
function modelLine({ operation, model, attempts, firstByteMs, ownMs, used, cost, waived, replayed }: Facts) {
  if (operation === undefined) return {};
  return {
    model,
    upstream: attempts.at(-1)?.upstream,
    attempts: attempts.length,
    failures: attempts.flatMap(({ upstream, failure }) => (failure === undefined ? [] : [{ upstream, failure }])),
    replayed,
    first_byte_ms: firstByteMs,
    own_ms: ownMs === undefined ? undefined : Math.round(ownMs * 100) / 100,
    input_tokens: used && inputTokens(used),
    output_tokens: used?.output,
    cost_millionths: cost,
    waived_millionths: waived || undefined,
  };
}

/** What the engine says of a value may quote it: of such an error only the name is told. */
function causeWords(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : undefined;
  const { name, message, code } = cause as NodeJS.ErrnoException;
  const mayQuote = cause instanceof TypeError || cause instanceof SyntaxError || cause instanceof RangeError;
  return (mayQuote ? undefined : message) || code || name;
}
