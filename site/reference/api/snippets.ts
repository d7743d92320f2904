/**
 * Writes an example of an operation as curl, Python, TypeScript and gRPC. What an id stands for is read from the environment:
 * RESPONSE_ID and KEY_ID, as the keys are from GATEWAY_API_KEY and ADMIN_KEY.
 */
import { type DescMethod, type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { code, keywordArguments, literal } from "./literals.ts";
import type { Operation } from "./openapi.ts";

export interface Snippet {
  readonly title: string;
  readonly language: "sh" | "python" | "ts";
  readonly code: string;
}

/** Call is an operation with the values of an example. */
interface Call {
  readonly operation: Operation;
  /** The request's body; undefined where there is none. */
  readonly body: JsonObject | undefined;
  readonly isStream: boolean;
}

const rootUrl = "http://127.0.0.1:8080";

export function snippetsFor(operation: Operation, body: JsonObject | undefined): Snippet[] {
  const call = { operation, body, isStream: body?.stream === true || body?.stream_format === "sse" };
  const snippets: Snippet[] = [
    { title: "curl", language: "sh", code: curl(call) },
    { title: "Python", language: "python", code: pythonBySdk(call) ?? pythonAlone(call) },
    { title: "TypeScript", language: "ts", code: typescriptBySdk(call) ?? typescriptAlone(call) },
  ];
  const grpc = bufCurl(call);
  return grpc === undefined ? snippets : [...snippets, { title: "gRPC", language: "sh", code: grpc }];
}

/** The variables that stand for ids of the examples. */
const idVariables: readonly (readonly [RegExp, string])[] = [
  [/^resp_\w+$/, "RESPONSE_ID"],
  [/^key_\w+$/, "KEY_ID"],
];

function variableFor(value: unknown): string | undefined {
  return typeof value === "string" ? idVariables.find(([pattern]) => pattern.test(value))?.[1] : undefined;
}

/** Replaces ids of the examples, wherever they stand. */
function withVariables(value: unknown, replace: (variable: string) => unknown): unknown {
  const variable = variableFor(value);
  if (variable !== undefined) return replace(variable);
  if (Array.isArray(value)) return value.map((one) => withVariables(one, replace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withVariables(one, replace)]));
}

const hasVariable = (value: unknown): boolean => {
  let found = false;
  withVariables(value, () => {
    found = true;
  });
  return found;
};

/** Returns the values of the path, by their names. */
function pathValues({ parameters }: Operation): [string, string][] {
  return parameters
    .filter((one) => one.in === "path")
    .map(({ name, examples }) => [name, String(Object.values(examples ?? {})[0]?.value ?? name)]);
}

/** Returns the path with its values; ids become what `replace` says. */
function pathOf(operation: Operation, replace: (variable: string) => string): string {
  return pathValues(operation).reduce((path, [name, value]) => {
    const variable = variableFor(value);
    return path.replace(`{${name}}`, variable === undefined ? value : replace(variable));
  }, operation.path);
}

function keyFor({ security, isForAdministrators }: Operation): string | undefined {
  if (!security.includes("bearer")) return undefined;
  return isForAdministrators ? "ADMIN_KEY" : "GATEWAY_API_KEY";
}

/** Reports whether the answer is a file, and of which kind. */
function fileOf({ operation, isStream }: Call): string | undefined {
  if (operation.id === "createSpeech" && !isStream) return "speech.mp3";
  return operation.id === "exportRequests" ? "requests.csv" : undefined;
}

function curl(call: Call): string {
  const { operation, body, isStream } = call;
  const address = `${rootUrl}${pathOf(operation, (variable) => `$${variable}`)}`;
  const isOther = operation.method !== (body === undefined ? "GET" : "POST");
  const flags = `${isStream ? "-N " : ""}${isOther ? `-X ${operation.method} ` : ""}`;
  const key = keyFor(operation);
  const lines = [`curl ${flags}${address.includes("$") ? `"${address}"` : address}`];
  if (key !== undefined) lines.push(`-H "Authorization: Bearer $${key}"`);
  if (body !== undefined) lines.push('-H "Content-Type: application/json"', `-d ${shellJson(body)}`);
  const file = fileOf(call);
  if (file !== undefined) lines.push(`-o ${file}`);
  return lines.join(" \\\n  ");
}

