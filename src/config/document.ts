/**
 * ConfigDocument is a document of the configuration that is checked as a whole, and knows the place of each of its values: a YAML file
 * with its lines, and `${NAME}` in its strings replaced from the environment; or that together with what is stored (`stored/merged.ts`).
 * Anybody may see a fault, so none quotes a string that could be a secret, or the value of a variable.
 */
import { readFileSync } from "node:fs";
import {
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  type Pair,
  type ParsedNode,
  parseDocument,
  type Scalar,
  visit,
  type YAMLMap,
} from "yaml";
import { codeOf, fileRemedy } from "../runtime/write-trouble.ts";
import { type FaultReason, type Problem, problem } from "./fault-texts.ts";
import { faultOfShape, repeatedKeys, tooDeep } from "./yaml-shape.ts";

/** Fault is one mistake in a configuration, and its place. */
export interface Fault {
  readonly file: string;
  /** isStored is true where `file` names no file, but a document that is stored or was sent. */
  readonly isStored?: true;
  /** line counts from 1; absent if the fault has no place in a file. */
  readonly line?: number;
  /** path is the value's place in words, as `upstreams[0].base_url`; absent if it is the document as a whole, or none. */
  readonly path?: string;
  /** message is what is wrong; it begins with the place, where there is one. */
  readonly message: string;
  /** reason is what is wrong as the catalogue has it (`fault-texts.ts`); absent where only the message says it. */
  readonly reason?: FaultReason;
  /** parameters are those of the reason, by their names. */
  readonly parameters?: Readonly<Record<string, string>>;
}

export interface ConfigDocument {
  /** value is undefined if the text is not YAML; then that is among the faults. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** excused are the variables that are not set below the keys that were excused; a placeholder is in the place of their strings. */
  readonly excused: readonly Fault[];
  /** faultAt returns a fault of the value at this path; its line is that of the nearest value around it. */
  faultAt(path: Path, what: Problem): Fault;
  /** keyFaultAt returns a fault of the key at the end of this path. */
  keyFaultAt(path: Path, what: Problem): Fault;
  /** writtenAt returns the string at this path as written, before `${NAME}` is replaced. */
  writtenAt(path: Path): string;
  /**
   * isUnset returns whether the string at this path names a variable that is not set: then nothing else can be
   * checked.
   */
  isUnset(path: Path): boolean;
}

export type Path = readonly PropertyKey[];
export type Environment = Readonly<Record<string, string | undefined>>;

export interface Variable {
  /** value is undefined if the variable is not set. */
  readonly value?: string | undefined;
  /** fault says what is wrong with the file that has the value. It quotes nothing that could be a secret. */
  readonly fault?: Problem;
}

/**
 * variableOf returns a variable of the environment, or what is in the file to which the same name with `_FILE` points, as
 * Docker, Kubernetes and systemd hand over secrets. The variable wins, unless it is empty. A line break at the file's end
 * does not count.
 */
export function variableOf(environment: Environment, name: string): Variable {
  const own = (key: string) => (Object.hasOwn(environment, key) ? environment[key] : undefined);
  const value = own(name);
  const path = value ? undefined : own(`${name}_FILE`);
  if (!path) return { value };
  try {
    return { value: readFileSync(path, "utf8").replace(/\r?\n$/, "") };
  } catch (error) {
    const why = { code: codeOf(error), why: fileRemedy(error) };
    return { fault: problem("VARIABLE_FILE_UNREADABLE", { variable: name, ...why }) };
  }
}

/** placeholder is long enough for any secret. */
const placeholder = "-".repeat(64);
const none: ReadonlySet<unknown> = new Set();

/**
 * readYaml parses a YAML text. Never throws: errors are among the faults. Below the keys of the file that are `excused`, a
 * variable that is not set is no fault.
 */
