/**
 * Writes one log line for each call: the RPC, the key, the result, the cause of a failure, the upstream, the usage and
 * the duration. Each member is named here, so that nothing else can be logged: no prompts or answers, no credentials.
 */
import { type DestinationStream, type Logger, pino } from "pino";
import type { AttemptRecord } from "../call/call-record.ts";
import { Reason, reasonWord } from "../call/refusals.ts";
import type { EndedCall, Observer } from "../pipeline/observe.ts";
import { answeringOf } from "./attributes.ts";
import { hundredths, inputTokens } from "./quantities.ts";

export function createCallLog(log: Logger): Observer {
  const write = createLineWriter(log);
  return {
    broke({ id, method }, { status, reason, cause }) {
      const members = { request_id: id, rpc: method.name, status, reason: reasonWord(reason) };
      log.error({ ...members, err: cause }, "call failed");
    },
    ended(call) {
      const { refusal } = call;
      if (refusal?.reason === Reason.INTERNAL) {
        const members = JSON.parse(`{${membersOf(call)}}`) as object;
        log.error({ ...members, err: refusal.cause }, "call failed");
      } else if (log.levelVal <= info) {
        const cause = refusal && causeText(refusal.cause);
        write(`${membersOf(call)}${cause === undefined ? "" : `,"cause":${JSON.stringify(cause)}`},"msg":"call"`);
      }
    },
  };
}

/** info is pino's number of the level of a call. */
const info = 30;

const { symbols } = pino;

/** PinoInternals are the internals of a pino logger that are used here, as in pino 10.4.0. */
interface PinoInternals {
  readonly [symbols.streamSym]: DestinationStream & {
    readonly [symbols.needsMetadataGsym]?: boolean;
    lastLevel?: number;
  };
  readonly [symbols.timeSym]: () => string;
  readonly [symbols.chindingsSym]: string;
}

/**
 * createLineWriter returns a function that writes a line as pino would. Pino inspects every member; those of a call
 * are plain values, and writing them directly takes a third of the time. The rest of the line is pino's own, and stays
 * the same for a millisecond.
 */
function createLineWriter(log: Logger): (members: string) => void {
  const inside = log as unknown as PinoInternals;
  const stream = inside[symbols.streamSym];
  const time = inside[symbols.timeSym];
  const bindings = inside[symbols.chindingsSym];
  let writtenAt = 0;
  let beginning = "";
  return (members) => {
    const now = Date.now();
    if (now !== writtenAt) beginning = `{"level":${info}${time()}${bindings},`;
    writtenAt = now;
    if (stream[symbols.needsMetadataGsym]) stream.lastLevel = info;
    stream.write(`${beginning}${members}}\n`);
  };
}

/** membersOf returns the members of a call as JSON, without braces. Ids and RPC names need no escaping. */
function membersOf({ arrival, caller, record, begunAt, endedAt, refusal }: EndedCall): string {
  const { operation, attempts, ownMs, used } = record;
  let members = `"request_id":"${arrival.id}","rpc":"${arrival.method.name}"`;
  if (caller) members += `,"account_id":"${caller.accountId}","key_id":"${caller.keyId}"`;
  members += `,"status":${refusal?.status ?? 200}`;
  if (refusal) members += `,"reason":"${reasonWord(refusal.reason)}"`;
  members += `,"duration_ms":${endedAt - begunAt}`;
  // Only model calls have the members below.
  if (record.model !== undefined) members += `,"model":${quoted(record.model)}`;
  const last = answeringOf(record);
  if (last) members += `,"upstream":${quoted(last.upstream)}`;
  if (operation !== undefined) members += `,"attempts":${attempts.length},"failures":${failuresOf(attempts)}`;
  if (record.replayed !== undefined) members += `,"replayed":"${record.replayed}"`;
  if (record.firstByteMs !== undefined) members += `,"first_byte_ms":${record.firstByteMs}`;
  if (ownMs !== undefined) members += `,"own_ms":${hundredths(ownMs)}`;
  if (used) members += `,"input_tokens":${inputTokens(used)},"output_tokens":${used.output}`;
  if (record.drainedMs !== undefined) members += `,"drained_ms":${record.drainedMs}`;
  if (record.cost !== undefined) members += `,"cost_millionths":${record.cost}`;
  if (record.isImplausible) members += ',"implausible_usage":true';
  if (record.waived) members += `,"waived_millionths":${record.waived}`;
  return members;
}

const escaped = /[^ !#-[\]-~]/;

function quoted(text: string): string {
  return escaped.test(text) ? JSON.stringify(text) : `"${text}"`;
}

function failuresOf(attempts: readonly AttemptRecord[]): string {
  if (attempts.every(({ failure }) => failure === undefined)) return "[]";
  return JSON.stringify(
    attempts.flatMap(({ upstream, failure }) => (failure === undefined ? [] : [{ upstream, failure }])),
  );
}

/** causeText returns only the name of errors of V8, whose messages may quote a value. */
function causeText(cause: unknown): string | undefined {
  if (!(cause instanceof Error)) return typeof cause === "string" ? cause : undefined;
  const { name, message, code } = cause as NodeJS.ErrnoException;
  const mayQuote = cause instanceof TypeError || cause instanceof SyntaxError || cause instanceof RangeError;
  return (mayQuote ? undefined : message) || code || name;
}
