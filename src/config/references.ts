/**
 * Names in gateway.yaml that point nowhere, and names given twice.
 *
 * It reads the file as it was written and skips what has not the right form, which the schema tells of: so both
 * kinds of fault are told in one go.
 */
import type { Fault, Path, YamlDocument } from "./document.ts";

/** The name under which the embedded models are served. */
export const embeddedUpstream = "embedded";

export function checkReferences(file: string, document: YamlDocument, faults: Fault[]): void {
  const fault = (path: Path, message: string) => faults.push({ file, line: document.lineOf(path), message });
  const upstreams = namesOf(document, fault);
  const taken = new Set<string>();
  for (const [i, model] of entries(document.value, "models")) {
    const path = ["models", i];
    checkWords(model, path, taken, (at, message) => fault(at, message(document.writtenAt(at))));
    const targets = entries(model, "targets");
    const vendor = textAt(model, "vendor");
    if (targets.length === 0 && !(vendor !== undefined && upstreams.has(vendor))) {
      const id = document.writtenAt([...path, "id"]);
      fault(path, `models[${i}]: "${id}" has no targets, and no upstream has the name of its vendor`);
    }
    for (const [j, target] of targets) {
      const upstream = textAt(target, "upstream");
      const at = [...path, "targets", j, "upstream"];
      if (upstream === undefined || upstreams.has(upstream) || document.isUnset(at)) continue;
      fault(at, `models[${i}].targets[${j}].upstream: there is no upstream "${document.writtenAt(at)}"`);
    }
  }
}

function namesOf(document: YamlDocument, fault: (path: Path, message: string) => void): Set<string> {
  const names = new Set<string>();
  for (const [i, upstream] of entries(document.value, "upstreams")) {
    const name = textAt(upstream, "name");
    if (name === undefined) continue;
    const path = ["upstreams", i, "name"];
    const written = document.writtenAt(path);
    if (names.has(name)) fault(path, `upstreams[${i}].name: a second upstream "${written}"`);
    if (name === embeddedUpstream) fault(path, `upstreams[${i}].name: "${written}" names the embedded models`);
    names.add(name);
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
