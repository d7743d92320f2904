/**
 * Writes one log line a call: what was called, by which key, how it ended, what lay behind a failure, where it went, what
 * it used and how long it took. Each member is named here, so that nothing else can get in: never what was asked or
 * answered, and never a credential.
 */
import { type Logger, pino } from "pino";
import { Reason, reasonWord } from "../errors.ts";
import type { AttemptFacts } from "../facts.ts";
import type { Ended, Observer } from "../pipeline/observe.ts";
import { inputTokens } from "./quantities.ts";

export function createCallLog(log: Logger): Observer {
  const lines = inOneGo(log);
  return {
    ended(call) {
      const { refusal } = call;
      if (refusal?.reason !== Reason.INTERNAL) lines.info(lineOf(call, causeWords(refusal?.cause), "call"));
      else log.error({ ...lineOf(call), err: refusal.cause }, "call failed");
    },
  };
}

/**
 * Pino asks of each member what it needs. Those of a call are plain, and written as JSON all at once they take a third of the
 * time; what stands around them is pino's own. This takes the place of an inner method of pino's, as it is in 10.4.0.
 */
function inOneGo(log: Logger): Logger {
  const { asJsonSym, chindingsSym } = pino.symbols;
  const { [chindingsSym]: bindings } = log as unknown as Readonly<Record<typeof chindingsSym, string>>;
  const asJson = (line: object, _: unknown, level: number, time: string) =>
    `{"level":${level}${time}${bindings},${JSON.stringify(line).slice(1)}\n`;
  return Object.assign(log.child({}), { [asJsonSym]: asJson });
}

function lineOf({ arrival, caller, facts, begunAt, endedAt, refusal }: Ended, cause?: string, msg?: string) {
  const { operation, attempts, ownMs, used } = facts;
  const isOfModel = operation !== undefined;
  return {
    request_id: arrival.id,
    rpc: arrival.method.name,
    account_id: caller?.accountId,
    key_id: caller?.keyId,
    status: refusal?.status ?? 200,
    reason: refusal && reasonWord(refusal.reason),
    duration_ms: endedAt - begunAt,
    // The others have none of it.
    model: facts.model,
    upstream: attempts.at(-1)?.upstream,
    attempts: isOfModel ? attempts.length : undefined,
    failures: isOfModel ? failuresOf(attempts) : undefined,
    replayed: facts.replayed,
    first_byte_ms: facts.firstByteMs,
    own_ms: ownMs === undefined ? undefined : Math.round(ownMs * 100) / 100,
    input_tokens: used && inputTokens(used),
    output_tokens: used?.output,
    cost_millionths: facts.cost,
    waived_millionths: facts.waived || undefined,
    cause,
    msg,
  };
}

function failuresOf(attempts: readonly AttemptFacts[]) {
  return attempts.flatMap(({ upstream, failure }) => (failure === undefined ? [] : [{ upstream, failure }]));
}

/** What the engine says of a value may quote it: of such an error only the name is told. */
function causeWords(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : undefined;
  const { name, message, code } = cause as NodeJS.ErrnoException;
  const mayQuote = cause instanceof TypeError || cause instanceof SyntaxError || cause instanceof RangeError;
  return (mayQuote ? undefined : message) || code || name;
}
