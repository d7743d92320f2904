/** Writes gateway.example.yaml: every key with its meaning, its default where it has one, and else an example. */
import { Document, visit } from "yaml";
import { readSettings, type Setting } from "./settings.ts";

const width = 120;

const head = `# yaml-language-server: $schema=gen/gateway.schema.json
#
# Every key of gateway.yaml, with its default where it has one. Nothing here is required: copy what you need.
# Made from the schema in src/config by \`npm run generate\`.
#
# Start with it by \`model-gateway serve --config gateway.yaml\`, or GATEWAY_CONFIG=gateway.yaml. \`\${NAME}\` in a text is replaced by
# that environment variable, or by what is in the file that NAME_FILE points to, so that no secret has to be here. The file is checked at
# the start; all faults are reported at once, each with its line. docs/configuration.md has the same to read, docs/operating.md has more.
`;

/** These stand for other keys of the example, or do not fit it. */
const alternatives: ReadonlySet<string> = new Set([
  ...["api_keys", "credential", "headers", "query", "vendor"].map((key) => `upstreams[].${key}`),
  ...["dimensions", "vendor", "sticky", "reasoning", "price.characters"].map((key) => `models[].${key}`),
]);

export function exampleFile(): string {
  const settings = readSettings().flatMap((group) => group.settings);
  return `${head}\n${settings.map((one) => entry(one, 0).join("\n")).join("\n\n")}\n`;
}

/**
 * Returns the lines of a key: its meaning, and its value, which is commented out where it is an example alone. What is below a key
 * that is commented out needs no more than that (`isShown`).
 */
function entry(setting: Setting, depth: number, isShown = false): string[] {
  const isIn = isShown || isActive(setting, depth);
  const value = written(setting, depth, isShown || !isIn);
  return [...comment(setting, depth), ...(isIn ? value : value.map((line) => `# ${line}`))];
}

function comment({ description, type, default: byDefault, example }: Setting, depth: number): string[] {
  const choices = type.startsWith("`") && !isTold(type, description) ? ` One of ${type}.` : "";
  const also =
    depth === 0 && byDefault !== undefined && example !== undefined ? ` For example ${inlineYaml(example)}.` : "";
  return wrapped(`${description}${choices}${also}`, width - 2 - depth * 2).map((line) => `# ${line}`);
}

/** Reports whether the description names all choices already, or they are plain. */
function isTold(type: string, description: string): boolean {
  if (type === "`true` or `false`") return true;
  return [...type.matchAll(/`([^`]+)`/g)].every(([, choice = ""]) => description.includes(choice));
}

function written(setting: Setting, depth: number, isShown: boolean): string[] {
  const { key, children, isList, default: byDefault, example } = setting;
  if (isList && Array.isArray(byDefault) && byDefault.length > 0) {
    const another = Object.fromEntries(children.map((child) => [child.key, child.example]));
    return [`${key}:`, ...byDefault.map((one) => `  - ${inlineYaml(one)}`), `  # - ${inlineYaml(another)}`];
  }
  const isOpen = children.length > 0 && (depth === 0 || example === undefined);
  if (!isOpen)
    return [`${key}: ${inlineYaml((depth > 0 && isEmpty(byDefault) ? example : undefined) ?? byDefault ?? example)}`];
  if (!isList) return [`${key}:`, ...indented(children.flatMap((child) => entry(child, depth + 1, isShown)))];
  const [first = "", ...others] = withoutLeadingComment(children.flatMap((child) => entry(child, depth + 2, isShown)));
  return [`${key}:`, `  - ${first}`, ...indented(indented(others))];
}

/** Reports whether a list or an object has nothing in it: an example tells more. */
function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** An item of a list begins with its first key: what that means is said behind it. */
function withoutLeadingComment(lines: readonly string[]): string[] {
  const first = lines.findIndex((line) => !line.startsWith("#"));
  const meaning = lines.slice(0, first).map((line) => line.slice(2));
  return [`${lines[first]} # ${meaning.join(" ")}`, ...lines.slice(first + 1)];
}

/** Reports whether a key is set in the file: keys with a default are, and those of the example upstream and model. */
function isActive(setting: Setting, depth: number): boolean {
  if (alternatives.has(setting.path)) return false;
  if (setting.default !== undefined || setting.isRequired) return true;
  if (setting.path.includes("[]")) return true;
  return setting.example === undefined && setting.children.some((child) => isActive(child, depth + 1));
}

function indented(lines: readonly string[]): string[] {
  return lines.map((line) => `  ${line}`);
}

/** Returns a value as YAML on one line. */
export function inlineYaml(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Collection(_, node) {
      node.flow = true;
    },
  });
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: true }).trim();
  return text.replace(/\[ (?=\S)/g, "[").replace(/(?<=\S) \]/g, "]");
}

/** Returns the text in lines of at most so many characters, broken at spaces. */
function wrapped(text: string, most: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
