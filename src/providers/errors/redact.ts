/** Removes the operator's secrets from an upstream's message: the key it was called with, and its address. */

/** Redact returns a text without the secrets. */
export type Redact = (text: string) => string;

const instead = "[hidden]";

/** `baseUrl` is the upstream's address. */
export function createRedact(baseUrl: string, secrets: readonly (string | undefined)[]): Redact {
  // One may be a part of another, which would be left in pieces.
  const hidden = [...secrets.filter(isSecret), ...addressesOf(baseUrl)].sort((a, b) => b.length - a.length);
  return (text) => hidden.reduce((rest, word) => rest.replaceAll(word, instead), text);
}

/** Placeholders such as `none` or `ollama` are ordinary words and are not redacted. */
function isSecret(word: string | undefined): word is string {
  if (word === undefined) return false;
  return word.length >= 12 || (word.length >= 5 && /[\d_-]/.test(word));
}

/** addressesOf returns the host with its port, and without where the name is not a single word. */
function addressesOf(baseUrl: string): string[] {
  if (!URL.canParse(baseUrl)) return [];
  const { host, hostname } = new URL(baseUrl);
  return [host, hostname].filter((name) => /[.:]/.test(name));
}
