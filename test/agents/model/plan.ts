/**
 * What the model of the agents' test says: it plays the plan that stands in the last prompt, as `(plan: tool)`, and nothing else,
 * so that each run of an agent is the same.
 *
 *   hi       says hi, with the word of the prompt
 *   tool     calls the agent's own shell, then says what it told; has the file written by its text where there are no tools
 *   mcp      calls the tool of our MCP server, then says what it told
 *   look     says which images it sees; where it sees none it reads the file of that name by the agent's own tool
 *   fill     says a lot, and in the usage that its context is full, or has so many tokens, for agents that sum up by themselves
 *   recall   says which words earlier turns, or a summary of them, hold
 *
 * Whatever else it is asked without a plan is a side job of the agent's, a title or a summary: it says the words that it knows.
 */

/** What a family's request says, in no family's words. */
export interface Asked {
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
}

export interface Turn {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly text: string;
  readonly images: number;
}

export interface Tool {
  readonly name: string;
  /** JSON Schema of its arguments; undefined where it takes free text. */
  readonly schema: Schema | undefined;
  readonly namespace?: string;
}

export interface Schema {
  readonly type?: string | readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly items?: Schema;
}

export interface Reply {
  /** The plan that was played; `side` where there is none. */
  readonly plan: string;
  readonly text: string;
  /** Its arguments are a text where the tool takes free text. */
  readonly call?: { readonly tool: Tool; readonly arguments: Readonly<Record<string, unknown>> | string };
  /** Tokens of the prompt, as the usage tells them. */
  readonly promptTokens: number;
}

const planPattern = /\(plan: (\w+)(?: ([\w./-]+))?\)/g;
const wordPattern = /\bword-[a-z]+\b/g;
const summaryPattern = /summar|compact|handoff|hand-off/i;
/**
 * What the shell prints stands nowhere in the command, so who says it has run it. It ends a moment later, for there are agents that
 * lose what a command prints that ends at once.
 */
const command = "printf '%s-%s' made here | tee made.txt; sleep 0.3";

/** A file as agents take it from the text of a model that calls no tools, as Aider does: its path, and the whole of it. */
const fileAsText = "made.txt\n```\nmade-here\n```";

const usual = 1000;
const full = 195_000;
const fullText = "My context is full.";

export function play({ turns, tools }: Asked): Reply {
  const at = turns.findLastIndex(isPrompt);
  const since = turns.slice(at + 1);
  const plans = plansIn(turns[at]?.text ?? "");
  const { name = "side", detail = "" } = plans.at(-1) ?? {};
  if (at < 0 || isSideJob(turns, at, tools)) return sumUp(turns);
  const told = since.findLast(({ role }) => role === "tool");
  // Several prompts may have been joined to one turn: what stands before the last is earlier.
  const last = turns[at] as Turn;
  const before = [...turns.slice(0, at), { ...last, text: last.text.slice(0, last.text.lastIndexOf("(plan:")) }];
  // Aider gives files along in turns of their own, before the prompt.
  const given = turns.slice(turns.slice(0, at).findLastIndex(isPrompt) + 1);
  const images = given.reduce((sum, turn) => sum + turn.images, 0);
  switch (name) {
    case "tool":
      return told ? say(name, `The tool said: ${told.text.slice(0, 400)}`) : callShell(name, tools);
    case "mcp":
      return told?.text.includes("stamp-") ? say(name, `The stamp is: ${told.text}`) : callStamp(tools, told);
    case "look":
      return images > 0 || told ? say(name, `I see ${images} image(s).`) : callReader(tools, detail);
    case "recall":
      return say(name, `I remember ${words(before)}.`);
    case "fill":
      return {
        ...say(name, `${fullText} ${"So it goes on and on. ".repeat(1500)}`),
        promptTokens: Number(detail) || full,
      };
    default:
      return say(name, `Hi! I keep ${words([last])} in mind.`);
  }
}

const isPrompt = ({ role, text }: Turn) => role === "user" && plansIn(text).length > 0;

function plansIn(text: string): { name: string; detail: string }[] {
  return [...text.matchAll(planPattern)].map(([, name = "", detail = ""]) => ({ name, detail }));
}

function words(turns: readonly Turn[]): string {
  const found = new Set(turns.flatMap(({ text }) => text.match(wordPattern) ?? []));
  return found.size > 0 ? [...found].join(" and ") : "nothing";
}

const say = (plan: string, text: string): Reply => ({ plan, text, promptTokens: usual });

/** Its prompt is as long as it was said to be. */
function sumUp(turns: readonly Turn[]): Reply {
  const isFull = turns.some(({ text }) => text.includes(fullText));
  return { ...say("side", `Summary of the work so far: ${words(turns)}.`), ...(isFull && { promptTokens: full }) };
}

