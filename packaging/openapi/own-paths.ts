/** The gateway's own paths, which no proto declares: addresses, probes, and what it serves about itself. */
import type { Operation, PathItem, Response } from "./openapi.ts";
import type { JsonSchema } from "./schemas/json-schema.ts";

const tags = ["Gateway"];
const security: Operation["security"] = [{}];
const url: JsonSchema = { type: "string", format: "uri" };

const addresses: JsonSchema = {
  type: "object",
  required: ["name", "root_url", "base_url"],
  properties: {
    name: { type: "string", const: "model-gateway" },
    root_url: { ...url, description: "The address of the service, without a slash at its end." },
    base_url: { ...url, description: "The base address for clients of model APIs: the root address and `/v1`." },
    direct_url: { ...url, description: "The direct server, where the operator has one." },
    cdn_url: { ...url, description: "The content-delivery network, where the operator has one." },
    cn_url: { ...url, description: "The network for China, where the operator has one." },
  },
};

function json(description: string, schema: JsonSchema, value: unknown): Response {
  return { description, content: { "application/json": { schema, examples: { answer: { value } } } } };
}

const alive: JsonSchema = {
  type: "object",
  required: ["status"],
  properties: { status: { type: "string", const: "ok" } },
};

const readiness: JsonSchema = {
  type: "object",
  required: ["status"],
  properties: {
    status: { type: "string", enum: ["ok", "starting", "draining", "storage_unavailable"] },
    message: { type: "string", description: "Why the storage cannot be written." },
  },
};

const health: JsonSchema = {
  type: "object",
  required: ["status", "db"],
  properties: {
    status: { type: "string", enum: ["healthy", "starting", "draining", "storage_unavailable"] },
    db: { type: "string", enum: ["connected", "disconnected"], description: "Whether the database can be written." },
  },
};

function get(operationId: string, summary: string, description: string, responses: Operation["responses"]): PathItem {
  return { get: { operationId, tags, summary, description, security, responses } };
}

const isAlive = "For probes that restart a process which hangs.";
const isReady = "For probes that send calls elsewhere while they cannot be served.";
const likeLitellm = "At the path, and in the form, that probes of a LiteLLM proxy use.";

const saysAlive = {
  "200": json("The process runs.", { type: "string", const: "I'm alive!" }, "I'm alive!"),
};

const healthAnswers = {
  "200": json("Calls are taken.", health, { status: "healthy", db: "connected" }),
  "503": json("Calls are not taken.", health, { status: "draining", db: "connected" }),
};

/** ownPaths are served without a key. */
export const ownPaths: Readonly<Record<string, PathItem>> = {
  "/": get(
    "getAddresses",
    "Returns the public addresses of the service",
    "Browsers are sent to the dashboard instead.",
    {
      "200": json("The addresses.", addresses, {
        name: "model-gateway",
        root_url: "http://127.0.0.1:8080",
        base_url: "http://127.0.0.1:8080/v1",
      }),
    },
  ),
  "/healthz": get("checkLiveness", "Tells that the process runs", isAlive, {
    "200": json("The process runs.", alive, { status: "ok" }),
  }),
  "/livez": get("checkLivez", "Tells that the process runs", isAlive, {
    "200": json("The process runs.", alive, { status: "ok" }),
  }),
  "/readyz": get("checkReadiness", "Tells whether calls are taken", isReady, {
    "200": json("Calls are taken.", readiness, { status: "ok" }),
    "503": json("Calls are not taken: the gateway starts, drains, or cannot write its database.", readiness, {
      status: "draining",
    }),
  }),
  "/health": get(
    "checkHealth",
    "Tells whether calls are taken",
    `${likeLitellm} No model is asked: the dashboard shows how upstreams stand.`,
    healthAnswers,
  ),
  "/health/readiness": get("checkHealthReadiness", "Tells whether calls are taken", likeLitellm, healthAnswers),
  "/health/liveliness": get("checkHealthLiveliness", "Tells that the process runs", likeLitellm, saysAlive),
  "/health/liveness": get("checkHealthLiveness", "Tells that the process runs", likeLitellm, saysAlive),
  "/openapi.json": get(
    "getOpenApi",
    "Returns this document",
    "Cached by its `etag`, and open to pages of all origins.",
    {
      "200": {
        description: "The document.",
        content: { "application/json": { schema: { type: "object", additionalProperties: true } } },
      },
      "304": { description: "The document has not changed since the `etag` in `if-none-match`." },
    },
  ),
  "/llms.txt": get(
    "getLlmsTxt",
    "Returns an index of the documentation for language models",
    "In the form of llmstxt.org.",
    {
      "200": { description: "The index, as Markdown.", content: { "text/plain": { schema: { type: "string" } } } },
      "304": { description: "The index has not changed since the `etag` in `if-none-match`." },
    },
  ),
};
