/** Reads gen/openapi.json as operations by tag. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean | Schema;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

export interface Example {
  readonly summary?: string;
  readonly value?: unknown;
}

export interface Media {
  readonly schema?: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header" | "cookie";
  readonly description?: string;
  readonly required?: boolean;
  readonly schema?: Schema;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface Answer {
  readonly description?: string;
  readonly content?: Readonly<Record<string, Media>>;
  readonly headers?: Readonly<Record<string, unknown>>;
}

/** Operation is one path and method, with all that it refers to. */
export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly aliases: readonly string[];
  readonly summary: string;
  readonly description: string;
  /** The names of the ways to sign in, `administrator` where a key needs that privilege; empty: none is needed. */
  readonly security: readonly string[];
  readonly isForAdministrators: boolean;
  readonly parameters: readonly Parameter[];
  readonly request: Readonly<Record<string, Media>>;
  readonly answers: Readonly<Record<string, Answer>>;
  /** The RPC of the same operation, as `package.Service/Method`. */
  readonly rpc: { readonly unary?: string; readonly stream?: string };
}

export interface Tag {
  readonly name: string;
  readonly description: string;
  readonly operations: readonly Operation[];
}

export interface Api {
  readonly description: string;
  readonly tags: readonly Tag[];
  readonly schemas: Readonly<Record<string, Schema>>;
}

interface WrittenOperation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary?: string;
  readonly description?: string;
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, Media>> };
  readonly responses?: Readonly<Record<string, Answer | Reference>>;
  readonly "x-rpc"?: Operation["rpc"];
}

interface Reference {
  readonly $ref: string;
}

type WrittenPath = Readonly<Record<string, WrittenOperation>> & { readonly "x-aliases"?: readonly string[] };

export interface OpenApiDocument {
  readonly info: { readonly description?: string };
  readonly tags: readonly { readonly name: string; readonly description?: string }[];
  readonly paths: Readonly<Record<string, WrittenPath>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

const methods = ["get", "post", "put", "patch", "delete"];

export function readApi(document: OpenApiDocument): Api {
  const operations = Object.entries(document.paths).flatMap(([path, written]) =>
    methods
      .filter((method) => method in written)
      .map((method) => {
        const one = written[method] as WrittenOperation;
        return { tag: one.tags[0], operation: operationOf(document, path, method, one) };
      }),
  );
  const tags = document.tags.map(({ name, description = "" }) => ({
    name,
    description,
    operations: operations.filter(({ tag }) => tag === name).map(({ operation }) => operation),
  }));
  return { description: document.info.description ?? "", tags, schemas: document.components.schemas };
}

function operationOf(document: OpenApiDocument, path: string, method: string, written: WrittenOperation): Operation {
  const security = written.security ?? [];
  const aliases = document.paths[path]?.["x-aliases"] ?? [];
  const answers = Object.entries(written.responses ?? {}).map(([status, one]) => [
    status,
    resolved<Answer>(document, one),
  ]);
  return {
    id: written.operationId,
    method: method.toUpperCase(),
    path,
    aliases,
    summary: written.summary ?? path,
    description: written.description ?? "",
    security: security.flatMap((one) => Object.keys(one)),
    isForAdministrators: security.some((one) => one.bearer?.includes("administrator")),
    parameters: (written.parameters ?? []).map((one) => resolved<Parameter>(document, one)),
    request: written.requestBody?.content ?? {},
    answers: Object.fromEntries(answers) as Record<string, Answer>,
    rpc: written["x-rpc"] ?? {},
  };
}

/** Returns what a reference refers to, or the thing itself. Throws if there is no such thing. */
function resolved<T extends object>(document: OpenApiDocument, written: T | Reference): T {
  if (!("$ref" in written)) return written;
  const steps = (written as Reference).$ref.slice(2).split("/");
  const found = steps.reduce<unknown>((at, step) => (at as Record<string, unknown> | undefined)?.[step], document);
  if (found === undefined)
    throw new Error(`gen/openapi.json refers to ${(written as Reference).$ref}, which is not in it`);
  return found as T;
}

/** Returns the name of the schema that a reference refers to. */
export function schemaName({ $ref }: Schema): string | undefined {
  return $ref?.replace("#/components/schemas/", "");
}