/** Whether a summary is asked for, after the last prompt, or by the instructions of a call without tools, which may stand around it. */
function isSideJob(turns: readonly Turn[], at: number, tools: readonly Tool[]): boolean {
  if (turns.slice(at + 1).some(({ role, text }) => role === "user" && summaryPattern.test(text))) return true;
  const instructions = turns.filter(({ role }, i) => role === "system" || i === at);
  return tools.length === 0 && instructions.some(({ text }) => summaryPattern.test(text));
}

const shells =
  /^(bash|shell|exec_command|shell_command|local_shell|run_shell|run_shell_command|run_commands?|execute_command|run_terminal_command)$/i;

function callShell(plan: string, tools: readonly Tool[]): Reply {
  const tool = find(tools, shells);
  if (tool) return call(plan, tool, { command });
  if (tools.length === 0) return say(plan, fileAsText);
  const code = `text(await tools.exec_command({ cmd: ${JSON.stringify(command)} }));`;
  return callCode(plan, tools, code) ?? say(plan, `There is no shell among ${named(tools)}.`);
}

/** Writes code for agents whose one tool runs it, and has their other tools for functions. */
function callCode(plan: string, tools: readonly Tool[], code: string): Reply | undefined {
  const tool = find(tools, /^(functions__)?exec$/);
  if (!tool) return undefined;
  const [key] = Object.keys(tool.schema?.properties ?? {});
  return { ...say(plan, ""), call: { tool, arguments: key === undefined ? code : { [key]: code } } };
}

const stampCode = `const { name } = ALL_TOOLS.find((tool) => tool.name.endsWith("stamp"));
text(await tools[name]({ text: "pear" }));`;

/** Looks for the tool where it is not among those of the request, and calls it through another where it is found but not there. */
function callStamp(tools: readonly Tool[], found: Turn | undefined): Reply {
  const tool = find(tools, /stamp$/i);
  if (tool) return call("mcp", tool, { text: "pear" });
  const other = found && find(tools, /^tool_call$/);
  const name = found?.text.match(/"name":"(\w*stamp)"/)?.[1];
  if (other && name)
    return { ...say("mcp", ""), call: { tool: other, arguments: { name, arguments: { text: "pear" } } } };
  const search = found ? undefined : find(tools, /^tool_?search/i);
  if (search) return call("mcp", search, { query: "stamp" });
  return callCode("mcp", tools, stampCode) ?? say("mcp", `There is no stamp among ${named(tools)}.`);
}

function callReader(tools: readonly Tool[], path: string): Reply {
  const tool = find(tools, /^(view_image|read|read_file|read_files)$/i);
  return tool ? call("look", tool, { path }) : say("look", `I see no image, and cannot read among ${named(tools)}.`);
}

const find = (tools: readonly Tool[], pattern: RegExp) => tools.find(({ name }) => pattern.test(name));
const named = (tools: readonly Tool[]) => tools.map(({ name }) => name).join(", ") || "no tools";

const commandKeys = /^(command|commands|cmd)$/;
const pathKeys = /path|file/i;

/** Fills in what the tool's schema asks for: what is meant for a command, a path or a text goes there, and the rest is made up. */
function call(plan: string, tool: Tool, meant: Readonly<Record<string, string>>): Reply {
  const { properties = {}, required = [] } = tool.schema ?? {};
  const args: Record<string, unknown> = {};
  for (const [key, schema] of Object.entries(properties)) {
    const value = meantFor(key, meant);
    if (value !== undefined) args[key] = fitted(value, key, schema);
    else if (required.includes(key)) args[key] = madeUp(schema);
  }
  return { ...say(plan, ""), call: { tool, arguments: args } };
}

function meantFor(key: string, { command, path, ...others }: Readonly<Record<string, string>>): string | undefined {
  if (command !== undefined && commandKeys.test(key)) return command;
  if (path !== undefined && pathKeys.test(key)) return path;
  return others[key];
}

function fitted(value: string, key: string, { type, items }: Schema): unknown {
  if (type !== "array" && items === undefined) return value;
  const { properties } = items ?? {};
  if (properties)
    return [
      Object.fromEntries(
        Object.keys(properties)
          .filter((name) => pathKeys.test(name) || commandKeys.test(name))
          .map((name) => [name, value]),
      ),
    ];
  return key === "command" ? ["bash", "-lc", value] : [value];
}

function madeUp({ type, enum: values }: Schema): unknown {
  if (values?.length) return values[0];
  const [kind] = [type].flat();
  return kind === "boolean"
    ? false
    : kind === "number" || kind === "integer"
      ? 1
      : kind === "array"
        ? []
        : kind === "object"
          ? {}
          : "as asked";
}
