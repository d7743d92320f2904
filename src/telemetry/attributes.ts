/**
 * The attributes of spans and measurements, named by OpenTelemetry's semantic conventions for generative AI or, where
 * these have no name, `model_gateway.…`.
 *
 * Each attribute is named here, so that nothing else can be exported: no prompts or answers, no credentials, and in
 * measurements nothing that a caller can invent.
 */
import type { Attributes } from "@opentelemetry/api";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { AttemptRecord, CallRecord } from "../call/call-record.ts";
import { Reason, reasonWord } from "../call/refusals.ts";
import type { EndedCall } from "../pipeline/observe.ts";
import { inputTokens, seconds, units } from "./quantities.ts";

/** operationNames maps operations to the conventions' names; others keep their own. */
const operationNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    messages: "chat",
    responses: "chat",
    completions: "text_completion",
  }),
);

function operationName(operation: string): string {
  return operationNames.get(operation) ?? operation;
}

/** spanName returns the name of a span: its operation and model. */
export function spanName(operation: string, model: string | undefined): string {
  const name = operationName(operation);
  return model === undefined ? name : `${name} ${model}`;
}

/** Address is the network address of an upstream. */
export type Address = Readonly<{ "server.address": string; "server.port": number }>;

/** Addresses are the upstreams' addresses by name. The embedded models have none. */
export type Addresses = Pick<ReadonlyMap<string, Address>, "get">;

type Upstreams = readonly { readonly name: string; readonly base_url: string }[];

/** addressesOf returns the addresses of the upstreams as they are when one is looked for. `upstreams` returns another list for others. */
export function addressesOf(upstreams: () => Upstreams): Addresses {
  let seen: Upstreams | undefined;
  let addresses: ReadonlyMap<string, Address> = new Map();
  return {
    get(name) {
      const current = upstreams();
      if (current !== seen) addresses = readAddresses(current);
      seen = current;
      return addresses.get(name);
    },
  };
}

function readAddresses(upstreams: Upstreams): ReadonlyMap<string, Address> {
  return new Map(
    upstreams.map(({ name, base_url }) => {
      const { hostname, port, protocol } = new URL(base_url);
      return [name, { "server.address": hostname, "server.port": Number(port) || (protocol === "http:" ? 80 : 443) }];
    }),
  );
}

/**
 * callAttributes are the attributes of a model call for spans and measurements. A call without an attempt was answered
 * by the gateway.
 */
export function callAttributes(call: EndedCall): Attributes {
  const { attempts, operation = "", model, outcome } = call.record;
  const answering = answeringOf(call.record);
  const attributes: Attributes = {
    "gen_ai.operation.name": operationName(operation),
    "gen_ai.provider.name": answering?.kind ?? "model_gateway",
  };
  const asked = attempts[0]?.modelId ?? model;
  if (asked !== undefined) attributes["gen_ai.request.model"] = asked;
  if (outcome === Outcome.ANSWERED && model !== undefined) attributes["gen_ai.response.model"] = model;
  const error = errorOf(call);
  if (error !== undefined) attributes["error.type"] = error;
  return attributes;
}

/** callDetails are a call's further attributes, for spans only. */
export function callDetails({ caller, record, refusal }: EndedCall): Attributes {
  return {
    "model_gateway.account_id": caller?.accountId || undefined,
    "model_gateway.key_id": caller?.keyId || undefined,
    "model_gateway.status": refusal?.status ?? 200,
    ...(record.operation === undefined ? {} : modelDetails(record)),
  };
}

function modelDetails(record: CallRecord): Attributes {
  const { attempts, form, firstByteMs, ownMs, used, cost, outcome, replayed } = record;
  const isStream = form === "stream";
  return {
    "gen_ai.request.stream": isStream || undefined,
    "gen_ai.response.time_to_first_chunk": isStream && firstByteMs !== undefined ? seconds(firstByteMs) : undefined,
    "gen_ai.usage.input_tokens": used && inputTokens(used),
    "gen_ai.usage.output_tokens": used?.output,
    "gen_ai.usage.cache_read.input_tokens": used?.cacheRead || undefined,
    "gen_ai.usage.cache_creation.input_tokens": used && (used.cacheWrite + used.cacheWriteHour || undefined),
    "gen_ai.usage.reasoning.output_tokens": used?.reasoning || undefined,
    "model_gateway.upstream": answeringOf(record)?.upstream,
    "model_gateway.attempts": attempts.length,
    "model_gateway.outcome": outcome === undefined ? undefined : outcomeWords.get(outcome),
    "model_gateway.cost": cost === undefined ? undefined : units(cost),
    "model_gateway.own_ms": ownMs,
    "model_gateway.replayed": replayed,
  };
}

/** attemptAttributes are the attributes of an attempt for spans and measurements. */
export function attemptAttributes(attempt: AttemptRecord, { record }: EndedCall, addresses: Addresses): Attributes {
  const attributes: Attributes = {
    "gen_ai.operation.name": operationName(record.operation ?? ""),
    "gen_ai.provider.name": attempt.kind,
    "gen_ai.request.model": attempt.model,
    "model_gateway.upstream": attempt.upstream,
    ...addresses.get(attempt.upstream),
  };
  const error = attemptErrorOf(attempt);
  if (error !== undefined) attributes["error.type"] = error;
  return attributes;
}

/** attemptDetails are an attempt's further attributes, for spans only. `number` counts from 1. */
export function attemptDetails(attempt: AttemptRecord, number: number): Attributes {
  return {
    "model_gateway.attempt": number,
    "model_gateway.model": attempt.modelId,
    "model_gateway.queued_ms": attempt.queuedMs || undefined,
    "model_gateway.waited_ms": attempt.waitedMs,
    "model_gateway.first_byte_ms": attempt.firstByteMs,
    "model_gateway.hedge": attempt.isHedge,
    "model_gateway.overtaken": attempt.isOvertaken,
  };
}

/**
 * errorOf returns the error type of a call that did not end well, from a fixed set. A stream whose caller disconnected
 * has no refusal.
 */
export function errorOf({ record, refusal }: EndedCall): string | undefined {
  if (refusal) return reasonWord(refusal.reason);
  return record.outcome === Outcome.LEFT ? reasonWord(Reason.CANCELLED) : undefined;
}

/**
 * attemptErrorOf returns a failure's error type: the status or the system's error code in its message, or `_OTHER`, as
 * the conventions require.
 */
function attemptErrorOf({ failure, outcome, isOvertaken }: AttemptRecord): string | undefined {
  if (isOvertaken) return "overtaken";
  if (outcome === Outcome.LEFT) return reasonWord(Reason.CANCELLED);
  if (failure === undefined) return undefined;
  return /(?<=\bstatus )\d{3}\b|(?<=\()[A-Z][A-Z_]{2,40}(?=\)$)/.exec(failure)?.[0] ?? "_OTHER";
}

/** answeringOf returns the attempt that answered, or whose failure the caller was told. */
export function answeringOf({ attempts, lastAttempt }: CallRecord): AttemptRecord | undefined {
  return lastAttempt ?? attempts.at(-1);
}

const outcomeWords = new Map<number, string>(
  Object.entries(Outcome).map(([word, number]) => [number, word.toLowerCase()]),
);
