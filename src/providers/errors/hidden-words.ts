/**
 * Takes out of an upstream's words what is the operator's alone: the key that it was asked with, and its address.
 */

/** Returns a text without them. */
export type Redact = (text: string) => string;

const instead = "[hidden]";

/** `baseUrl` is the upstream's address. */
export function createRedact(baseUrl: string, secrets: readonly (string | undefined)[]): Redact {
  const hidden = [...secrets.filter(isSecret), ...addressesOf(baseUrl)];
  return (text) => hidden.reduce((rest, word) => rest.replaceAll(word, instead), text);
}

/** What stands for no key, as `none` or `ollama`, is a word that may mean something else. */
function isSecret(word: string | undefined): word is string {
  if (word === undefined) return false;
  return word.length >= 12 || (word.length >= 5 && /[\d_-]/.test(word));
}

/** With its port, and without where it is no single word. */
function addressesOf(baseUrl: string): string[] {
  if (!URL.canParse(baseUrl)) return [];
  const { host, hostname } = new URL(baseUrl);
  return [host, hostname].filter((name) => /[.:]/.test(name));
}
