/**
 * Reads the virtual keys of a LiteLLM proxy, as its `GET /key/list?return_full_object=true` returns them. It keeps the SHA-256 of
 * each secret, as the gateway does: so its keys go on working, and nobody need be given a new one.
 */
import { mostOfKey } from "../../../call/key-bounds.ts";
import { parseDecimal } from "../../../runtime/decimal.ts";
import { product } from "../decimals.ts";
import { createNotes, type Note, type Notes } from "../notes.ts";
import { isOff, isOn, memberOf, type ReadText, readSource, type Source, textOf } from "../source.ts";
import { type DraftLimits, limitsOf } from "./key-limits.ts";

/** KeyDraft is a key to create. */
export interface KeyDraft {
  readonly place: Source;
  readonly name: string;
  /** secretHash is the SHA-256 of the secret, in hexadecimal. */
  readonly secretHash: string;
  readonly mask: string;
  /** creditLimit is what is left of its budget, in millionths of a dollar; undefined: it has none. */
  readonly creditLimit: number | undefined;
  /** models are the names that it may use: models or access groups. Undefined: all. */
  readonly models: readonly string[] | undefined;
  /** expiresAt is in milliseconds since 1970. */
  readonly expiresAt: number | undefined;
  readonly disabled: boolean;
  readonly limits: DraftLimits;
  /** budget is what it may spend in each period, in place of a credit limit. */
  readonly budget: DraftBudget | undefined;
}

export interface DraftBudget {
  /** amount is in millionths of a dollar. */
  readonly amount: number;
  readonly period: "day" | "week" | "month";
}

export interface ReadKeys {
  readonly keys: readonly KeyDraft[];
  readonly notes: Notes;
  readonly all: () => readonly Note[];
}

