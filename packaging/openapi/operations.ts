/**
 * The routes of the gateway as operations of the document.
 *
 * A unary RPC and its streaming twin are one operation, whose answer is JSON or an event stream. An additional path of a route is
 * an alias, which refers to the first.
 */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { access, Caller, Family } from "../../gen/modelgateway/v1/access_pb.ts";
import type { Reason } from "../../src/call/refusals.ts";
import { framesOf } from "../../src/doors/rest/frames.ts";
import type { Route } from "../../src/doors/rest/routes.ts";
import {
  type ErrorFamily,
  errorFamilyOf,
  headerRefs,
  refusalResponse,
  statusesOf,
  upstreamResponse,
} from "./errors.ts";
import { answersOf, parametersOf as parameterExamplesOf, requestsOf } from "./examples/examples.ts";
import * as headers from "./headers.ts";
import { type JsonSchema, refTo } from "./json-schema.ts";
import {
  aliasOf,
  type Example,
  type MediaType,
  type Operation,
  type Parameter,
  type PathItem,
  type Reference,
  type RequestBody,
  type Response,
} from "./openapi.ts";
import { type Nature, natureOf, reasonsFor } from "./reasons.ts";
import type { MemberSchema, Schemas } from "./schemas.ts";
import type { Words } from "./words.ts";

export interface OperationParts {
  readonly words: Words;
  readonly schemas: Schemas;
  readonly meaning: (reason: Reason) => string;
  /** Adds a response of the document. All operations of a family share one for a status. */
  readonly addReasons: (family: ErrorFamily, reasons: ReadonlySet<Reason>) => void;
}

/** Returns the paths of these routes. */
export function pathsOf(routes: readonly Route[], parts: OperationParts): Record<string, PathItem> {
  const paths: Record<string, PathItem> = {};
  const first = new Map<string, string>();
  for (const route of routes) {
    const path = publicPath(route);
    const original = first.get(operationIdOf(route));
    if (original === undefined) {
      first.set(operationIdOf(route), path);
      paths[path] = { ...paths[path], [route.httpMethod.toLowerCase()]: operationOf(route, parts) };
    } else {
      paths[path] = aliasOf(original);
    }
  }
  return paths;
}

/** Returns the path of a route as OpenAPI writes it, without the spans of variables. */
export function publicPath({ template }: Route): string {
  return template.text.replaceAll(/\{(\w+)=[^}]*\}/g, "{$1}");
}

/** Names an operation by its RPC: a stream that alone has its path makes what it streams. */
export function operationIdOf({ unary, stream }: Route): string {
  return (unary ?? stream)?.localName.replace(/^stream/, "create") ?? "";
}

function operationOf(route: Route, parts: OperationParts): Operation {
  const method = (route.unary ?? route.stream) as DescMethod;
  const { words, schemas, addReasons } = parts;
  const inPath = route.template.variables.map(({ name }) => name);
  const members = schemas.membersOf(method.input);
  const required = Object.keys(members).filter((key) => members[key]?.isRequired && !inPath.includes(key));
  const nature = natureOf(method, route.httpMethod, required);
  const family = errorFamilyOf(route.family, route.eitherFamily);
  const reasons = reasonsFor(nature);
  addReasons(family, reasons);
  const body = nature.hasBody ? bodyOf(route, method, schemas, required) : undefined;
  const { summary, description } = words.summarise(method);
  const told = [description, ...(route.stream && route.unary ? [streamNote(route)] : [])].filter((text) => text !== "");
  return {
    operationId: operationIdOf(route),
    tags: [tagOf(method)],
    summary,
    ...(told.length > 0 ? { description: told.join("\n\n") } : {}),
    security: securityOf(method),
    parameters: [...parametersOf(route, members), ...headerParameters(route, nature)],
    ...(body ? { requestBody: body } : {}),
    responses: responsesOf(route, nature, family, reasons, parts),
    "x-rpc": {
      ...(route.unary ? { unary: rpcPath(route.unary) } : {}),
      ...(route.stream ? { stream: rpcPath(route.stream) } : {}),
    },
  };
}

