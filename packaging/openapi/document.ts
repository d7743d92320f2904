/** Puts the OpenAPI document together. */
import { getOption } from "@bufbuild/protobuf";
import { word } from "../../gen/modelgateway/v1/wire_pb.ts";
import type { Reason } from "../../src/call/refusals.ts";
import { reasonWord } from "../../src/call/refusals.ts";
import { compileRoutes, type Route } from "../../src/doors/rest/routes.ts";
import type { Document, HeaderObject, Info, Parameter } from "./openapi.ts";
import { sharedResponses } from "./operations/answers.ts";
import { type ErrorFamily, errorSchemas } from "./operations/errors.ts";
import * as headers from "./operations/headers.ts";
import { operationIdOf, tagOf } from "./operations/names.ts";
import { pathsOf } from "./operations/operations.ts";
import { ownPaths } from "./own-paths.ts";
import type { Image } from "./protos/image.ts";
import { createWords, type Words } from "./protos/words.ts";
import { createSchemas } from "./schemas/schemas.ts";

/** Makes the document of these protos. `version` is the gateway's. */
export function documentOf(image: Image, version: string): Document {
  const routes = compileRoutes(image.services).all;
  const words = createWords(image, operationIdsOf(routes));
  const methods = routes.flatMap(({ unary, stream }) => [unary, stream].filter((method) => method !== undefined));
  const schemas = createSchemas(
    words,
    methods.map(({ input }) => input),
  );
  for (const [name, schema] of Object.entries(errorSchemas())) schemas.add(name, schema);
  const reasonsByFamily = new Map<ErrorFamily, Set<Reason>>();
  const addReasons = (family: ErrorFamily, reasons: ReadonlySet<Reason>) => {
    reasonsByFamily.set(family, new Set([...(reasonsByFamily.get(family) ?? []), ...reasons]));
  };
  const paths = { ...pathsOf(routes, { words, schemas, addReasons }), ...ownPaths };
  const tags = new Map(methods.map((method) => [tagOf(method), words.headline(method.input.file.name)]));
  return {
    openapi: "3.1.1",
    info: infoOf(version),
    servers,
    tags: [
      ...[...tags].map(([name, description]) => ({ name, description })),
      { name: "Gateway", description: "The gateway itself: its addresses, probes, and this document" },
    ],
    paths,
    components: {
      schemas: schemas.all(),
      responses: sharedResponses(reasonsByFamily, meaningOf(image, words)),
      parameters: parameters(),
      headers: answerHeaders(),
      securitySchemes,
    },
  };
}

function operationIdsOf(routes: readonly Route[]): ReadonlyMap<string, string> {
  const named = (route: Route) => [route.unary, route.stream].filter((method) => method !== undefined);
  return new Map(routes.flatMap((route) => named(route).map((method) => [method.name, operationIdOf(route)])));
}

/** Returns what says the meaning of a reason: its comment, without the status at the end. */
function meaningOf(image: Image, words: Words): (reason: Reason) => string {
  const values = image.enums.find(({ name }) => name === "Reason")?.values ?? [];
  return (reason) => {
    const value = values.find(({ number }) => number === reason);
    if (!value) throw new Error(`The protos have no reason ${reasonWord(reason)}.`);
    if (getOption(value, word) !== "") throw new Error(`${value} has a word, and reasons have none`);
    return words.describe(value).replace(/ \((?:\d{3}|the upstream's status)\)(?=\.)/, "");
  };
}

function infoOf(version: string): Info {
  return {
    title: "Model Gateway",
    version,
    summary: "Generative models behind one address: OpenAI's and Anthropic's APIs, with keys, limits and usage.",
    description: [
      "Clients of OpenAI's and Anthropic's APIs work with the base address changed. Every chat model is called in any of the formats, whatever its upstream speaks: the gateway translates, and names in `x-gateway-dropped` what could not be.",
      "**Paths.** `/v1` may be left out, or stand twice; `x-aliases` of a path lists what else it is served at. Slashes in a row count as one, and one at the end is ignored. Where nothing is served the answer is 404 with the code `unknown_url`, and for a wrong method 405 with `allow`. `HEAD` works where `GET` does.",
      "**Bodies** are JSON, forms or multipart, on every path. In a form numbers and booleans are read as people write them, and lists are repeated fields; objects are JSON texts, or fields as `a[b]`. A multipart form has no files. Fields that a schema does not name are passed on to an upstream of the same format; key management refuses them.",
      "**Streams** are server-sent events whose data the schemas describe. `x-event-stream` tells whether events have names, how a stream ends, and how it fills silence.",
      "**WebSockets.** `GET /v1/responses` with `Upgrade: websocket` serves responses over a WebSocket, which OpenAPI cannot describe.",
      "**RPC.** Every operation is an RPC, too, named in `x-rpc`: by gRPC, gRPC-Web and Connect on the same port.",
    ].join("\n\n"),
    license: { name: "Apache-2.0", identifier: "Apache-2.0" },
  };
}

const servers: readonly object[] = [
  { url: "/", description: "The gateway that serves this document" },
  {
    url: "{root_url}",
    description: "Another gateway",
    variables: { root_url: { default: "http://127.0.0.1:8080", description: "Its address, without `/v1`" } },
  },
];

const securitySchemes: Readonly<Record<string, object>> = {
  bearer: {
    type: "http",
    scheme: "bearer",
    description:
      "An API key, as OpenAI's clients send it: `Authorization: Bearer sk-…`. Key management and usage need one with the administrator privilege, which only the dashboard grants.",
  },
  apiKey: {
    type: "apiKey",
    in: "header",
    name: "x-api-key",
    description: "An API key, as Anthropic's clients send it.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: "gateway_session",
    description:
      "The session of a person who is signed in to the dashboard. Over https its name is `__Host-gateway_session`.",
  },
  dashboard: {
    type: "apiKey",
    in: "header",
    name: "x-gateway-session",
    description: "Sent as `1` by the dashboard's pages beside the session. Pages of other sites cannot send it.",
  },
  sessionKey: {
    type: "apiKey",
    in: "header",
    name: "x-gateway-key",
    description: "The id of the account's key by which a session calls a model.",
  },
};

function parameters(): Record<string, Parameter> {
  const all = { ...headers.everyRequest, ...headers.bodyHeaders, ...headers.modelHeaders, ...headers.versionHeaders };
  const entries = Object.entries(all).map(([name, { description, schema }]): [string, Parameter] => [
    name,
    { name, in: "header", description, schema },
  ]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function answerHeaders(): Record<string, HeaderObject> {
  const refusals = Object.entries(headers.refusalHeaders).map(([name, { header }]) => [name, header] as const);
  const all = {
    ...headers.everyAnswer,
    ...headers.rateHeaders.openai,
    ...headers.rateHeaders.anthropic,
    ...headers.modelAnswer,
    ...headers.repeatAnswer,
    ...Object.fromEntries(refusals),
  };
  return Object.fromEntries(
    Object.entries(all)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { description, schema }]) => [name, { description, schema }]),
  );
}
