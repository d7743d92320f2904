/** Writes docs/configuration.md, the reference of gateway.yaml. */
import { isOperational } from "../../src/config/stored/documents.ts";
import { anchorOf } from "./anchors.ts";
import { inlineYaml } from "./example-file.ts";
import { table } from "./markdown.ts";
import { readSettings, type Setting, type SettingGroup } from "./settings.ts";

const head = `# Configuration

Every key of gateway.yaml, with what it may be and its default. Nothing is required.
Made from the schema, as is [gateway.example.yaml](../gateway.example.yaml), which has the same to copy from.
All pages: [documentation](../README.md#documentation).

`;

const beginning = `
## The file

\`model-gateway serve --config gateway.yaml\`, or \`GATEWAY_CONFIG=gateway.yaml\`, has the gateway read it. \`\${NAME}\` in a text stands
for that [environment variable](operating.md#environment-variables), so that no secret has to be in the file. It is checked at the start: all
faults are reported at once, each with its line, and the gateway does not start with any.

Keys that are marked "takes effect at once" may change while the gateway serves: the file is read again when it has changed
([changing the configuration](changing-configuration.md#when-a-change-holds)), and they may be stored in the database instead. All others are bound to
the process, and take effect at its next start.

\`\`\`yaml
# yaml-language-server: $schema=gateway.schema.json
port: 8080
upstreams:
  - { name: local, kind: openai, base_url: "http://127.0.0.1:9000/v1", api_key: "\${UPSTREAM_KEY}" }
\`\`\`

Editors that know the YAML language server complete the keys, and show their meaning, by the comment in the first line:
[gateway.schema.json](../gen/gateway.schema.json) is the JSON schema.

Sizes are in bytes, times in the unit that the key's name says. Amounts of money and prices are decimals in quotes: a YAML number
would lose its last digits.
`;

export function settingsPage(): string {
  const groups = readSettings();
  const contents = groups.map(({ title }) => `[${title}](#${anchorOf(title)})`).join(" · ");
  return `${head}${contents}\n${beginning}${groups.map(groupSection).join("")}`;
}

function groupSection({ title, settings }: SettingGroup): string {
  const isOne = settings.length === 1;
  const sections = settings.map((setting) => section(setting, isOne ? 2 : 3));
  return isOne ? sections.join("") : `\n## ${title}\n${sections.join("")}`;
}

/** Returns the section of a key of the file, and those of the objects in it. */
function section(setting: Setting, level: number): string {
  const { path, description, children, example } = setting;
  const isTop = !path.includes(".");
  const heading = level === 2 ? capital(setting.key) : `\`${path}\``;
  const when = isOperational(setting.key) ? "at once" : "at the next start";
  const text = isTop ? `${linked(description)} *A change takes effect ${when}.*` : linked(description);
  const parts = [`${"#".repeat(level)} ${heading}`, text];
  if (isTop && children.length === 0) parts.push(factsOf(setting));
  if (isTop && Array.isArray(setting.default) && setting.default.length > 0)
    parts.push(yamlOf(setting, setting.default));
  if (isTop && example !== undefined) parts.push(yamlOf(setting, example));
  if (children.length > 0) parts.push(tableOf(setting));
  const below = children.filter((child) => isOwnSection(child));
  return `\n${parts.join("\n\n")}\n${below.map((child) => section(child, Math.min(level + 1, 4))).join("")}`;
}

/** Returns a text in which the names of pages lead to them. */
function linked(text: string): string {
  return text.replace(/\bdocs\/([\w-]+)\.md\b/g, "[$1]($1.md)");
}

/** Reports whether the keys of an object have a section of their own: not where an example says enough. */
function isOwnSection({ children, example }: Setting): boolean {
  return children.length > 0 && example === undefined;
}

function capital(text: string): string {
  return `${text[0]?.toUpperCase()}${text.slice(1)}`;
}

function factsOf(setting: Setting): string {
  const byDefault = setting.default === undefined ? "" : ` Default: ${code(setting.default)}.`;
  return `Value: ${setting.type}.${byDefault}`;
}

function tableOf({ children }: Setting): string {
  const rows = children.map((child) => {
    const needsExample = child.default === undefined && child.example !== undefined && !isPlain(child);
    const shown = needsExample ? ` For example ${code(child.example)}.` : "";
    const keys = isOwnSection(child) ? ` [Keys](#${anchorOf(child.path)}).` : "";
    const meaning = `${linked(child.description)}${keys}`;
    return [`\`${child.key}\``, child.type, defaultCell(child), `${meaning}${shown}`];
  });
  return table(["key", "value", "default", "meaning"], rows);
}

/** Reports whether an example of a key would say nothing new: one of the choices that are listed already, or a plain number. */
function isPlain({ type, example }: Setting): boolean {
  return type.includes("`") || typeof example === "number" || (Array.isArray(example) && example.length === 0);
}

function defaultCell(setting: Setting): string {
  if (setting.default !== undefined) return code(setting.default);
  return setting.isRequired ? "required" : "";
}

function code(value: unknown): string {
  return `\`${inlineYaml(value)}\``;
}

function yamlOf({ key, isList }: Setting, value: unknown): string {
  const body =
    isList && Array.isArray(value)
      ? `${key}:\n${value.map((one) => `  - ${inlineYaml(one)}`).join("\n")}`
      : `${key}: ${inlineYaml(value)}`;
  return `\`\`\`yaml\n${body}\n\`\`\``;
}
