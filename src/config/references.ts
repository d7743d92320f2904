/**
 * Names in gateway.yaml that point nowhere, or to where a model cannot be served, and names given twice.
 *
 * It reads the file as it was written and skips what has not the right form, which the schema tells of: so both
 * kinds of fault are told in one go.
 */
import type { Fault, Path, YamlDocument } from "./document.ts";
import { servedBy } from "./schema-models.ts";

/** The name under which the embedded models are served. */
export const embeddedUpstream = "embedded";

/** `vendors` are the names of those that the catalogue knows. */
export function checkReferences(
  file: string,
  document: YamlDocument,
  faults: Fault[],
  vendors: ReadonlySet<string>,
): void {
  const fault = (path: Path, message: string) => faults.push({ file, line: document.lineOf(path), message });
  const upstreams = kindsByName(document, fault);
  for (const [i, upstream] of entries(document.value, "upstreams")) {
    const vendor = textAt(upstream, "vendor");
    const at = ["upstreams", i, "vendor"];
    if (vendor === undefined || vendors.has(vendor) || document.isUnset(at)) continue;
    const known = [...vendors].join(", ");
    fault(at, `upstreams[${i}].vendor: there is no vendor "${document.writtenAt(at)}"; there are ${known}`);
  }
  const taken = new Set<string>();
  for (const [i, model] of entries(document.value, "models")) {
    const path = ["models", i];
    checkWords(model, path, taken, (at, message) => fault(at, message(document.writtenAt(at))));
    const targets = entries(model, "targets");
    const vendor = textAt(model, "vendor");
    const id = document.writtenAt([...path, "id"]);
    const misfit = (upstream: string) => misfitOf(id, textAt(model, "kind"), upstreams.get(upstream));
    if (targets.length === 0) {
      const why = vendor !== undefined && upstreams.has(vendor) ? misfit(vendor) : homeless(id);
      if (why) fault(path, `models[${i}]: ${why}`);
    }
    for (const [j, target] of targets) {
      const upstream = textAt(target, "upstream");
      const at = [...path, "targets", j, "upstream"];
      if (upstream === undefined || document.isUnset(at)) continue;
      const why = upstreams.has(upstream) ? misfit(upstream) : `there is no upstream "${document.writtenAt(at)}"`;
      if (why) fault(at, `models[${i}].targets[${j}].upstream: ${why}`);
    }
  }
}

function homeless(id: string): string {
  return `"${id}" has no targets, and no upstream has the name of its vendor`;
}

/** Says why an upstream cannot serve a model, or nothing where it can, and where either kind is not known. */
function misfitOf(id: string, kind: string | undefined, upstreamKind: string | undefined): string | undefined {
  const served = Object.entries(servedBy).find(([name]) => name === upstreamKind)?.[1];
  const known = Object.values(servedBy).some((kinds) => kinds.some((name) => name === kind));
  if (!served || !known || served.some((name) => name === kind)) return undefined;
  return `"${id}" is of kind ${kind}, and an upstream of kind ${upstreamKind} serves only ${served.join(", ")}`;
}

/** Returns the kind of every upstream by its name. */
function kindsByName(document: YamlDocument, fault: (path: Path, message: string) => void) {
  const names = new Map<string, string | undefined>();
  for (const [i, upstream] of entries(document.value, "upstreams")) {
    const name = textAt(upstream, "name");
    if (name === undefined) continue;
    const path = ["upstreams", i, "name"];
    const written = document.writtenAt(path);
    if (names.has(name)) fault(path, `upstreams[${i}].name: a second upstream "${written}"`);
    if (name === embeddedUpstream) fault(path, `upstreams[${i}].name: "${written}" names the embedded models`);
    names.set(name, textAt(upstream, "kind"));
  }
  return names;
}

/** Ids and aliases are one set of names. */
function checkWords(
  model: unknown,
  path: Path,
  taken: Set<string>,
  fault: (path: Path, message: (written: string) => string) => void,
): void {
  const check = (word: unknown, at: Path, place: string) => {
    if (typeof word !== "string") return;
    if (taken.has(word)) fault(at, (written) => `models[${String(path[1])}].${place}: a second model "${written}"`);
    taken.add(word);
  };
  check(textAt(model, "id"), [...path, "id"], "id");
  for (const [k, alias] of entries(model, "aliases")) check(alias, [...path, "aliases", k], `aliases[${k}]`);
}

function entries(value: unknown, key: string): [index: number, value: unknown][] {
  const list = (value as Record<string, unknown> | null | undefined)?.[key];
  return Array.isArray(list) ? [...list.entries()] : [];
}

function textAt(value: unknown, key: string): string | undefined {
  const text = (value as Record<string, unknown> | null | undefined)?.[key];
  return typeof text === "string" ? text : undefined;
}
