/**
 * Removes secrets from an upstream's message: the key it was called with, and its address; and what it tells of servers behind it, their
 * addresses in networks of their own and whatever looks like a vendor's key.
 */

/** Redact returns a text without the secrets. */
export type Redact = (text: string) => string;

const instead = "[hidden]";

/** `baseUrl` is the upstream's address. */
export function createRedact(baseUrl: string, secrets: readonly (string | undefined)[]): Redact {
  // One may be a part of another, which would be left in pieces.
  const hidden = [...secrets.filter(isSecret), ...addressesOf(baseUrl)].sort((a, b) => b.length - a.length);
  return (text) =>
    hidden.reduce((rest, word) => rest.replaceAll(word, instead), text).replaceAll(ofServersBehind, instead);
}

/** ofServersBehind finds private addresses, names of hosts in a network of its own, bearers and the keys of vendors. */
const ofServersBehind = new RegExp(
  [
    "(?<![\\w.])(?:(?:10|127)\\.\\d{1,3}|192\\.168|169\\.254|172\\.(?:1[6-9]|2\\d|3[01]))(?:\\.\\d{1,3}){2}(?!\\.?\\d)(?::\\d{1,5}\\b)?",
    "(?<=//)(?:localhost|[\\w-]{1,63}(?:\\.[\\w-]{1,63}){0,5}\\.(?:internal|intranet|local|lan|svc))(?::\\d{1,5})?\\b",
    "(?<=\\bbearer )[\\w.~+/-]{16,500}=*",
    "\\b(?:sk-|pk-|gsk_|xai-|hf_|nvapi-|pplx-|csk-|r8_|fw_|AIza|AKIA)[\\w-]{16,500}",
  ].join("|"),
  "gi",
);

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
