/**
 * Carries texts over that may be secret. `os.environ/NAME` becomes `${NAME}`; a secret that is written out becomes a variable of the
 * environment, which the person has to set, and its value is never written anywhere.
 */
import type { Notes } from "../notes.ts";
import { type Source, textOf } from "../source.ts";

/** fromEnvironment matches a text that LiteLLM reads from the environment. */
const fromEnvironment = /^os\.environ\/(.+)$/;

/** fillers are the keys that people give to servers which want none. */
const fillers =
  /^(?:none|null|empty|dummy|fake|fake-key|no-?key|not-?needed|not-?required|anything|any|x|na|n\/a|test)$/i;

/** secretNames match headers and parameters whose values are secret. */
const secretNames = /auth|key|token|secret|password|cookie|credential/i;

export const isSecretName = (name: string) => secretNames.test(name);

/** variableIn returns the name of the variable that a text stands for; undefined for any other text. */
export function variableIn(text: string): string | undefined {
  return fromEnvironment.exec(text)?.[1]?.trim();
}

/** referenceOf returns the text that stands for a variable in gateway.yaml. */
export const referenceOf = (variable: string) => `\${${variable}}`;

/** plainText carries a text over that is not secret; undefined where it is none. */
export function plainText(source: Source | undefined, notes: Notes): string | undefined {
  const text = textOf(source);
  const variable = text === undefined ? undefined : variableIn(text);
  if (!source || variable === undefined) return text;
  if (/^\w+$/.test(variable)) return referenceOf(variable);
  const usable = variableOf(variable);
  notes.toDo(
    source,
    `a variable's name has letters, digits and _ only. Put this one into the environment as ${usable}`,
  );
  return referenceOf(usable);
}

/**
 * secretText carries a secret over. `variable` is the variable to use for a secret that is written out. Undefined where there is
 * none, or only a filler.
 */
export function secretText(source: Source | undefined, variable: string, notes: Notes): string | undefined {
  const text = textOf(source);
  if (!source || text === undefined || text === "" || fillers.test(text)) return undefined;
  if (variableIn(text) !== undefined) return plainText(source, notes);
  notes.toDo(source, `a secret is written out here. Put it into the environment as ${variable}`);
  return referenceOf(variable);
}

/** variableOf makes the name of a variable of other names: `azure-2` and `api_key` are `AZURE_2_API_KEY`. */
export function variableOf(...names: readonly string[]): string {
  const joined = names.join("_").toUpperCase().replace(/\W+/g, "_");
  return /^\d/.test(joined) ? `_${joined}` : joined;
}