/** Returns JSON as a word of the shell. */
function shellJson(value: JsonValue): string {
  if (!hasVariable(value)) return `'${literal(value, "json", 1, 80).replaceAll("'", "'\\''")}'`;
  const text = literal(
    withVariables(value, (variable) => `$${variable}`),
    "json",
    1,
    80,
  );
  return `"${text.replace(/["\\`]/g, "\\$&")}"`;
}

/** Methods of OpenAI's SDKs, in TypeScript's spelling. */
const openAiMethods: Readonly<Record<string, string>> = {
  createChatCompletion: "chat.completions.create",
  createCompletion: "completions.create",
  createEmbeddings: "embeddings.create",
  createSpeech: "audio.speech.create",
  listModels: "models.list",
  getModel: "models.retrieve",
  createResponse: "responses.create",
  createResponseCompaction: "responses.compact",
  countResponseTokens: "responses.inputTokens.count",
  getResponse: "responses.retrieve",
  deleteResponse: "responses.delete",
  cancelResponse: "responses.cancel",
  listResponseInputItems: "responses.inputItems.list",
};

function pythonBySdk(call: Call): string | undefined {
  const { operation, body, isStream } = call;
  const method = openAiMethods[operation.id]?.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  if (method === undefined || body?.stream_format !== undefined) return undefined;
  const values = pathValues(operation).map(([, value]) => pythonValue(value));
  const given = body === undefined ? values.join(", ") : `\n${keywordArguments(body)}`;
  const head = `import os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url="${rootUrl}/v1", api_key=os.environ["GATEWAY_API_KEY"])\n`;
  const asked = `client.${method}(${given})`;
  if (isStream) return `${head}for event in ${asked}:\n    print(event.to_json(indent=None))`;
  const file = fileOf(call);
  if (file !== undefined) return `${head}${asked}.write_to_file("${file}")`;
  return operation.id === "deleteResponse" ? `${head}${asked}` : `${head}answer = ${asked}\nprint(answer.to_json())`;
}

function pythonValue(value: string): string {
  const variable = variableFor(value);
  return variable === undefined ? JSON.stringify(value) : `os.environ["${variable}"]`;
}

function pythonAlone(call: Call): string {
  const { operation, body, isStream } = call;
  const key = keyFor(operation);
  const path = pathOf(operation, (variable) => `{os.environ['${variable}']}`);
  const address = `${path.includes("{") ? "f" : ""}"${rootUrl}${path}"`;
  const data = literal(
    withVariables(body, (variable) => code(`os.environ["${variable}"]`)),
    "python",
    1,
    80,
  );
  const headers = [
    key === undefined ? "" : `"Authorization": f"Bearer {os.environ['${key}']}"`,
    body === undefined ? "" : '"Content-Type": "application/json"',
  ].filter((header) => header !== "");
  const usesOs = key !== undefined || data.includes("os.environ");
  const file = fileOf(call);
  const read = isStream
    ? 'for line in answer:\n        print(line.decode(), end="")'
    : file !== undefined
      ? `open("${file}", "wb").write(answer.read())`
      : "print(answer.read().decode())";
  return [
    `${body === undefined ? "" : "import json\n"}${usesOs ? "import os\n" : ""}import urllib.request\n`,
    "request = urllib.request.Request(",
    `    ${address},`,
    ...(body === undefined ? [] : [`    data=json.dumps(${data}).encode(),`]),
    ...(headers.length === 0 ? [] : [`    headers={${headers.join(", ")}},`]),
    ...(operation.method === "GET" || operation.method === "POST" ? [] : [`    method="${operation.method}",`]),
    ")",
    "with urllib.request.urlopen(request) as answer:",
    `    ${read}`,
  ].join("\n");
}

/** Methods of Anthropic's SDK. */
const anthropicMethods: Readonly<Record<string, string>> = {
  createMessage: "messages.create",
  countMessageTokens: "messages.countTokens",
};

