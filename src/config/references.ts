/**
 * Checks the names in the configuration: references that lead nowhere, models at upstreams that cannot serve them, and
 * duplicate names. It reads the document as written and skips what the schema already refuses, so that both kinds of fault
 * are reported together.
 */
import type { ConfigDocument, Fault, Path } from "./document.ts";
import { type Problem, problem } from "./fault-texts.ts";
import { servedBy } from "./schema-models.ts";

/** embeddedUpstream is the name of the upstream of the embedded models. */
export const embeddedUpstream = "embedded";

/** checkReferences reports faults. `vendors` are the catalogue's vendors. */
export function checkReferences(document: ConfigDocument, faults: Fault[], vendors: ReadonlySet<string>): void {
  const fault = (path: Path, what: Problem) => void faults.push(document.faultAt(path, what));
  const upstreams = kindsByName(document, fault);
  for (const [i, upstream] of entries(document.value, "upstreams")) {
    const vendor = textAt(upstream, "vendor");
    const at = ["upstreams", i, "vendor"];
    if (vendor === undefined || vendors.has(vendor) || document.isUnset(at)) continue;
    fault(at, problem("VENDOR_UNKNOWN", { name: document.writtenAt(at), vendors: [...vendors].join(", ") }));
  }
  const taken = new Set<string>();
  for (const [i, model] of entries(document.value, "models")) {
    const path = ["models", i];
    checkNames(model, path, taken, (at) => fault(at, problem("MODEL_TAKEN", { name: document.writtenAt(at) })));
    const targets = entries(model, "targets");
    const vendor = textAt(model, "vendor");
    const id = document.writtenAt([...path, "id"]);
    const misfit = (upstream: string) => kindMismatch(id, textAt(model, "kind"), upstreams.get(upstream));
    if (targets.length === 0) {
      const why =
        vendor !== undefined && upstreams.has(vendor) ? misfit(vendor) : problem("MODEL_WITHOUT_TARGET", { model: id });
      if (why) fault(path, why);
    }
    for (const [j, target] of targets) {
      const upstream = textAt(target, "upstream");
      const at = [...path, "targets", j, "upstream"];
      if (upstream === undefined || document.isUnset(at)) continue;
      const why = upstreams.has(upstream)
        ? misfit(upstream)
        : problem(upstream === embeddedUpstream ? "UPSTREAM_RESERVED" : "UPSTREAM_UNKNOWN", {
            name: document.writtenAt(at),
          });
      if (why) fault(at, why);
    }
  }
}

/** kindMismatch explains why an upstream cannot serve a model; undefined if it can, or a kind is unknown. */
function kindMismatch(model: string, kind: string | undefined, upstreamKind: string | undefined): Problem | undefined {
  const served = Object.entries(servedBy).find(([name]) => name === upstreamKind)?.[1];
  const known = Object.values(servedBy).some((kinds) => kinds.some((name) => name === kind));
  if (!served || !known || served.some((name) => name === kind)) return undefined;
  const kinds = served.join(", ");
  return problem("KIND_NOT_SERVED", { model, kind: kind ?? "", upstream_kind: upstreamKind ?? "", kinds });
}

/** kindsByName returns every upstream's kind by its name. */
function kindsByName(document: ConfigDocument, fault: (path: Path, what: Problem) => void) {
  const names = new Map<string, string | undefined>();
  for (const [i, upstream] of entries(document.value, "upstreams")) {
    const name = textAt(upstream, "name");
    if (name === undefined) continue;
    const path = ["upstreams", i, "name"];
    const written = document.writtenAt(path);
    if (names.has(name)) fault(path, problem("UPSTREAM_TAKEN", { name: written }));
    if (name === embeddedUpstream) fault(path, problem("UPSTREAM_RESERVED", { name: written }));
    names.set(name, textAt(upstream, "kind"));
  }
  return names;
}

/** checkNames checks that ids and aliases are unique together. */
function checkNames(model: unknown, path: Path, taken: Set<string>, fault: (path: Path) => void): void {
  const check = (word: unknown, at: Path) => {
    if (typeof word !== "string") return;
    if (taken.has(word)) fault(at);
    taken.add(word);
  };
  check(textAt(model, "id"), [...path, "id"]);
  for (const [k, alias] of entries(model, "aliases")) check(alias, [...path, "aliases", k]);
}

function entries(value: unknown, key: string): [index: number, value: unknown][] {
  const list = (value as Record<string, unknown> | null | undefined)?.[key];
  return Array.isArray(list) ? [...list.entries()] : [];
}

function textAt(value: unknown, key: string): string | undefined {
  const text = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof text === "string" ? text : undefined;
}
