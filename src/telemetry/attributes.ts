/**
 * What spans and measurements say of calls and attempts, by the semantic conventions of OpenTelemetry for generative AI where
 * these have a name for it, and as `model_gateway.…` otherwise. Each attribute is named here, so that nothing else can get in:
 * never what was asked or answered, never a credential, and in measurements nothing that a caller can invent.
 */
import type { Attributes } from "@opentelemetry/api";
import { Outcome } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { AttemptRecord, CallRecord } from "../call/call-record.ts";
import { Reason, reasonWord } from "../call/refusals.ts";
import type { EndedCall } from "../pipeline/observe.ts";
import { inputTokens, seconds, units } from "./quantities.ts";

/** The conventions' names of operations; what they have none for keeps its own. */
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

/** The name of a span: what was asked, of which model. */
export function spanName(operation: string, model: string | undefined): string {
  const name = operationName(operation);
  return model === undefined ? name : `${name} ${model}`;
}

/** Where an upstream is. */
export type Address = Readonly<{ "server.address": string; "server.port": number }>;

/** By the upstreams' names; the embedded models are nowhere. */
export type Addresses = ReadonlyMap<string, Address>;

export function addressesOf(upstreams: readonly { readonly name: string; readonly base_url: string }[]): Addresses {
  return new Map(
    upstreams.map(({ name, base_url }) => {
      const { hostname, port, protocol } = new URL(base_url);
      return [name, { "server.address": hostname, "server.port": Number(port) || (protocol === "http:" ? 80 : 443) }];
    }),
  );
}

/** What both spans and measurements say of a call of a model. Whom no upstream was asked for, the gateway answered. */
export function callAttributes(call: EndedCall): Attributes {
  const { attempts, operation = "", model, outcome } = call.record;
  const answering = answeringOf(attempts);
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

/** What spans say besides. */
export function callDetails({ caller, record, refusal }: EndedCall): Attributes {
  return {
    "model_gateway.account_id": caller?.accountId || undefined,
    "model_gateway.key_id": caller?.keyId || undefined,
    "model_gateway.status": refusal?.status ?? 200,
    ...(record.operation === undefined ? {} : modelDetails(record)),
  };
}

function modelDetails({ attempts, form, firstByteMs, ownMs, used, cost, outcome, replayed }: CallRecord): Attributes {
  const isStream = form === "stream";
  return {
    "gen_ai.request.stream": isStream || undefined,
    "gen_ai.response.time_to_first_chunk": isStream && firstByteMs !== undefined ? seconds(firstByteMs) : undefined,
    "gen_ai.usage.input_tokens": used && inputTokens(used),
    "gen_ai.usage.output_tokens": used?.output,
    "gen_ai.usage.cache_read.input_tokens": used?.cacheRead || undefined,
    "gen_ai.usage.cache_creation.input_tokens": used && (used.cacheWrite + used.cacheWriteHour || undefined),
    "gen_ai.usage.reasoning.output_tokens": used?.reasoning || undefined,
    "model_gateway.upstream": answeringOf(attempts)?.upstream,
    "model_gateway.attempts": attempts.length,
    "model_gateway.outcome": outcome === undefined ? undefined : outcomeWords.get(outcome),
    "model_gateway.cost": cost === undefined ? undefined : units(cost),
    "model_gateway.own_ms": ownMs,
    "model_gateway.replayed": replayed,
  };
}

/** What both spans and measurements say of an attempt. */
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

/** What spans say besides. `number` counts from 1. */
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

/** Returns why a call did not end well, as one of a few words. A stream whose caller left was refused nothing. */
export function errorOf({ record, refusal }: EndedCall): string | undefined {
  if (refusal) return reasonWord(refusal.reason);
  return record.outcome === Outcome.LEFT ? reasonWord(Reason.CANCELLED) : undefined;
}

/**
 * A failure is told in sentences; what tells kinds of them apart is the status, or the system's code of an error, within. What
 * has neither is `_OTHER`, as the conventions have it.
 */
function attemptErrorOf({ failure, isOvertaken }: AttemptRecord): string | undefined {
  if (isOvertaken) return "overtaken";
  if (failure === undefined) return undefined;
  return /(?<=\bstatus )\d{3}\b|(?<=\()[A-Z][A-Z_]{2,40}(?=\)$)/.exec(failure)?.[0] ?? "_OTHER";
}

/** The one that answered, or was asked last. */
function answeringOf(attempts: CallRecord["attempts"]): AttemptRecord | undefined {
  return attempts.findLast(({ failure, isOvertaken }) => failure === undefined && !isOvertaken) ?? attempts.at(-1);
}

const outcomeWords = new Map<number, string>(
  Object.entries(Outcome).map(([word, number]) => [number, word.toLowerCase()]),
);