export function readYaml(
  file: string,
  text: string,
  environment: Environment,
  excusedKeys: ReadonlySet<unknown> = none,
): ConfigDocument {
  const lines = new LineCounter();
  // The parser would compare each key with all before it in its map.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, uniqueKeys: false });
  const line = (offset: number) => lines.linePos(offset).line;
  const faultOf = (what: Problem, offset = 0): Fault => ({ file, line: line(offset), ...placed("", what) });
  const faults = [...document.errors, ...document.warnings].map(({ pos, code, message }) =>
    faultOf(yamlProblem(code, message), pos[0]),
  );
  const unset = new Set<Node>();
  const excused: Fault[] = [];
  visit(document, {
    Scalar(key, node, [, , top]) {
      if (key === "key" || typeof node.value !== "string") return;
      const missing = replaceVariables(node as Scalar<string>, environment);
      if (missing.length === 0) return;
      unset.add(node);
      const isExcused = isPair(top) && isScalar(top.key) && excusedKeys.has(top.key.value);
      if (isExcused) node.value = placeholder;
      const told = isExcused ? excused : faults;
      for (const one of missing) told.push(faultOf(one, node.range?.[0]));
    },
  });
  for (const { range } of repeatedKeys(document))
    faults.push(faultOf(yamlProblem("DUPLICATE_KEY", "Map keys must be unique"), range?.[0]));
  let value: unknown;
  // A repeated key leaves a value that can still be checked; the parser's errors do not.
  const isReadable = document.errors.length === 0;
  const fault = isReadable ? faultOfShape(document) : undefined;
  if (fault) faults.push(faultOf(yamlProblem(fault.code, fault.text), fault.node.range?.[0]));
  else if (isReadable) value = document.toJS({ maxAliasCount: -1 }) ?? {};
  const at = (path: Path) => nodeAt(document.contents, path);
  const lineOf = (node: Node | null) => line(node?.range?.[0] ?? 0);
  return {
    value,
    faults,
    excused,
    faultAt: (path, what) => ({ file, line: lineOf(at(path)), ...placed(pathText(path), what) }),
    keyFaultAt: (path, what) => ({
      file,
      line: lineOf(keyAt(at(path.slice(0, -1)), path.at(-1))),
      ...placed(pathText(path), what),
    }),
    writtenAt: (path) => (at(path) as { source?: string } | null)?.source ?? "",
    isUnset: (path) => unset.has(at(path) as Node),
  };
}

/** yamlProblem words what the parser found, without the text that it quotes. */
function yamlProblem(code: string, message: string): Problem {
  const isTooDeep = message.startsWith("Maximum call stack");
  const text = isTooDeep ? tooDeep : message.replace(/ token in YAML stream: .*/s, "");
  return { ...problem("YAML_BROKEN", { code }), text };
}

/** pathText returns a path in words, as `upstreams[0].base_url`. */
export function pathText(path: Path): string {
  const text = path.map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`)).join("");
  return text.replace(/^\./, "");
}

/** placed returns the members of a fault with a place; an empty one is the document as a whole. */
export function placed(path: string, { text, reason, parameters }: Problem): Omit<Fault, "file" | "line"> {
  const why = { reason, parameters };
  return path === "" ? { message: text, ...why } : { path, message: `${path}: ${text}`, ...why };
}

/** replaceVariables replaces the variables that have a value, and returns what is wrong with the others. */
function replaceVariables(node: Scalar<string>, environment: Environment): Problem[] {
  const missing: Problem[] = [];
  node.value = node.value.replace(/\$\{(\w+)\}/g, (match, name: string) => {
    const { value, fault } = variableOf(environment, name);
    if (value === undefined) missing.push(fault ?? problem("VARIABLE_UNSET", { variable: name }));
    return value ?? match;
  });
  return missing;
}

/** nodeAt descends as far as the path leads. */
function nodeAt(root: ParsedNode | null, path: Path): Node | null {
  let node: Node | null = root;
  for (const step of path) {
    if (isMap(node)) {
      const pair = pairAt(node, step);
      if (!pair) return node;
      node = (pair.value ?? pair.key) as Node;
      continue;
    }
    const items: unknown = (node as { items?: unknown } | null)?.items;
    if (!Array.isArray(items) || !items[Number(step)]) return node;
    node = items[Number(step)] as Node;
  }
  return node;
}

function keyAt(node: Node | null, step: PropertyKey | undefined): Node | null {
  return ((isMap(node) && step !== undefined && pairAt(node, step)?.key) || node) as Node | null;
}

/** pairsOfMaps are the pairs of maps that were looked at, by their keys; of those that are repeated the first. */
const pairsOfMaps = new WeakMap<YAMLMap, ReadonlyMap<string, Pair>>();

function pairAt(node: Node, step: PropertyKey): Pair | undefined {
  if (!isMap(node)) return undefined;
  const pairs = pairsOfMaps.get(node) ?? pairsOf(node);
  pairsOfMaps.set(node, pairs);
  return pairs.get(String(step));
}

function pairsOf({ items }: YAMLMap): ReadonlyMap<string, Pair> {
  const scalars = items.filter(({ key }) => isScalar(key)).toReversed();
  return new Map(scalars.map((pair) => [String((pair.key as Scalar).value), pair]));
}
