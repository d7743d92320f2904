/** Reads gen/openapi.json as operations by tag. */
import type {
  Document,
  HttpMethod,
  MediaType,
  Parameter,
  Reference,
  Response,
  Operation as WrittenOperation,
} from "../../../packaging/openapi/openapi.ts";
import type { JsonSchema } from "../../../packaging/openapi/schemas/json-schema.ts";

/** Operation is one path and method, with all that it refers to. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** The names of the security schemes, any of which suffices; empty where none is needed. */
  readonly security: readonly string[];
  readonly isForAdministrators: boolean;
  readonly parameters: readonly Parameter[];
  readonly request: Readonly<Record<string, MediaType>>;
  readonly answers: Readonly<Record<string, Response>>;
  /** The RPC of the same operation, as `package.Service/Method`. */
  readonly rpc: NonNullable<WrittenOperation["x-rpc"]>;
}

export interface Tag {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

export interface Api {
  readonly description: string;
  readonly tags: readonly Tag[];
  readonly schemas: Readonly<Record<string, JsonSchema>>;
}

const methods: readonly HttpMethod[] = ["get", "post", "delete"];

export function readApi(document: Document): Api {
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const written = item[method];
      if (!written) return [];
      return [{ tag: written.tags[0], operation: operationOf(document, path, method, written) }];
    }),
  );
  const tags = document.tags.map(({ name, description }) => ({
    name,
    description,
    operations: operations.filter(({ tag }) => tag === name).map(({ operation }) => operation),
  }));
  return { description: document.info.description, tags, schemas: document.components.schemas };
}

function operationOf(document: Document, path: string, method: HttpMethod, written: WrittenOperation): Operation {
  const { operationId: id, summary, description = "", security, parameters = [] } = written;
  const answers = Object.entries(written.responses).map(([status, one]) => [status, resolved<Response>(document, one)]);
  return {
    id,
    method: method.toUpperCase(),
    path,
    aliases: document.paths[path]?.["x-aliases"] ?? [],
    summary,
    description,
    security: security.flatMap((one) => Object.keys(one)),
    isForAdministrators: security.some((one) => one.bearer?.includes("administrator")),
    parameters: parameters.map((one) => resolved<Parameter>(document, one)),
    request: written.requestBody?.content ?? {},
    answers: Object.fromEntries(answers) as Record<string, Response>,
    rpc: written["x-rpc"] ?? {},
  };
}

/** Returns what a reference refers to, or the thing itself. Throws if there is no such thing. */
function resolved<T extends object>(document: Document, written: T | Reference): T {
  if (!("$ref" in written)) return written;
  const steps = (written as Reference).$ref.slice(2).split("/");
  const found = steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document);
  if (found === undefined)
    throw new Error(`gen/openapi.json refers to ${(written as Reference).$ref}, which is not in it`);
  return found as T;
}

/** Returns the name of the schema that a reference refers to. */
export function schemaName({ $ref }: JsonSchema): string | undefined {
  return $ref?.replace("#/components/schemas/", "");
}
