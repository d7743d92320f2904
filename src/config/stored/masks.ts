/**
 * Masks are shown in the places of secrets. A change that sends a mask back leaves the secret as it was, and nobody who sends one learns
 * the secret, or where else it could be sent: it is taken for the same upstream alone, at the same address.
 */
import { type Fault, placed } from "../document.ts";
import { problem } from "../fault-texts.ts";
import { entryName, type Json, listAt, memberOf } from "./documents.ts";
import { mapSecrets, secretsOf } from "./secrets.ts";

/** No secret begins with it: they are ASCII. */
const beginning = "…";
/** A shorter secret shows nothing of itself. */
const shownFrom = 12;
const shown = 4;

/** maskOf returns the mask of a secret: its last four characters, where it is long enough to lose them. */
export function maskOf(secret: string): string {
  return secret.length < shownFrom ? beginning : `${beginning}${secret.slice(-shown)}`;
}

function isMask(text: string): boolean {
  return text.startsWith(beginning);
}

/** masked returns a document with masks in the places of its secrets. */
export function masked(document: Json): Json {
  return mapSecrets(document, (secret) => (secret === "" ? "" : maskOf(secret)));
}

export interface Unmasked {
  readonly document: Json;
  /** faults are the masks that stand for no secret. */
  readonly faults: readonly Fault[];
}

/** unmasked returns a document with the secrets of another in the places of their masks. `name` is what faults call it. */
export function unmasked(document: Json, base: Json, name: string): Unmasked {
  const faults: Fault[] = [];
  const known = secretsOf(base);
  const moved = movedUpstreams(document, base);
  const opened = mapSecrets(document, (text, path) => {
    if (!isMask(text)) return text;
    const upstream = upstreamAt(path);
    const secret = secretFor(text, path, known);
    const reason = secret === undefined ? "MASK_UNKNOWN" : moved.has(upstream) ? "MASK_MOVED" : undefined;
    if (reason) faults.push({ file: name, isStored: true, ...placed(path, problem(reason)) });
    return secret ?? text;
  });
  return { document: opened, faults };
}

/** secretFor returns the secret of a mask: the one at its place, or else one of the same upstream that looks like it. */
function secretFor(mask: string, path: string, known: ReadonlyMap<string, string>): string | undefined {
  const there = known.get(path);
  if (there !== undefined && maskOf(there) === mask) return there;
  const list = path.replace(/\[\d+\]$/, "[");
  const others = [...known].filter(([at, secret]) => at.startsWith(list) && list !== path && maskOf(secret) === mask);
  return new Set(others.map(([, secret]) => secret)).size === 1 ? others[0]?.[1] : undefined;
}

/** upstreamAt returns the name of the upstream that a place is in; empty where it is in none. */
function upstreamAt(path: string): string {
  return /^upstreams\[([^\]]*)\]/.exec(path)?.[1] ?? "";
}

/** movedUpstreams returns the names of the upstreams whose address has another origin than before. */
function movedUpstreams(document: Json, base: Json): ReadonlySet<string> {
  const before = new Map(listAt(base, "upstreams").map((one) => [entryName("upstreams", one), originOf(one)] as const));
  const named = listAt(document, "upstreams").map((one) => [entryName("upstreams", one) ?? "", originOf(one)] as const);
  return new Set(
    named.filter(([name, origin]) => before.has(name) && before.get(name) !== origin).map(([name]) => name),
  );
}

function originOf(upstream: Parameters<typeof memberOf>[0]): string | undefined {
  const address = memberOf(upstream, "base_url");
  return typeof address === "string" ? URL.parse(address)?.origin : undefined;
}
