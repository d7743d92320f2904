/** Reads the options and arguments of a command, as the table of commands has them. */
import { parseArgs } from "node:util";
import { helpHint, isMeant, UsageError } from "./errors.ts";
import type { CommandName, CommandSpec, commandTable, OptionSpec } from "./table.ts";
import { specs } from "./table.ts";

type OptionsOf<C extends CommandName> = (typeof commandTable)[C]["options"];
type ValueOf<O> = O extends { type: "boolean" } ? boolean : O extends { multiple: true } ? string[] : string;

/** OptionValues are the options that were given, by their names. */
export type OptionValues<C extends CommandName> = {
  readonly [O in keyof OptionsOf<C>]?: ValueOf<OptionsOf<C>[O]> | undefined;
};

export interface ReadOptions<C extends CommandName> {
  readonly values: OptionValues<C>;
  /** As many as the command has arguments; those that may be left out are missing at the end. */
  readonly positionals: readonly string[];
}

/** readOptions reads what follows a command's name. Throws a UsageError. */
export function readOptions<C extends CommandName>(command: C, args: readonly string[]): ReadOptions<C> {
  const spec = specs.get(command) as CommandSpec;
  const { values, positionals } = parse(command, args, spec);
  const named = spec.arguments ?? [];
  const missing = named.find(({ isOptional }, i) => !isOptional && !positionals[i]);
  if (missing) throw new UsageError(`${command} needs ${missing.name}. ${helpHint(command)}`);
  // The value is not shown: it may be a pasted secret.
  if (positionals.length > named.length)
    throw new UsageError(`${command} has an argument too many. ${helpHint(command)}`);
  const empty = Object.entries(spec.options).find(([name, { value }]) => value === "FILE" && values[name] === "");
  if (empty) throw new UsageError(`--${empty[0]} needs the path of a file. ${helpHint(command)}`);
  const isEmpty = (value: (typeof values)[string]) =>
    value === undefined || (typeof value === "string" && !value.trim());
  const needed = Object.entries(spec.options).find(([name, { isNeeded }]) => isNeeded && isEmpty(values[name]));
  if (needed) throw new UsageError(`${command}: --${needed[0]} is needed. ${helpHint(command)}`);
  return { values: values as OptionValues<C>, positionals };
}

function parse(command: string, args: readonly string[], { options }: CommandSpec) {
  const given = Object.fromEntries(
    Object.entries(options).map(([name, { type, multiple = false }]) => [name, { type, multiple }]),
  );
  try {
    return parseArgs({ args: [...args], options: given, allowPositionals: true });
  } catch (error) {
    const fault = looksLikeOption(args, options) ?? namesVariable(args, options) ?? firstSentence(error as Error);
    throw new UsageError(`${command}: ${fault}.${misspelt(args, options)} ${helpHint(command)}`);
  }
}

/** misspelt asks whether the nearest option is meant by the first that there is not; empty where none is near. */
function misspelt(args: readonly string[], options: CommandSpec["options"]): string {
  const names = args.flatMap((arg) => /^(--[^=]+)/.exec(arg)?.[1] ?? []);
  const wrong = names.find((name) => !Object.hasOwn(options, name.slice(2)));
  return wrong === undefined
    ? ""
    : isMeant(
        wrong,
        Object.keys(options).map((name) => `--${name}`),
      );
}

function firstSentence({ message }: Error): string {
  return message.split(/\. |\n/, 1)[0]?.replace(/\.$/, "") ?? "";
}

/** looksLikeOption explains a value that begins with a hyphen, as `-1/day`, which is taken for an option; undefined where there is none. */
function looksLikeOption(args: readonly string[], options: CommandSpec["options"]): string | undefined {
  for (const [i, arg] of args.entries()) {
    const { type, value = "a value", example } = optionAt(options, arg) ?? {};
    if (type !== "string" || !/^-[^-]/.test(args[i + 1] ?? "")) continue;
    return `${arg} needs ${value}${example === undefined ? "" : `, as ${example}`}, and no value begins with a hyphen`;
  }
  return undefined;
}

/** ofEnvironment are what people write as options, and the variables that set it. */
const ofEnvironment: ReadonlyMap<string, string> = new Map([
  ["port", "PORT"],
  ["host", "HOST"],
  ["data", "DATA_DIR"],
  ["data-dir", "DATA_DIR"],
  ["metrics-port", "METRICS_PORT"],
]);

/** namesVariable explains an option that is a variable of the environment, as `--port`; undefined where there is none. */
function namesVariable(args: readonly string[], options: CommandSpec["options"]): string | undefined {
  for (const arg of args) {
    const [, name = ""] = /^--?([a-z-]+)/.exec(arg) ?? [];
    const variable = ofEnvironment.get(name);
    if (variable === undefined || Object.hasOwn(options, name)) continue;
    return `--${name} is no option. Set ${variable} in the environment, as ${variable}=… model-gateway`;
  }
  return undefined;
}

/** optionAt returns the option that an argument names; undefined where it names none, or has its value in it. */
function optionAt(options: CommandSpec["options"], arg: string): OptionSpec | undefined {
  const name = arg.startsWith("--") ? arg.slice(2) : "";
  return Object.hasOwn(options, name) ? options[name] : undefined;
}
