/**
 * YamlDocument is a parsed YAML file with the line of every value, and `${NAME}` in its strings replaced from the
 * environment. Anybody may see a fault, so none quotes a string of the file that could be a secret, or the value of a
 * variable.
 */
import { readFileSync } from "node:fs";
import {
  isMap,
  isPair,
  isScalar,
  LineCounter,
  type Node,
  type ParsedNode,
  parseDocument,
  type Scalar,
  visit,
} from "yaml";

/** Fault is one mistake in a configuration, and its place. */
export interface Fault {
  readonly file: string;
  /** line counts from 1; absent if the fault has no place in a file. */
  readonly line?: number;
  readonly message: string;
}

export interface YamlDocument {
  /** value is undefined if the text is not YAML; then that is among the faults. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** excused are the variables that are not set below the keys that were excused; a placeholder is in the place of their strings. */
  readonly excused: readonly Fault[];
  /** lineOf returns the line of the value at this path, or of the nearest one around it. */
  lineOf(path: Path): number;
  /** keyLineOf returns the line of the key at the end of this path. */
  keyLineOf(path: Path): number;
  /** writtenAt returns the string at this path as written in the file, before `${NAME}` is replaced. */
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
  readonly fault?: string;
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
    const { code } = error as NodeJS.ErrnoException;
    return { fault: `${name}_FILE: the file that it points to cannot be read (${code})` };
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
): YamlDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const line = (offset: number) => lines.linePos(offset).line;
  const faults: Fault[] = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    file,
    line: line(pos[0]),
    message: message.replace(/ token in YAML stream: .*/s, ""),
  }));
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
      for (const message of missing) told.push({ file, line: line(node.range?.[0] ?? 0), message });
    },
  });
  let value: unknown;
  try {
    // A duplicate key leaves a value that can still be checked; other errors do not.
    if (document.errors.every(({ code }) => code === "DUPLICATE_KEY")) value = document.toJS() ?? {};
  } catch (error) {
    faults.push({ file, message: (error as Error).message });
  }
  const at = (path: Path) => nodeAt(document.contents, path);
  return {
    value,
    faults,
    excused,
    lineOf: (path) => line(at(path)?.range?.[0] ?? 0),
    keyLineOf: (path) => line(keyAt(at(path.slice(0, -1)), path.at(-1))?.range?.[0] ?? 0),
    writtenAt: (path) => (at(path) as { source?: string } | null)?.source ?? "",
    isUnset: (path) => unset.has(at(path) as Node),
  };
}

/** replaceVariables replaces the variables that have a value, and returns what is wrong with the others. */
function replaceVariables(node: Scalar<string>, environment: Environment): string[] {
  const missing: string[] = [];
  node.value = node.value.replace(/\$\{(\w+)\}/g, (match, name: string) => {
    const { value, fault } = variableOf(environment, name);
    if (value === undefined) missing.push(fault ?? `the environment variable ${name} is not set`);
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

function pairAt(node: Node, step: PropertyKey) {
  return isMap(node) ? node.items.find(({ key }) => isScalar(key) && String(key.value) === String(step)) : undefined;
}
