/** The parts of JSON Schema 2020-12 that the document uses. */
export interface JsonSchema {
  $ref?: string;
  title?: string;
  description?: string;
  type?: string | readonly string[];
  format?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly JsonSchema[];
  properties?: Readonly<Record<string, JsonSchema>>;
  required?: readonly string[];
  additionalProperties?: boolean | JsonSchema;
  items?: JsonSchema;
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  default?: unknown;
  examples?: readonly unknown[];
  contentEncoding?: string;
}

export function refTo(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` };
}

/** Returns the schema with null among its values. */
export function orNull(schema: JsonSchema): JsonSchema {
  const { description, ...value } = schema;
  const described = description === undefined ? {} : { description };
  if (value.type !== undefined && value.enum === undefined && value.const === undefined) {
    const types = [value.type].flat() as string[];
    return { ...described, ...value, type: types.includes("null") ? value.type : [...types, "null"] };
  }
  const choices = value.anyOf && Object.keys(value).length === 1 ? value.anyOf : [value];
  return { ...described, anyOf: [...choices, { type: "null" }] };
}
