/** Says in words what a schema takes, and as tables what the objects of a page have. */
import type { JsonSchema } from "../../../packaging/openapi/schemas/json-schema.ts";
import { boundsText, table } from "../markdown.ts";
import { schemaName } from "./openapi.ts";

export type Schemas = Readonly<Record<string, JsonSchema>>;

/** Returns what a value may be, as Markdown: types of the page are links. */
export function typeText(schema: JsonSchema, schemas: Schemas): string {
  const name = schemaName(schema);
  if (name !== undefined) {
    const target = schemas[name] ?? {};
    return target.properties || target.anyOf ? `[${name}](#${anchorFor(name)})` : typeText(target, schemas);
  }
  const choices = schema.anyOf?.filter((one) => one.type !== "null");
  if (choices) return [...new Set(choices.map((one) => typeText(one, schemas)))].join(", or ");
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum)
    return schema.enum
      .filter((one) => one !== null)
      .map(code)
      .join(", ");
  return plainText(schema, schemas);
}

function plainText(schema: JsonSchema, schemas: Schemas): string {
  const types = [schema.type ?? []].flat().filter((one) => one !== "null");
  if (types.length > 1) return types.join(" or ");
  const [type] = types;
  const { minimum, maximum, minItems, maxItems } = schema;
  if (type === "array")
    return `list of ${schema.items ? typeText(schema.items, schemas) : "anything"}${boundsText(minItems, maxItems)}`;
  if (type === "integer" || type === "number") {
    return `${type}${boundsText(chosen(minimum), chosen(maximum), (bound) => bound.toLocaleString("en"))}`;
  }
  if (type === "string") return `${schema.format === "date-time" ? "time" : "string"}${lengthText(schema)}`;
  if (type !== "object") return type ?? "anything";
  const { additionalProperties: others } = schema;
  return typeof others === "object" && !schema.properties ? `object of ${typeText(others, schemas)}` : "object";
}

/** The bounds of JavaScript's integers, and of protobuf's: nobody chose them. */
const unchosen: ReadonlySet<number> = new Set([
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
  2 ** 32 - 1,
  2 ** 31 - 1,
]);

/** Returns a bound that somebody chose. */
function chosen(bound: number | undefined): number | undefined {
  return bound === undefined || unchosen.has(bound) ? undefined : bound;
}

function lengthText({ minLength, maxLength }: JsonSchema): string {
  return maxLength === undefined ? "" : `${boundsText(minLength, maxLength)} characters`;
}

function code(value: unknown): string {
  return `\`${typeof value === "string" && value !== "" ? value : JSON.stringify(value)}\``;
}

/** Returns the members of an object as a table; empty where it has none that are known. */
export function membersTable(schema: JsonSchema, schemas: Schemas): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const required = schema.required?.includes(name) ? "**required.** " : "";
    return [`\`${name}\``, typeText(member, schemas), `${required}${escaped(member.description ?? "")}`];
  });
  return rows.length === 0 ? "" : table(["member", "type", "meaning"], rows);
}

/** Returns a text in which Markdown and the site's templates find nothing of theirs but code and emphasis. */
export function escaped(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, i) => (i % 2 === 1 ? part : part.replaceAll("<", "&lt;").replaceAll("{{", "{&#123;")))
    .join("");
}

/** Returns the names of the schemas that some schemas lead to, in the order in which a reader meets them. */
export function reachable(start: readonly JsonSchema[], schemas: Schemas): string[] {
  const found = new Set<string>();
  const visit = (schema: JsonSchema): void => {
    const name = schemaName(schema);
    if (name !== undefined) {
      if (!found.has(name)) {
        found.add(name);
        visit(schemas[name] ?? {});
      }
      return;
    }
    for (const one of Object.values(schema.properties ?? {})) visit(one);
    for (const one of schema.anyOf ?? []) visit(one);
    if (schema.items) visit(schema.items);
    if (typeof schema.additionalProperties === "object") visit(schema.additionalProperties);
  };
  for (const one of start) visit(one);
  return [...found];
}

/** Returns the anchor of a type, which differs from those of headings. */
export function anchorFor(name: string): string {
  return `type-${name.toLowerCase()}`;
}
