/** Writes JSON values as people write them in JSON, Python and TypeScript: on one line where they fit, else a member a line. */

interface Style {
  readonly key: (name: string) => string;
  readonly words: Readonly<Record<string, string>>;
  /** pad is what stands within the braces of an object on one line. */
  readonly pad: string;
  readonly indent: string;
  /** trailing is what follows the last member where each has a line. */
  readonly trailing: string;
}

const json: Style = {
  key: (name) => `${JSON.stringify(name)}: `,
  words: { true: "true", false: "false", null: "null" },
  pad: "",
  indent: "  ",
  trailing: "",
};

const python: Style = {
  key: (name) => `${JSON.stringify(name)}: `,
  words: { true: "True", false: "False", null: "None" },
  pad: "",
  indent: "    ",
  trailing: ",",
};

const typescript: Style = {
  key: (name) => (/^[A-Za-z_]\w*$/.test(name) ? `${name}: ` : `${JSON.stringify(name)}: `),
  words: json.words,
  pad: " ",
  indent: "  ",
  trailing: ",",
};

const styles = { json, python, typescript } as const;

/** Code is a text of the program itself that stands for a value, as `os.environ["KEY_ID"]`. */
export interface Code {
  readonly [codeText]: string;
}

const codeText = Symbol("code");

export function code(text: string): Code {
  return { [codeText]: text };
}

function isCode(value: unknown): value is Code {
  return typeof value === "object" && value !== null && codeText in value;
}

/** Returns the value, whose first line begins after `column` characters. Further lines are indented by `depth` steps at least. */
export function literal(value: unknown, style: keyof typeof styles, depth = 0, width = 88): string {
  return write(value, styles[style], depth, width);
}

/** Returns the members of an object as keyword arguments of Python, each on a line. */
export function keywordArguments(value: Readonly<Record<string, unknown>>): string {
  return Object.entries(value)
    .map(([name, one]) => `    ${name}=${write(one, python, 1, 88)},\n`)
    .join("");
}

function write(value: unknown, style: Style, depth: number, width: number): string {
  const line = onOneLine(value, style);
  if (line.length + depth * style.indent.length <= width || typeof value !== "object" || value === null) return line;
  if (isCode(value)) return line;
  const inner = style.indent.repeat(depth + 1);
  const members = Array.isArray(value)
    ? value.map((one) => write(one, style, depth + 1, width))
    : Object.entries(value).map(([name, one]) => style.key(name) + write(one, style, depth + 1, width));
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const text = members.map((member) => `\n${inner}${member}`).join(",");
  return `${open}${text}${style.trailing}\n${style.indent.repeat(depth)}${close}`;
}

function onOneLine(value: unknown, style: Style): string {
  if (isCode(value)) return value[codeText];
  if (Array.isArray(value)) return `[${value.map((one) => onOneLine(one, style)).join(", ")}]`;
  if (typeof value !== "object" || value === null) {
    return typeof value === "string" ? JSON.stringify(value) : (style.words[String(value)] ?? String(value));
  }
  const members = Object.entries(value).map(([name, one]) => style.key(name) + onOneLine(one, style));
  return members.length === 0 ? "{}" : `{${style.pad}${members.join(", ")}${style.pad}}`;
}
