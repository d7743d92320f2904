/** The parts of an OpenAPI 3.1 document that the generator writes. */
import type { JsonSchema } from "./schemas/json-schema.ts";

export interface Example {
  readonly summary?: string;
  readonly description?: string;
  readonly value: unknown;
}

export interface MediaType {
  readonly schema: JsonSchema;
  readonly examples?: Readonly<Record<string, Example>>;
  /** x-event-stream is how the frames of an event stream are written: whether they have event lines, how it ends, how it fills silence. */
  readonly "x-event-stream"?: { readonly event_lines: boolean; readonly end: string; readonly keep_alive: string };
}

export interface Reference {
  readonly $ref: string;
}

export interface HeaderObject {
  readonly description: string;
  readonly schema: JsonSchema;
}

export interface Response {
  readonly description: string;
  readonly headers?: Readonly<Record<string, Reference>>;
  readonly content?: Readonly<Record<string, MediaType>>;
}

export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly description: string;
  readonly required?: boolean;
  readonly schema: JsonSchema;
  readonly examples?: Readonly<Record<string, Example>>;
}

export interface RequestBody {
  readonly description?: string;
  readonly required: boolean;
  readonly content: Readonly<Record<string, MediaType>>;
}

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly (Parameter | Reference)[];
  readonly requestBody?: RequestBody;
  readonly responses: Readonly<Record<string, Response | Reference>>;
  /** The RPCs behind the operation. */
  readonly "x-rpc"?: { readonly unary?: string; readonly stream?: string };
}

export type HttpMethod = "get" | "post" | "delete";

export type PathItem = Partial<Readonly<Record<HttpMethod, Operation>>> & {
  /**
   * Further paths at which the same is served. They are no paths of the document: each would repeat the names of its operations, which
   * generators of clients refuse.
   */
  readonly "x-aliases"?: readonly string[];
};

export interface Info {
  readonly title: string;
  readonly version: string;
  readonly summary: string;
  readonly description: string;
  readonly license: object;
}

export interface Document {
  readonly openapi: "3.1.1";
  readonly info: Info;
  readonly servers: readonly object[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly headers: Readonly<Record<string, HeaderObject>>;
    readonly securitySchemes: Readonly<Record<string, object>>;
  };
}
