/**
 * Proves that what a gateway leaves behind holds no secret and nothing that was said: its log, its metrics, its traces and its database
 * are searched for all that came through any door in this process (`overhear.ts` remembers it). Every test gateway is, when it
 * is closed.
 *
 * Not searched is what is kept for its callers on purpose: the conversations of `responses`, and the secrets of authenticator
 * apps. Of `replays` only the encrypted answer is there.
 */
import type { TestDatabase } from "./storage/test-database.ts";

export type Kind = "a credential" | "what was said";

/** A place, as `requests.tried`, and what stands there. */
export interface Remains {
  readonly place: string;
  readonly text: string;
}

/** The shortest text that is looked for, in characters: what is shorter may stand anywhere by chance. */
const shortest = 10;
const shortestSaying = 16;
/** So much of a text is looked for that one that was cut is found. */
const longest = 40;
/** Of either kind, so that a test with a hundred thousand calls does not remember them all. */
const most = 5000;

const known: Readonly<Record<Kind, Set<string>>> = { "a credential": new Set(), "what was said": new Set() };
/** By the hash of its beginning. */
const byHash = new Map<number, { readonly kind: Kind; readonly text: string }[]>();
/** isBegun is whether something begins with a hash that ends in these bits. */
const isBegun = new Uint8Array(1 << 16);
const traces: string[] = [];

/** Has it looked for from now on. */
export function remember(kind: Kind, text: string): void {
  const needle = kind === "a credential" ? text : tellingPart(text);
  const all = known[kind];
  if (needle.length < shortest || all.size >= most || all.has(needle)) return;
  all.add(needle);
  const hash = hashOf(needle);
  byHash.set(hash, [...(byHash.get(hash) ?? []), { kind, text: needle }]);
  isBegun[hash & 0xffff] = 1;
}

/** Forgets all of it: what one test file said is not looked for in the next one's gateways, where one process runs both. */
export function forgetAll(): void {
  for (const texts of Object.values(known)) texts.clear();
  byHash.clear();
  isBegun.fill(0);
  traces.length = 0;
}

/** Takes what was sent to a collector of traces. */
export function rememberTrace(body: string): void {
  traces.push(body);
}

/** The longest part that reads alike however it is quoted; empty where it is no sentence. */
function tellingPart(text: string): string {
  const parts = text.slice(0, 2000).split(/["'\\<>&\p{Cc}]/u);
  const part = parts.reduce((long, other) => (other.length > long.length ? other : long), "").trim();
  return part.length >= shortestSaying && part.includes(" ") ? part.slice(0, longest) : "";
}

/** Says what of all that is remembered stands in a text. */
export function foundIn(text: string): string | undefined {
  if (text.length < shortest) return undefined;
  let hash = hashOf(text);
  for (let at = 0; ; at++) {
    if (isBegun[hash & 0xffff] === 1) {
      const found = byHash.get(hash)?.find((needle) => text.startsWith(needle.text, at));
      if (found) return `${found.kind} (${found.text.slice(0, 6)}…)`;
    }
    if (at + shortest >= text.length) return undefined;
    const left = Math.imul(text.charCodeAt(at), leaving);
    hash = (Math.imul(hash - left, 31) + text.charCodeAt(at + shortest)) | 0;
  }
}

/** hashOf returns the hash of the first characters, as many as the window has. */
function hashOf(text: string): number {
  let hash = 0;
  for (let i = 0; i < shortest; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0;
  return hash;
}

/** leaving is what the first character of the window counts in its hash. */
const leaving = Array.from({ length: shortest - 1 }).reduce<number>((power) => Math.imul(power, 31), 1);

export interface Left {
  readonly log: string;
  /** metrics are what Prometheus would read. */
  readonly metrics: string;
  readonly database: Pick<TestDatabase, "contents">;
}

/** Returns all that is left behind, and the traces that any gateway of this process sent since this was asked last. */
export async function remainsOf({ log, metrics, database }: Left): Promise<readonly Remains[]> {
  const lines = log.split("\n").map((text) => ({ place: "the log", text }));
  const sent = traces.splice(0).map((text) => ({ place: "the traces", text }));
  return [...lines, { place: "the metrics", text: metrics }, ...sent, ...(await columnsOf(database))];
}

const kept: ReadonlySet<string> = new Set([
  "responses.input",
  "responses.response",
  "users.totp_secret",
  "users.totp_pending",
]);

async function columnsOf(database: Left["database"]): Promise<Remains[]> {
  return [...(await database.contents())].flatMap(([table, rows]) =>
    rows.flatMap((row) => Object.entries(row).flatMap(([column, value]) => textAt(`${table}.${column}`, value))),
  );
}

function textAt(place: string, value: unknown): Remains[] {
  if (kept.has(place)) return [];
  if (typeof value === "string") return [{ place, text: value }];
  return Buffer.isBuffer(value) ? [{ place, text: value.toString() }] : [];
}

/** Throws where something is found, and says where. */
export async function expectNothingLeft(left: Left): Promise<void> {
  const found = new Set<string>();
  for (const { place, text } of await remainsOf(left)) {
    const what = foundIn(text);
    if (what) found.add(`${what} in ${place}`);
  }
  if (found.size > 0) throw new Error(`the gateway leaves behind ${[...found].join(", ")}`);
}
