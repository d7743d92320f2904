/** Reads the schema of gateway.yaml as a tree of settings, for its reference and its example file. */
import { z } from "zod";
import { fileSchema, settingGroups } from "../../src/config/schema.ts";
import { boundsText } from "./markdown.ts";

export interface Setting {
  readonly key: string;
  /** The path from the file's root, as `upstreams[].queue.max_queued`. */
  readonly path: string;
  readonly description: string;
  /** type is what may be written, in words. */
  readonly type: string;
  readonly isRequired: boolean;
  /** The value without the key; undefined where there is none. */
  readonly default: unknown;
  readonly example: unknown;
  /** The keys below, of an object or of the objects of a list. */
  readonly children: readonly Setting[];
  readonly isList: boolean;
}

export interface SettingGroup {
  readonly title: string;
  readonly settings: readonly Setting[];
}

export interface JsonSchema {
  readonly type?: string;
  readonly title?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly additionalProperties?: boolean | JsonSchema;
  readonly items?: JsonSchema;
  readonly anyOf?: readonly JsonSchema[];
}

/** Returns the JSON schema of gateway.yaml, which editors complete and check the file by. */
export function settingsJsonSchema(): JsonSchema {
  const schema = z.toJSONSchema(fileSchema, {
    io: "input",
    override({ zodSchema, jsonSchema }) {
      // Zod leaves these out where a value is transformed, because they might be of the result. Here they are of the file.
      const { default: byDefault, examples, description } = z.globalRegistry.get(zodSchema) ?? {};
      if (byDefault !== undefined) jsonSchema.default = byDefault as never;
      if (examples !== undefined) jsonSchema.examples = examples as never;
      if (description !== undefined) jsonSchema.description = description.replace(/\s+/g, " ");
    },
  });
  return { ...(schema as JsonSchema), title: "gateway.yaml of model-gateway" };
}

/** Returns all settings under their headings. Throws if a key is not described, or has neither a default nor an example. */
export function readSettings(): SettingGroup[] {
  const settings = childrenOf(settingsJsonSchema(), "");
  const groups = Object.entries(settingGroups).map(([title, keys]) => ({
    title,
    settings: keys.map((key) => settings.find((one) => one.key === key) as Setting),
  }));
  const grouped = new Set(groups.flatMap((group) => group.settings));
  for (const one of settings) if (!grouped.has(one)) throw new Error(`settingGroups of schema.ts lacks ${one.key}`);
  return groups;
}

function childrenOf({ properties = {}, required = [] }: JsonSchema, path: string): Setting[] {
  return Object.entries(properties).map(([key, schema]) => settingOf(key, schema, path, required.includes(key)));
}

/** Lists whose entries are those of another key, which describes them. */
const describedElsewhere: ReadonlySet<string> = new Set(["catalogue"]);

function settingOf(key: string, schema: JsonSchema, parent: string, isRequired: boolean): Setting {
  const path = parent === "" ? key : `${parent}.${key}`;
  const { description, default: byDefault, examples = [], items } = schema;
  if (description === undefined) throw new Error(`${path} of gateway.yaml has no description in its schema`);
  const isList = items?.properties !== undefined && !describedElsewhere.has(path);
  const children = isList ? childrenOf(items ?? {}, `${path}[]`) : childrenOf(schema, path);
  if (children.length === 0 && byDefault === undefined && examples.length === 0) {
    throw new Error(`${path} of gateway.yaml has neither a default nor an example in its schema`);
  }
  const common = { key, path, description, isRequired, children, isList };
  return { ...common, type: typeOf(schema), default: byDefault, example: examples[0] };
}

/** Returns what may be written, in words. */
function typeOf(schema: JsonSchema): string {
  if (schema.enum) return schema.enum.map((one) => `\`${one}\``).join(", ");
  if (schema.title !== undefined) return schema.title;
  if (schema.type === "boolean") return "`true` or `false`";
  if (schema.type === "integer") return `whole number${boundsOf(schema)}`;
  if (schema.type === "number") return `number${boundsOf(schema)}`;
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(", or ");
  if (schema.type === "array") return listType(schema.items ?? {});
  if (schema.properties) {
    const keys = Object.keys(schema.properties);
    return keys.length === 1 ? `\`{ ${keys[0]}: … }\`` : "keys and values";
  }
  if (schema.type === "object") return "names and values";
  return schema.format === "date" ? "date" : "text";
}

function listType(items: JsonSchema): string {
  if (items.properties) return "list of keys and values";
  return items.enum ? `list of ${typeOf(items)}` : `list: ${typeOf(items)}`;
}

/** Numbers beyond this are no bound that anybody would set on purpose. */
const noBound = Number.MAX_SAFE_INTEGER;

function boundsOf({ minimum, maximum }: JsonSchema): string {
  const chosen = (bound: number | undefined) => (Math.abs(bound ?? noBound) < noBound ? bound : undefined);
  const written = (bound: number) => bound.toLocaleString("en", { maximumFractionDigits: 3 });
  return boundsText(chosen(minimum), chosen(maximum), written);
}
