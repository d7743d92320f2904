/**
 * Refusals in the document: the error of each family, and the answer of each status with the reasons that lead to it.
 *
 * Bodies of examples are made by the gateway's own writers.
 */
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import * as refusals from "../../../src/call/refusals.ts";
import { Reason, type Refusal, reasonWord } from "../../../src/call/refusals.ts";
import { refusalAnswer } from "../../../src/doors/rest/refusal-answers.ts";
import type { MediaType, Response } from "../openapi.ts";
import { type JsonSchema, refTo } from "../schemas/json-schema.ts";
import { everyAnswer, type Header, refusalHeaders } from "./headers.ts";

/** ErrorFamily is a format of errors: OpenAI's, Anthropic's, either by the request's headers, or the envelope of key management. */
export type ErrorFamily = "OpenAI" | "Anthropic" | "Either" | "Envelope";

export function errorFamilyOf(family: Family, isEither: boolean): ErrorFamily {
  if (isEither) return "Either";
  if (family === Family.ADMIN) return "Envelope";
  return family === Family.ANTHROPIC ? "Anthropic" : "OpenAI";
}

const formats: Readonly<Record<ErrorFamily, readonly Family[]>> = {
  OpenAI: [Family.OPENAI],
  Anthropic: [Family.ANTHROPIC],
  Either: [Family.OPENAI, Family.ANTHROPIC],
  Envelope: [Family.ADMIN],
};

const schemaNames: Readonly<Partial<Record<Family, string>>> = {
  [Family.OPENAI]: "OpenAIError",
  [Family.ANTHROPIC]: "AnthropicError",
  [Family.ADMIN]: "EnvelopeError",
};

/** samples are refusals as callers meet them, one of each reason that the public paths can have. */
const samples: readonly Refusal[] = [
  refusals.malformedBody("it is not JSON"),
  refusals.invalidType("temperature", "expected a number, got a string"),
  refusals.invalidValue("temperature", "must be less than or equal to 2"),
  refusals.missingField("model"),
  refusals.wouldBeDropped(["logit_bias"]),
  refusals.previousResponseNotFound("resp_0"),
  refusals.invalidApiKey(),
  refusals.sessionEnded(),
  refusals.insufficientCredit("balance", "0.012", "0.004"),
  refusals.budgetExceeded("0.012", {
    name: "the API key's budget of 20.00 for this month",
    available: "0.004",
    endsAt: "2026-12-01T00:00:00Z",
    header: 'key-month;limit="20.00";remaining="0.004";reset=86400',
  }),
  refusals.permissionDenied("an API key with administrator privilege"),
  refusals.modelNotPermitted("some-model"),
  refusals.modelUnpriced("some-model"),
  refusals.accountSuspended(),
  refusals.addressNotPermitted("192.0.2.7"),
  refusals.crossSite(),
  refusals.modelNotFound("some-model"),
  refusals.responseNotFound("resp_0"),
  refusals.resourceNotFound("key", "key_0"),
  refusals.requestTimeout(),
  refusals.idempotencyConflict(),
  refusals.idempotencyRunning(),
  refusals.conflict("KEYS_FULL", { most: "5000" }),
  refusals.requestTooLarge(16_777_216),
  refusals.unsupportedMediaType("application/json, application/x-www-form-urlencoded and multipart/form-data"),
  refusals.rateLimited("60 requests a minute", 1_000),
  refusals.internal(undefined),
  refusals.upstreamFailed("it broke off"),
  refusals.upstreamResting(5_000),
  refusals.upstreamBusy(1_000),
  refusals.bodiesTooMany("the gateway"),
  refusals.storageUnavailable(undefined),
  refusals.upstreamTimeout("no first byte in 60 s"),
  refusals.notCached(),
];

/** elsewhere are the reasons that no operation of the document has: other paths, other protocols, or no answer at all. */
export const elsewhere: readonly Reason[] = [
  ...[Reason.UNSPECIFIED, Reason.UNKNOWN_PATH, Reason.METHOD_NOT_ALLOWED, Reason.CANCELLED],
  ...[Reason.SIGN_IN_FAILED, Reason.SECOND_FACTOR_NEEDED, Reason.LINK_INVALID, Reason.REGISTRATION_CLOSED],
  // With the upstream's own status and body: the response `default`.
  Reason.UPSTREAM_REFUSED,
];

/** Returns the statuses of a refusal with these reasons, in order. */
export function statusesOf(reasons: ReadonlySet<Reason>, family: ErrorFamily): number[] {
  const statuses = samplesOf(reasons).flatMap((sample) =>
    formats[family].map((format) => refusalAnswer(format, sample, "").status),
  );
  return [...new Set(statuses)].sort((a, b) => a - b);
}

function samplesOf(reasons: ReadonlySet<Reason>): readonly Refusal[] {
  for (const reason of reasons) {
    if (!elsewhere.includes(reason) && !samples.some((sample) => sample.reason === reason)) {
      throw new Error(`There is no sample of a refusal with the reason ${reasonWord(reason)}.`);
    }
  }
  return samples.filter(({ reason }) => reasons.has(reason));
}

