/** Makes the texts of `model-gateway help` from the table of commands: all commands, one of them, or a topic. */
import { wrongCommand } from "./errors.ts";
import { type ArgumentSpec, actionsOf, type CommandSpec, firstWords, groups, specs, type topics } from "./table.ts";

/** help returns the help of what is named: nothing for all commands. Throws a UsageError. */
export function help(words: readonly string[]): string {
  const name = words.join(" ");
  if (name === "") return overview();
  const topic = new Map(Object.entries(topicTexts)).get(name);
  if (topic !== undefined) return topic;
  const spec = specs.get(name);
  if (spec) return helpOf(name, spec);
  if (words.length === 1 && groups.has(name)) return helpOfGroup(name);
  throw wrongCommand(name);
}

/**
 * helpAsked returns what help is asked for by a command line with `--help` or `-h`: the longest name that it begins with.
 */
export function helpAsked(args: readonly string[]): readonly string[] {
  const isOption = (word: string | undefined) => word === undefined || word.startsWith("-");
  const [first, second] = args;
  if (isOption(first)) return [];
  const both = [first, second].join(" ");
  return isOption(second) || !specs.has(both) ? [first as string] : (args.slice(0, 2) as readonly string[]);
}

function overview(): string {
  const lines = columns([...firstWords()]);
  return `usage: model-gateway [COMMAND] [OPTION]…
${lines.join("\n")}
\`model-gateway help COMMAND\` explains one, \`help configuration\` the settings.`;
}

function helpOf(name: string, { summary, details, arguments: named = [], options }: CommandSpec): string {
  const words = named.map(shownArgument);
  const hasOptions = Object.keys(options).length > 0;
  const head = `usage: model-gateway ${[name, ...words, ...(hasOptions ? ["[OPTION]…"] : [])].join(" ")}`;
  const shown = Object.entries(options).map(([option, { value, summary: what, isNeeded }]): [string, string] => [
    `--${option}${value === undefined ? "" : ` ${value}`}`,
    isNeeded ? `${what}; needed` : what,
  ]);
  const paragraphs = [head, sentence(summary), details, hasOptions ? columns(shown).join("\n") : undefined];
  return paragraphs.filter((paragraph) => paragraph !== undefined).join("\n\n");
}

function helpOfGroup(group: string): string {
  const shown = actionsOf(group).map((action): [string, string] => {
    const { summary, arguments: named = [] } = specs.get(`${group} ${action}`) as CommandSpec;
    return [[action, ...named.map(shownArgument)].join(" "), summary];
  });
  return `usage: model-gateway ${group} COMMAND [OPTION]…

${columns(shown).join("\n")}

\`model-gateway help ${group} COMMAND\` explains its options.`;
}

function sentence(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}

const topicTexts: Readonly<Record<(typeof topics)[number], string>> = {
  configuration: `The configuration is the file of --config or GATEWAY_CONFIG, with the keys of
gateway.example.yaml. Without a file the gateway serves the embedded models,
those of the vendors whose keys are set, such as OPENAI_API_KEY, and those of
the server at OPENAI_BASE_URL.

HOST, PORT, DATA_DIR and LOG_LEVEL take precedence over the file, and so do
WORKERS, DATABASE_URL, DATABASE_REPLICA_URL and REDIS_URL. Accounts, keys and
money are in the Postgres of DATABASE_URL, else in the data folder: ./data,
unless the configuration has another: set all as for \`serve\`. So HOST and PORT,
to which links lead, or public_urls.root in the file.

Amounts are decimals in units, such as 12.50. Times look like
2030-01-31T12:00:00Z.`,
  "exit-codes": `0  All went well. \`serve\`: a signal stopped it, and every call was charged.
1  It did not work: the message says what to do. \`health\`: not ready.
   \`reconcile\`, \`restore\`: something was found. \`migrate-to\`: something differs.
   \`serve\`: it could not start, or was stopped by a second signal.
2  The command line, a path that it names or the configuration is wrong. Nothing
   was changed, and repeating it without a correction is in vain.

A gateway that is killed by a signal has 128 and the signal's number.`,
};

/** shownArgument returns the word for an argument, in brackets where it may be left out. */
function shownArgument({ name, isOptional, isShownNeeded }: ArgumentSpec): string {
  return isOptional && !isShownNeeded ? `[${name}]` : name;
}
