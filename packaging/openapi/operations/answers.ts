/** Describes what an operation answers: JSON, events or bytes with their headers, and the refusals of its family. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Reason } from "../../../src/call/refusals.ts";
import { framesOf } from "../../../src/doors/rest/frames.ts";
import type { Route } from "../../../src/doors/rest/routes.ts";
import { answersOf } from "../examples/examples.ts";
import type { Example, MediaType, Operation, Response } from "../openapi.ts";
import { type JsonSchema, refTo } from "../schemas/json-schema.ts";
import type { Schemas } from "../schemas/schemas.ts";
import { type ErrorFamily, headerRefs, refusalResponse, statusesOf, upstreamResponse } from "./errors.ts";
import * as headers from "./headers.ts";
import { operationIdOf } from "./names.ts";
import type { Nature } from "./reasons.ts";

/** Returns references to the refusals of an operation, by their statuses. */
export function refusalsOf(
  family: ErrorFamily,
  { asksModel }: Nature,
  reasons: ReadonlySet<Reason>,
): Operation["responses"] {
  const ref = (name: string) => ({ $ref: `#/components/responses/${family}${name}` });
  const statuses = statusesOf(reasons, family).map(String);
  return {
    ...Object.fromEntries(statuses.map((status) => [status, ref(status)])),
    ...(asksModel ? { default: ref("Upstream") } : {}),
  };
}

/** Returns the refusals that operations refer to. `meaning` says what a reason means. */
export function sharedResponses(
  reasonsByFamily: ReadonlyMap<ErrorFamily, ReadonlySet<Reason>>,
  meaning: (reason: Reason) => string,
): Record<string, Response> {
  const entries = [...reasonsByFamily].flatMap(([family, reasons]): [string, Response][] => [
    ...statusesOf(reasons, family).map((status): [string, Response] => [
      `${family}${status}`,
      refusalResponse(status, family, reasons, meaning),
    ]),
    ...(family === "OpenAI" || family === "Anthropic"
      ? [[`${family}Upstream`, upstreamResponse(family)] as [string, Response]]
      : []),
  ]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Returns the answer of an operation that succeeds, in each of its forms. */
export function answerOf(route: Route, nature: Nature, schemas: Schemas): Response {
  const { unary, stream, bodyField } = route;
  const content: Record<string, MediaType> = {};
  const examples = answersOf(operationIdOf(route));
  const examplesOf = (kind: string) => {
    const fitting = Object.entries(examples).filter(([, example]) => example.type === kind);
    const shown = fitting.map(([name, { value }]): [string, Example] => [name, { value }]);
    return shown.length > 0 ? { examples: Object.fromEntries(shown) } : {};
  };
  if (unary)
    content["application/json"] = { schema: unarySchema(route, unary, schemas), ...examplesOf("application/json") };
  if (stream && bodyField !== "") {
    for (const type of bytesTypes(bodyField)) content[type] = { schema: bytesSchema(type) };
  }
  if (stream && (bodyField === "" || stream.input.fields.some(({ name }) => name === "stream_format"))) {
    content["text/event-stream"] = { ...eventStream(route, stream, schemas), ...examplesOf("text/event-stream") };
  }
  return { description: "The answer.", headers: headerRefs(answerHeaders(route, nature)), content };
}

/** The media types of the bytes in a field. */
function bytesTypes(field: string): readonly string[] {
  if (field === "csv") return ["text/csv"];
  if (field === "audio") return ["mpeg", "opus", "aac", "flac", "wav", "pcm"].map((type) => `audio/${type}`);
  throw new Error(`The document does not know of which types the bytes in \`${field}\` are.`);
}

function bytesSchema(type: string): JsonSchema {
  return type.startsWith("text/") ? { type: "string" } : { type: "string", format: "binary" };
}

/** An answer of key management is in an envelope, which has one of its fields as `data` and the others beside that. */
function unarySchema({ envelope }: Route, { output }: DescMethod, schemas: Schemas): JsonSchema {
  if (!envelope) return schemas.of(output);
  const { [envelope.dataField]: data, ...others } = schemas.membersOf(output);
  const name = output.name.replace(/Response$/, "Envelope");
  const required = Object.keys(others).filter((key) => others[key]?.isRequired);
  return schemas.add(name, {
    description: "The envelope of key management around the answer.",
    type: "object",
    required: ["statusCode", "message", "data", ...required],
    properties: {
      statusCode: { const: 200, type: "integer", description: "The HTTP status." },
      message: { type: "string", description: "Says what was done.", examples: [envelope.message] },
      data: data?.schema ?? {},
      ...Object.fromEntries(Object.entries(others).map(([key, { schema }]) => [key, schema])),
    },
  });
}

/** The schema is that of each event's data. A stream that breaks ends with an error. */
function eventStream({ family }: Route, { output }: DescMethod, schemas: Schemas): MediaType {
  const frames = framesOf(family);
  const error =
    { [Family.RESPONSES]: "ResponseErrorEvent", [Family.ANTHROPIC]: "AnthropicError" }[family as number] ??
    "OpenAIError";
  return {
    schema: {
      description: "The data of each event. A stream that breaks ends with an error.",
      anyOf: [schemas.of(output), refTo(error)],
    },
    "x-event-stream": {
      event_lines: family !== Family.OPENAI,
      end: frames.end.toString(),
      keep_alive: frames.keepAlive.toString(),
    },
  };
}

function answerHeaders({ family, eitherFamily }: Route, nature: Nature): Record<string, headers.Header> {
  const rates = {
    ...(family === Family.ANTHROPIC ? {} : headers.rateHeaders.openai),
    ...(family === Family.ANTHROPIC || eitherFamily ? headers.rateHeaders.anthropic : {}),
  };
  return {
    ...headers.everyAnswer,
    ...rates,
    ...(nature.asksModel ? headers.modelAnswer : {}),
    ...(nature.isRepeatable ? headers.repeatAnswer : {}),
  };
}