function typescriptBySdk(call: Call): string | undefined {
  const { operation, body, isStream } = call;
  const anthropic = anthropicMethods[operation.id];
  const method = anthropic ?? openAiMethods[operation.id];
  if (method === undefined || body?.stream_format !== undefined) return undefined;
  const [name, from, address] = anthropic
    ? ["Anthropic", "@anthropic-ai/sdk", rootUrl]
    : ["OpenAI", "openai", `${rootUrl}/v1`];
  const values = pathValues(operation).map(([, value]) => typescriptValue(value));
  const given = body === undefined ? values.join(", ") : literal(body, "typescript", 0, 60);
  const head = `import ${name} from "${from}";\n\nconst client = new ${name}({ baseURL: "${address}", apiKey: process.env.GATEWAY_API_KEY });\n`;
  const asked = `await client.${method}(${given})`;
  if (isStream) return `${head}const stream = ${asked};\nfor await (const event of stream) console.log(event);`;
  const file = fileOf(call);
  if (file === undefined) return `${head}console.log(${asked});`;
  return `import { writeFile } from "node:fs/promises";\n${head}const answer = ${asked};\nawait writeFile("${file}", Buffer.from(await answer.arrayBuffer()));`;
}

function typescriptValue(value: string): string {
  const variable = variableFor(value);
  return variable === undefined ? JSON.stringify(value) : `process.env.${variable} as string`;
}

function typescriptAlone(call: Call): string {
  const { operation, body, isStream } = call;
  const key = keyFor(operation);
  const path = pathOf(operation, (variable) => `\${process.env.${variable}}`);
  const address = path.includes("$") ? `\`${rootUrl}${path}\`` : `"${rootUrl}${path}"`;
  const headers = [
    key === undefined ? "" : `authorization: \`Bearer \${process.env.${key}}\``,
    body === undefined ? "" : '"content-type": "application/json"',
  ].filter((header) => header !== "");
  const data = literal(
    withVariables(body, (variable) => code(`process.env.${variable}`)),
    "typescript",
    1,
    80,
  );
  const options = [
    operation.method === "GET" ? "" : `  method: "${operation.method}",\n`,
    headers.length === 0 ? "" : `  headers: { ${headers.join(", ")} },\n`,
    body === undefined ? "" : `  body: JSON.stringify(${data}),\n`,
  ].join("");
  const asked = `const answer = await fetch(${address}${options === "" ? "" : `, {\n${options}}`});`;
  const read = isStream
    ? "for await (const text of answer.body!.pipeThrough(new TextDecoderStream())) process.stdout.write(text);"
    : "console.log(await answer.text());";
  return `${asked}\n${read}`;
}

const services = [InferenceService, KeyService, UsageService];

/** Returns the call of the operation's RPC; undefined where it has none. */
function bufCurl({ operation, body, isStream }: Call): string | undefined {
  const rpc = isStream ? (operation.rpc.stream ?? operation.rpc.unary) : (operation.rpc.unary ?? operation.rpc.stream);
  if (rpc === undefined) return undefined;
  const request = rpcRequest(rpc, { ...Object.fromEntries(pathValues(operation)), ...body });
  const lines = [
    "buf curl --protocol grpc --http2-prior-knowledge",
    `-H "Authorization: Bearer $${keyFor(operation)}"`,
    `-d ${shellJson(request)}`,
    `${rootUrl}/${rpc}`,
  ];
  return lines.join(" \\\n  ");
}

/** Returns the request of an RPC, as JSON of protobuf, for the JSON of the public path. Throws if there is no such RPC. */
function rpcRequest(rpc: string, { stream: _, ...publicJson }: JsonObject): JsonValue {
  const method = services
    .flatMap((service) => service.methods as readonly DescMethod[])
    .find((one) => `${one.parent.typeName}/${one.name}` === rpc);
  if (!method) throw new Error(`gen/openapi.json names the RPC ${rpc}, which no service has`);
  return toJson(method.input, readMessage(method.input, publicJson, { lenient: false }));
}