export interface ReadKeysOptions {
  /** team selects the keys of a team, by its id. Default: all keys. */
  readonly team: string | undefined;
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

/** readLiteLlmKeys reads the file. Throws a ConfigError where it cannot be read. */
export function readLiteLlmKeys(file: string, readText: ReadText, options: ReadKeysOptions): ReadKeys {
  const root = readSource(file, readText);
  const notes = createNotes();
  const listed = memberOf(root, "keys")?.items ?? [];
  const chosen = listed.filter(
    (key) => options.team === undefined || textOf(memberOf(key, "team_id")) === options.team,
  );
  const keys = chosen.flatMap((key) => keyOf(key, options.now, notes) ?? []);
  return { keys, notes, all: () => notes.all() };
}

/** openNames stand for all models of the proxy. */
const openNames: ReadonlySet<string> = new Set(["all-proxy-models", "*"]);

/** openRoutes have all endpoints of models among them. */
const openRoutes: ReadonlySet<string> = new Set(["llm_api_routes", "*", "/*"]);

/** A bound that the file does not tell in full. The key is disabled: without its bound it could do more than before. */
const unknown = Symbol("unknown");
type Told<T> = T | typeof unknown;

const orNone = <T>(told: Told<T>): T | undefined => (told === unknown ? undefined : told);

function keyOf(source: Source, now: number, notes: Notes): KeyDraft | undefined {
  const secretHash = textOf(memberOf(source, "token")) ?? "";
  const shown = textOf(memberOf(source, "key_name")) ?? "";
  if (!/^[0-9a-f]{64}$/.test(secretHash)) {
    notes.leftOut(source, "a key without the hash of its secret. List keys with return_full_object=true");
    return undefined;
  }
  const name = (textOf(memberOf(source, "key_alias")) || shown || secretHash.slice(0, 8))
    .replace(/\p{Cc}/gu, " ")
    .slice(0, 200);
  const expiresAt = expiryOf(source);
  if (expiresAt !== unknown && expiresAt !== undefined && expiresAt <= now) {
    notes.leftOut(source, `"${name}": it has expired`);
    return undefined;
  }
  noteBounds(source, name, notes);
  const budget = budgetOf(source);
  if (budget)
    notes.changed(source, `"${name}": its budget is by the calendar, a ${budget.period}, and begins anew here`);
  else noteDuration(source, name, notes);
  const creditLimit = budget ? undefined : creditLeft(source);
  if (creditLimit === 0)
    notes.changed(source, `"${name}": its budget is spent. It is disabled: raise its limit, and enable it`);
  const models = modelsOf(source, name, notes);
  const limits = limitsOf(source, name, notes);
  const untold = Object.entries({
    ...Object.fromEntries(limits.untold.map((member) => [`its ${member}`, unknown])),
    ...{ "its models": models, "its credit limit": creditLimit, "its expiry": expiresAt },
    "its routes, for it called some endpoints only": routesOf(source),
  }).filter(([, told]) => told === unknown);
  for (const [what] of untold)
    notes.toDo(
      source,
      `"${name}": the file does not tell ${what}. It is disabled: look at it, set what it may, and enable it`,
    );
  return {
    place: source,
    name,
    secretHash,
    creditLimit: orNone(creditLimit),
    mask: `${shown.slice(0, 3) || "sk-"}…${shown.slice(-4)}`,
    ...{ models: orNone(models), expiresAt: orNone(expiresAt) },
    disabled: !isEnabled(source) || creditLimit === 0 || untold.length > 0,
    limits,
    budget,
  };
}

/** isEnabled reports whether a key is not blocked for certain. */
function isEnabled(source: Source): boolean {
  const blocked = memberOf(source, "blocked");
  return blocked === undefined || (isOff(blocked) && !isOn(blocked));
}

/** expiryOf returns milliseconds since 1970; undefined for never. LiteLLM's times without an offset are of UTC. */
function expiryOf(source: Source): Told<number | undefined> {
  const written = memberOf(source, "expires");
  if (!written || (written.scalar === "" && !written.items && !written.members)) return undefined;
  const text = (textOf(written) ?? "").replace(/^(\d{4}-\d{2}-\d{2}) /, "$1T");
  if (!/^\d{4}-\d{2}-\d{2}(?:T|$)/.test(text)) return unknown;
  const read = Date.parse(/T[\d:.]+$/.test(text) ? `${text}Z` : text);
  return Number.isNaN(read) ? unknown : read;
}

/** durations are those of LiteLLM that are a period here. */
const durations: ReadonlyMap<string, DraftBudget["period"]> = new Map([
  ...(["1d", "24h", "daily"] as const).map((text) => [text, "day"] as const),
  ...(["7d", "1w", "weekly"] as const).map((text) => [text, "week"] as const),
  ...(["30d", "1mo", "monthly"] as const).map((text) => [text, "month"] as const),
]);

function durationOf(source: Source): Source | undefined {
  const written = memberOf(source, "budget_duration") ?? memberOf(source, "litellm_budget_table", "budget_duration");
  return written && !isOff(written) ? written : undefined;
}

/** budgetOf returns the budget of a key whose budget is renewed; undefined for one that is not, or is spent by nothing. */
function budgetOf(source: Source): DraftBudget | undefined {
  const period = durations.get(textOf(durationOf(source)) ?? "");
  const written = memberOf(source, "max_budget") ?? memberOf(source, "litellm_budget_table", "max_budget");
  const amount = amountOf(written, mostOfKey.creditLimit);
  return period && typeof amount === "number" && amount > 0 ? { amount, period } : undefined;
}

/** noteDuration tells of a budget that is renewed after a time that is no period here. */
function noteDuration(source: Source, name: string, notes: Notes): void {
  const remedy = "its limit is what is left of its budget, for all its life. Raise it when the period begins anew";
  if (durationOf(source)) notes.changed(source, `"${name}": budget_duration: ${remedy}`);
}

/**
 * creditLeft returns what is left of a budget, in millionths; undefined where there is none. What is spent is rounded up. A key without
 * a budget of its own has that of its row in the table of budgets.
 */
function creditLeft(source: Source): Told<number | undefined> {
  const table = memberOf(source, "litellm_budget_table");
  const budget = amountOf(memberOf(source, "max_budget") ?? memberOf(table, "max_budget"), mostOfKey.creditLimit);
  const spent = amountOf(memberOf(source, "spend"), 0);
  if (budget === undefined) {
    const elsewhere = [...(table ? [] : [memberOf(source, "budget_id")]), memberOf(source, "model_max_budget")];
    return elsewhere.some((one) => one && !isOff(one)) ? unknown : undefined;
  }
  return budget === unknown || spent === unknown ? unknown : Math.max(0, budget - (spent ?? 0));
}

/** amountOf reads an amount in millionths, rounded up; one that is too large is `most`, or unknown for 0. */
function amountOf(source: Source | undefined, most: number): Told<number | undefined> {
  if (!source) return undefined;
  const told = product(textOf(source) ?? "");
  if (!told) return unknown;
  const read = parseDecimal(told.text);
  const amount = "value" in read ? read.value : Number.POSITIVE_INFINITY;
  if (most === 0) return Number.isFinite(amount) ? amount : unknown;
  return Math.min(amount, most);
}

/** modelsOf returns the models that a key may use; undefined for all. */
function modelsOf(source: Source, name: string, notes: Notes): Told<readonly string[] | undefined> {
  const written = memberOf(source, "models");
  const groups = memberOf(source, "access_group_ids");
  const names = (written?.items ?? []).map(textOf);
  if (names.some((one) => one !== undefined && openNames.has(one))) return undefined;
  if (names.length === 0) {
    if ([written, groups].some((one) => one && !isOff(one))) return unknown;
    if (memberOf(source, "team_id"))
      notes.toDo(source, `"${name}": it may use all models. Where its team may not, set its models`);
    return undefined;
  }
  const told = names.filter((one) => one !== undefined && one !== "all-team-models" && one !== "no-default-models");
  return told.length > 0 ? (told as string[]) : unknown;
}

/** routesOf returns undefined where a key may call all endpoints of models. */
function routesOf(source: Source): Told<undefined> {
  const written = memberOf(source, "allowed_routes");
  if (!written || isOff(written)) return undefined;
  return written.items?.some((item) => openRoutes.has(textOf(item) ?? "")) ? undefined : unknown;
}

/** bounds are what a key may have in LiteLLM and not here. */
const bounds: ReadonlyMap<string, string> = new Map([
  ["soft_budget", "watch the balance: deploy/ has alerts"],
  ["model_max_budget", "one limit holds for all models of a key"],
  ["guardrails", "the gateway checks no prompts"],
]);

function noteBounds(source: Source, name: string, notes: Notes): void {
  for (const [bound, remedy] of bounds) {
    const written = memberOf(source, bound);
    if (written && !isOff(written)) notes.changed(source, `"${name}": ${bound}: ${remedy}`);
  }
}
