/**
 * The OpenAPI document of the gateway, read for tests: its operations, its schemas as validators, and its examples as calls.
 *
 *   for (const operation of operationsOf(document)) …
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020, type AnySchema } from "ajv/dist/2020.js";
import type {
  Document,
  HttpMethod,
  MediaType,
  Operation,
  PathItem,
  Response,
} from "../../../packaging/openapi/openapi.ts";
import type { TestGateway } from "../gateway.ts";
import { root } from "../pages.ts";

export const document = JSON.parse(readFileSync(join(root, "gen/openapi.json"), "utf8")) as Document;

/** An operation at its first path. */
export interface PlacedOperation extends Operation {
  readonly path: string;
  readonly httpMethod: HttpMethod;
}

const httpMethods = ["get", "post", "delete"] as const;

/** Returns the operations, without aliases. */
export function operationsIn({ paths }: Document): readonly PlacedOperation[] {
  return Object.entries(paths).flatMap(([path, item]) => placed(path, item));
}

function placed(path: string, item: PathItem): PlacedOperation[] {
  return httpMethods.flatMap((httpMethod) => {
    const operation = item[httpMethod];
    return operation ? [{ ...operation, path, httpMethod }] : [];
  });
}

export function operationCalled(operationId: string): PlacedOperation {
  const found = operationsIn(document).find((one) => one.operationId === operationId);
  if (!found) throw new Error(`The document has no operation ${operationId}.`);
  return found;
}

/** Returns the answer of a status, or the default one, or undefined where none is told. */
export function responseOf({ responses }: Operation, status: number): Response | undefined {
  const response = responses[status] ?? responses.default;
  if (!response || !("$ref" in response)) return response;
  return document.components.responses[response.$ref.split("/").at(-1) as string];
}

const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;
const formats = { "date-time": moment, uri: (text: string) => URL.canParse(text), binary: true } as const;
const ajv = new Ajv2020({ strict: false, allErrors: true, formats });
ajv.addSchema(document as unknown as AnySchema, "document");
const validators = new Map<string, (value: unknown) => readonly string[]>();

/** Returns what is wrong with a value by a schema of the document; empty where nothing is. */
export function faultsOf(schema: MediaType["schema"], value: unknown): readonly string[] {
  const text = JSON.stringify(schema).replaceAll('"#/', '"document#/');
  let validate = validators.get(text);
  if (!validate) {
    const compiled = ajv.compile(JSON.parse(text) as AnySchema);
    validate = (one) =>
      compiled(one) ? [] : (compiled.errors ?? []).map((error) => `${error.instancePath} ${error.message}`);
    validators.set(text, validate);
  }
  return validate(value);
}

/** OperationCall is what a call has besides its operation. */
export interface OperationCall {
  /** The parameters in the path and the query. */
  readonly parameters?: Readonly<Record<string, string | number | boolean>>;
  readonly body?: Readonly<Record<string, unknown>>;
  /** The media type of the body. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes the call of an operation. Its parameters go where the document says, and so do members of its body in a form. */
export function callOperation(
  gateway: TestGateway,
  operation: PlacedOperation,
  call: OperationCall = {},
): Promise<globalThis.Response> {
  const { parameters = {}, body, type = "application/json", headers = {} } = call;
  const query = new URLSearchParams();
  let path = operation.path;
  for (const [name, value] of Object.entries(parameters)) {
    if (path.includes(`{${name}}`)) path = path.replace(`{${name}}`, encodeURIComponent(String(value)));
    else query.set(name, String(value));
  }
  const encoded = body === undefined ? undefined : encodedBody(body, type);
  return fetch(`${gateway.rootUrl}${path}${query.size > 0 ? `?${query}` : ""}`, {
    method: operation.httpMethod.toUpperCase(),
    headers: {
      authorization: `Bearer ${gateway.apiKey}`,
      ...(typeof encoded === "string" ? { "content-type": "application/json" } : {}),
      ...headers,
    },
    ...(encoded === undefined ? {} : { body: encoded }),
  });
}

/** By OpenAPI's rules for forms: lists are repeated, and objects are JSON. */
function encodedBody(body: Readonly<Record<string, unknown>>, type: string): string | URLSearchParams | FormData {
  if (type === "application/json") return JSON.stringify(body);
  const form = type === "multipart/form-data" ? new FormData() : new URLSearchParams();
  for (const [key, value] of Object.entries(body)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      form.append(key, typeof item === "object" ? JSON.stringify(item) : String(item));
    }
  }
  return form;
}
