/** Lists the words that may follow each beginning of a command line. The scripts of all shells are made from this list. */
import { actionsOf, type CommandSpec, type Completes, firstWords, groups, type OptionSpec, specs } from "../table.ts";

/** Place is where a command line stands: after no word, after a group's name, or after a whole command. */
export interface Place {
  /** The words before it, as `keys create`; empty at the beginning. */
  readonly words: string;
  readonly offers: readonly Offer[];
  /** takes is set where a file or a folder may follow. */
  readonly takes?: "file" | "folder" | undefined;
}

export interface Offer {
  readonly word: string;
  readonly summary: string;
}

export function places(): Place[] {
  const begin: Place = { words: "", offers: [...offersOf(firstWords()), ...general] };
  const ofGroups = [...groups.keys()].map((group): Place => {
    const actions = actionsOf(group).map((word) => ({ word, summary: specOf(`${group} ${word}`).summary }));
    return { words: group, offers: [...actions, helpOffer] };
  });
  const ofCommands = [...specs].map(([words, spec]): Place => {
    const completes = spec.arguments?.[0]?.completes;
    const isFile = completes === "file" || completes === "folder";
    return {
      words,
      offers: [...argumentOffers(words, completes), ...optionOffers(spec)],
      takes: isFile ? completes : undefined,
    };
  });
  return [begin, ...ofGroups, ...ofCommands];
}

const helpOffer: Offer = { word: "--help", summary: "explain it" };
const general: readonly Offer[] = [helpOffer, { word: "--version", summary: specOf("version").summary }];

function specOf(name: string): CommandSpec {
  return specs.get(name) as CommandSpec;
}

function offersOf(words: ReadonlyMap<string, string>): Offer[] {
  return [...words].map(([word, summary]) => ({ word, summary }));
}

function argumentOffers(command: string, completes: Completes | undefined): Offer[] {
  if (command === "help") return offersOf(firstWords());
  return Array.isArray(completes) ? completes.map((word: string) => ({ word, summary: word })) : [];
}

function optionOffers({ options }: CommandSpec): Offer[] {
  const own = Object.entries(options).map(([name, { summary }]) => ({ word: `--${name}`, summary }));
  return [...own, helpOffer];
}

/** valueOptions are the options that are followed by a value, of any command, with what is offered for it. */
export function valueOptions(): ReadonlyMap<string, Completes | undefined> {
  const all: [string, OptionSpec][] = [...specs.values()].flatMap(({ options }) => Object.entries(options));
  return new Map(all.flatMap(([name, { type, completes }]) => (type === "string" ? [[`--${name}`, completes]] : [])));
}

/** The names of those whose value is a file, and of those whose value nobody can guess. */
export function optionsByValue(): { readonly files: readonly string[]; readonly others: readonly string[] } {
  const all = [...valueOptions()];
  const names = (isFile: boolean) => all.filter(([, of]) => (of === "file") === isFile).map(([name]) => name);
  return { files: names(true), others: names(false) };
}