function rpcPath(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

/** Operations are grouped by the proto that their request is from: `chat`, `keys`. */
export function tagOf(method: DescMethod): string {
  const file = method.input.file.name.split("/").at(-1) ?? "";
  return file.charAt(0).toUpperCase() + file.slice(1);
}

function streamNote({ httpMethod, selectedBy }: Route): string {
  return httpMethod === "GET"
    ? `With \`?${selectedBy}=true\` the answer is a stream of events.`
    : `With \`"${selectedBy}": true\` the answer is a stream of events.`;
}

function securityOf(method: DescMethod): Operation["security"] {
  const { caller } = getOption(method, access);
  if (caller === Caller.ADMIN_KEY) {
    return [{ bearer: ["administrator"] }, { apiKey: ["administrator"] }, { session: [], dashboard: [] }];
  }
  if (caller !== Caller.KEY) throw new Error(`${method} has a path, and no security of the document fits its callers`);
  return [{ bearer: [] }, { apiKey: [] }, { session: [], dashboard: [], sessionKey: [] }];
}

function parametersOf(route: Route, members: Readonly<Record<string, MemberSchema>>): Parameter[] {
  const { httpMethod, template } = route;
  const variables = new Map(template.variables.map((variable) => [variable.name, variable]));
  const examples = parameterExamplesOf(operationIdOf(route));
  return Object.entries(members).flatMap(([name, { schema: all, isRequired }]): Parameter[] => {
    const { description = "", ...schema } = all;
    if (variables.has(name)) {
      const note = template.segments.at(-1) === "**" ? " Slashes in it may be sent as they are, or as `%2F`." : "";
      return [{ name, in: "path", description: description + note, required: true, schema, ...shown(examples[name]) }];
    }
    if (httpMethod === "POST") return [];
    return [
      {
        name,
        in: "query",
        description,
        ...(isRequired ? { required: true } : {}),
        schema: withoutNull(schema),
        ...shown(examples[name]),
      },
    ];
  });
}

function shown(value: unknown): Pick<Parameter, "examples"> {
  return value === undefined ? {} : { examples: { example: { value } } };
}

/** A query has no null. */
function withoutNull({ type, anyOf, ...others }: JsonSchema): JsonSchema {
  const choices = anyOf?.filter((choice) => choice.type !== "null");
  if (choices) return choices.length === 1 ? { ...others, ...choices[0] } : { ...others, anyOf: choices };
  const types = [type ?? []].flat().filter((one) => one !== "null");
  return types.length > 0 ? { ...others, type: types.length === 1 ? (types[0] as string) : types } : others;
}

function headerParameters({ family, eitherFamily }: Route, nature: Nature): Reference[] {
  const names = Object.keys({
    ...(nature.asksModel ? headers.modelHeaders : {}),
    ...(nature.isRepeatable ? headers.repeatHeaders : {}),
    ...(family === Family.ANTHROPIC || eitherFamily ? headers.versionHeaders : {}),
    ...(nature.hasBody ? headers.bodyHeaders : {}),
    ...headers.everyRequest,
  });
  const fitting = nature.isRepeatable ? names : names.filter((name) => !(name in headers.repeatHeaders));
  return fitting.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

const bodyTypes = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"];

/** Returns undefined where the path says all. */
function bodyOf(
  route: Route,
  method: DescMethod,
  schemas: Schemas,
  required: readonly string[],
): RequestBody | undefined {
  const inPath = route.template.variables.map(({ name }) => name);
  if (Object.keys(schemas.membersOf(method.input)).every((key) => inPath.includes(key))) return undefined;
  const schema = schemas.of(method.input);
  const examples = requestsOf(operationIdOf(route));
  const content = bodyTypes.map((type): [string, MediaType] => {
    const fitting = Object.entries(examples).filter(
      ([, { form = false }]) => type === "application/json" || (form && type !== "multipart/form-data"),
    );
    const told = fitting.map(([name, { summary, value }]): [string, Example] => [name, { summary, value }]);
    return [type, { schema, ...(told.length > 0 ? { examples: Object.fromEntries(told) } : {}) }];
  });
  return { required: required.length > 0, content: Object.fromEntries(content) };
}

function responsesOf(
  route: Route,
  nature: Nature,
  family: ErrorFamily,
  reasons: ReadonlySet<Reason>,
  parts: OperationParts,
): Operation["responses"] {
  const refusals = statusesOf(reasons, family).map((status) => [
    String(status),
    { $ref: `#/components/responses/${family}${status}` },
  ]);
  return {
    "200": answerOf(route, nature, parts),
    ...Object.fromEntries(refusals),
    ...(nature.asksModel ? { default: { $ref: `#/components/responses/${family}Upstream` } } : {}),
  };
}

/** Returns the answers of a family that operations refer to. */
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

function answerOf(route: Route, nature: Nature, parts: OperationParts): Response {
  const { unary, stream, bodyField } = route;
  const content: Record<string, MediaType> = {};
  const examples = answersOf(operationIdOf(route));
  const told = (kind: string) => {
    const fitting = Object.entries(examples).filter(([, example]) => example.type === kind);
    const shown = fitting.map(([name, { value }]): [string, Example] => [name, { value }]);
    return shown.length > 0 ? { examples: Object.fromEntries(shown) } : {};
  };
  if (unary)
    content["application/json"] = { schema: unarySchema(route, unary, parts.schemas), ...told("application/json") };
  if (stream && bodyField !== "") {
    for (const type of bytesTypes(bodyField)) content[type] = { schema: bytesSchema(type) };
  }
  if (stream && (bodyField === "" || stream.input.fields.some(({ name }) => name === "stream_format"))) {
    content["text/event-stream"] = { ...eventStream(route, stream, parts.schemas), ...told("text/event-stream") };
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
