/**
 * Reads the virtual keys of a LiteLLM proxy, as its `GET /key/list?return_full_object=true` returns them. It keeps the SHA-256 of
 * each secret, as the gateway does: so its keys go on working, and nobody need be given a new one.
 */
import { parseDecimal } from "../../../runtime/decimal.ts";
import { product } from "../decimals.ts";
import { createNotes, type Note, type Notes } from "../notes.ts";
import { isOff, isOn, memberOf, type ReadText, readSource, type Source, textOf } from "../source.ts";

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
  const expiresAt = Date.parse(textOf(memberOf(source, "expires")) ?? "");
  if (expiresAt <= now) {
    notes.leftOut(source, `"${name}": it has expired`);
    return undefined;
  }
  noteBounds(source, name, notes);
  const creditLimit = creditLeft(source);
  if (creditLimit === 0)
    notes.changed(source, `"${name}": its budget is spent. It is disabled: raise its limit, and enable it`);
  const models = modelsOf(source, name, notes);
  return {
    place: source,
    name,
    secretHash,
    creditLimit: creditLimit || undefined,
    mask: `${shown.slice(0, 3) || "sk-"}…${shown.slice(-4)}`,
    models: models === "unknown" ? undefined : models,
    expiresAt: Number.isNaN(expiresAt) ? undefined : expiresAt,
    disabled: isOn(memberOf(source, "blocked")) || creditLimit === 0 || models === "unknown",
  };
}

/** creditLeft returns what is left of a budget, in millionths; undefined where there is none. What is spent is rounded up. */
function creditLeft(source: Source): number | undefined {
  const amountOf = (key: string) => {
    const read = parseDecimal(product(memberOf(source, key)?.text ?? "")?.text ?? "");
    return "value" in read ? read.value : undefined;
  };
  const budget = amountOf("max_budget");
  return budget === undefined ? undefined : Math.max(0, budget - (amountOf("spend") ?? 0));
}

/** modelsOf returns the models that a key may use; undefined for all, and "unknown" for those that the file does not name. */
function modelsOf(source: Source, name: string, notes: Notes): readonly string[] | undefined | "unknown" {
  const names = (memberOf(source, "models")?.items ?? []).flatMap((item) => textOf(item) ?? []);
  if (names.length === 0 || names.some((one) => openNames.has(one))) return undefined;
  const named = names.filter((one) => one !== "all-team-models" && one !== "no-default-models");
  if (named.length > 0) return named;
  notes.toDo(source, `"${name}": the file does not tell its models. It is disabled: set its models, and enable it`);
  return "unknown";
}

/** bounds are what a key may have in LiteLLM and not here. */
const bounds: ReadonlyMap<string, string> = new Map([
  [
    "budget_duration",
    "its limit is what is left of its budget, for all its life. Raise it when the period begins anew",
  ],
  ["rpm_limit", "the rate is the account's (tiers)"],
  ["tpm_limit", "the rate is the account's (tiers)"],
  ["max_parallel_requests", "bodies_in_flight and queue bound what is under way"],
  ["allowed_routes", "a key may call all models' endpoints"],
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
