/** Says in words what a schema takes, and as tables what the objects of a page have. */
import { type Schema, schemaName } from "./openapi.ts";

export type Schemas = Readonly<Record<string, Schema>>;

/** Returns what a value may be, as Markdown: types of the page are links. */
export function typeText(schema: Schema, schemas: Schemas): string {
  const name = schemaName(schema);
  if (name !== undefined) {
    const target = schemas[name] ?? {};
    return target.properties || target.anyOf || target.oneOf
      ? `[${name}](#${anchorFor(name)})`
      : typeText(target, schemas);
  }
  const choices = (schema.anyOf ?? schema.oneOf)?.filter((one) => one.type !== "null");
  if (choices) return [...new Set(choices.map((one) => typeText(one, schemas)))].join(", or ");
  if (schema.const !== undefined) return code(schema.const);
  if (schema.enum)
    return schema.enum
      .filter((one) => one !== null)
      .map(code)
      .join(", ");
  return plainText(schema, schemas);
}

function plainText(schema: Schema, schemas: Schemas): string {
  const types = [schema.type ?? []].flat().filter((one) => one !== "null");
  if (types.length > 1) return types.join(" or ");
  const [type] = types;
  if (type === "array")
    return `list of ${schema.items ? typeText(schema.items, schemas) : "anything"}${sizeText(schema)}`;
  if (type === "integer" || type === "number") return `${type}${boundsText(schema)}`;
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

function boundsText({ minimum, maximum }: Schema): string {
  const least = minimum === undefined || unchosen.has(minimum) ? undefined : minimum.toLocaleString("en");
  const most = maximum === undefined || unchosen.has(maximum) ? undefined : maximum.toLocaleString("en");
  if (least !== undefined && most !== undefined) return `, ${least} to ${most}`;
  if (least !== undefined) return `, at least ${least}`;
  return most === undefined ? "" : `, at most ${most}`;
}

function lengthText({ minLength, maxLength }: Schema): string {
  if (maxLength === undefined) return "";
  return minLength === undefined ? `, at most ${maxLength} characters` : `, ${minLength} to ${maxLength} characters`;
}

function sizeText({ minItems, maxItems }: Schema): string {
  if (minItems !== undefined && maxItems !== undefined) return `, ${minItems} to ${maxItems}`;
  if (minItems !== undefined) return `, at least ${minItems}`;
  return maxItems === undefined ? "" : `, at most ${maxItems}`;
}

function code(value: unknown): string {
  return `\`${typeof value === "string" && value !== "" ? value : JSON.stringify(value)}\``;
}

/** Returns the members of an object as a table; empty where it has none that are known. */
export function membersTable(schema: Schema, schemas: Schemas): string {
  const rows = Object.entries(schema.properties ?? {}).map(([name, member]) => {
    const required = schema.required?.includes(name) ? "**required.** " : "";
    return [`\`${name}\``, typeText(member, schemas), `${required}${escaped(member.description ?? "")}`];
  });
  return rows.length === 0 ? "" : table(["member", "type", "meaning"], rows);
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [head, head.map(() => "---"), ...rows];
  return lines
    .map((cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|").replace(/\s*\n\s*/g, " ")).join(" | ")} |`)
    .join("\n");
}

/** Returns a text in which Markdown and the site's templates find nothing of theirs but code and emphasis. */
export function escaped(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part, i) => (i % 2 === 1 ? part : part.replaceAll("<", "&lt;").replaceAll("{{", "{&#123;")))
    .join("");
}

/** Returns the names of the schemas that some schemas lead to, in the order in which a reader meets them. */
export function reachable(start: readonly Schema[], schemas: Schemas): string[] {
  const found = new Set<string>();
  const visit = (schema: Schema): void => {
    const name = schemaName(schema);
    if (name !== undefined) {
      if (!found.has(name)) {
        found.add(name);
        visit(schemas[name] ?? {});
      }
      return;
    }
    for (const one of Object.values(schema.properties ?? {})) visit(one);
    for (const one of [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])]) visit(one);
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