/** Returns the answer of a status in a family. `meaning` says what a reason means. */
export function refusalResponse(
  status: number,
  family: ErrorFamily,
  reasons: ReadonlySet<Reason>,
  meaning: (reason: Reason) => string,
): Response {
  const fitting = samplesOf(reasons).flatMap((sample) =>
    formats[family]
      .map((format) => ({ sample, format, answer: refusalAnswer(format, sample, "req_0") }))
      .filter(({ answer }) => answer.status === status),
  );
  const shown = new Set(fitting.map(({ sample }) => sample.reason));
  const lines = [...shown].map((reason) => `- \`${reasonWord(reason)}\`: ${meaning(reason)}`);
  const examples = fitting.map(({ sample, format, answer }) => {
    const name =
      family === "Either" ? `${reasonWord(sample.reason)}_${schemaNames[format]}` : reasonWord(sample.reason);
    return [name, { value: JSON.parse(answer.body.toString()) as unknown }] as const;
  });
  return {
    description: lines.join("\n"),
    headers: headerRefs({ ...everyAnswer, ...headersOfStatus(status) }),
    content: { "application/json": { schema: errorSchema(family), examples: Object.fromEntries(examples) } },
  };
}

/** Returns the answer for an upstream's own refusal, which has any status of an error. */
export function upstreamResponse(family: ErrorFamily): Response {
  return {
    description:
      "`UPSTREAM_REFUSED`: the upstream refused the request. Status, message and code are the upstream's own, and so is the whole body where the upstream speaks the format of this path.",
    headers: headerRefs(everyAnswer),
    content: errorContent(family),
  };
}

function errorContent(family: ErrorFamily): Readonly<Record<string, MediaType>> {
  return { "application/json": { schema: errorSchema(family) } };
}

function errorSchema(family: ErrorFamily): JsonSchema {
  const refs = formats[family].map((format) => refTo(schemaNames[format] as string));
  return refs.length === 1 ? (refs[0] as JsonSchema) : { anyOf: refs };
}

function headersOfStatus(status: number): Readonly<Record<string, Header>> {
  const fitting = Object.entries(refusalHeaders).filter(([, { statuses }]) => statuses.includes(status));
  return Object.fromEntries(fitting.map(([name, { header }]) => [name, header]));
}

export function headerRefs(headers: Readonly<Record<string, Header>>): Record<string, { $ref: string }> {
  return Object.fromEntries(Object.keys(headers).map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** errorSchemas are the bodies of refusals, by their names. */
export function errorSchemas(): Readonly<Record<string, JsonSchema>> {
  const bodies = samples.map(
    (sample) => [sample, JSON.parse(refusalAnswer(Family.OPENAI, sample, "").body.toString())] as const,
  );
  const openai = [...new Set(bodies.map(([, { error }]) => error.code as string | null))].filter(
    (code) => code !== null,
  );
  const types = [...new Set(bodies.map(([, { error }]) => error.type as string))];
  const anthropic = samples.map(
    (sample) => JSON.parse(refusalAnswer(Family.ANTHROPIC, sample, "").body.toString()).error.type as string,
  );
  const envelope = samples.map(
    (sample) => JSON.parse(refusalAnswer(Family.ADMIN, sample, "").body.toString()).code as string,
  );
  const ofOpenai = openaiError(types, openai);
  return {
    OpenAIError: ofOpenai,
    AnthropicError: anthropicError([...new Set(anthropic)]),
    EnvelopeError: envelopeError([...new Set(envelope)]),
    ResponseErrorEvent: responseErrorEvent(ofOpenai.properties?.error),
  };
}

const message: JsonSchema = { type: "string", description: "Says what is wrong and what to do. For people." };
const param: JsonSchema = {
  type: ["string", "null"],
  description: "The path of the field at fault, as `messages[0].role`. Null where none is.",
};

/** openWords are words that programs may compare; an upstream's own error may have others. */
function openWords(words: readonly string[], description: string): JsonSchema {
  return { description, anyOf: [{ type: "string", enum: [...words].sort() }, { type: "string" }] };
}

function openaiError(types: readonly string[], codes: readonly string[]): JsonSchema {
  const code = openWords(codes, "The cause, for programs to compare.");
  return {
    description: "An error in OpenAI's format.",
    type: "object",
    required: ["error"],
    properties: {
      error: {
        type: "object",
        required: ["message", "type", "param", "code"],
        properties: {
          message,
          type: openWords(types, "The kind of error."),
          param,
          code: { ...code, anyOf: [...(code.anyOf ?? []), { type: "null" }] },
        },
        additionalProperties: true,
      },
    },
    additionalProperties: true,
  };
}

function anthropicError(types: readonly string[]): JsonSchema {
  return {
    description: "An error in Anthropic's format.",
    type: "object",
    required: ["type", "error"],
    properties: {
      type: { const: "error", type: "string" },
      error: {
        type: "object",
        required: ["type", "message"],
        properties: {
          type: openWords(types, "The kind of error, for programs to compare."),
          message,
          details: {
            type: "object",
            description: "More for programs: `error_code`.",
            properties: { error_code: { type: "string" } },
            additionalProperties: true,
          },
        },
        additionalProperties: true,
      },
      request_id: { type: "string", description: "The call's id, as in the header `x-request-id`." },
    },
    additionalProperties: true,
  };
}

function envelopeError(codes: readonly string[]): JsonSchema {
  return {
    description: "An error in the envelope of key management.",
    type: "object",
    required: ["statusCode", "message", "data", "code", "param"],
    properties: {
      statusCode: { type: "integer", description: "The HTTP status." },
      message,
      data: { type: "null" },
      code: openWords(codes, "The cause, for programs to compare."),
      param,
    },
  };
}

function responseErrorEvent(error: JsonSchema = {}): JsonSchema {
  return {
    description: "The event that ends a broken stream of a response.",
    type: "object",
    required: ["type", "code", "message", "param", "sequence_number", "error"],
    properties: {
      type: { const: "error", type: "string" },
      code: { type: "string", description: "The cause, for programs to compare." },
      message,
      param,
      sequence_number: { type: "integer", minimum: 0, description: "The event's number in the stream." },
      error,
    },
  };
}
