/**
 * A YAML file with the line of every value, and `${NAME}` in its texts replaced from the environment.
 *
 * A fault may be shown to anybody, so none quotes a text of the file that could be a secret, or what a variable held.
 */
import { isMap, isScalar, LineCounter, type Node, type ParsedNode, parseDocument, type Scalar, visit } from "yaml";

/** One thing wrong with a configuration, and where. */
export interface Fault {
  readonly file: string;
  /** From 1; absent where the fault has no place in a file. */
  readonly line?: number;
  readonly message: string;
}

export interface YamlDocument {
  /** Undefined where the text is no YAML, which is then among the faults. */
  readonly value: unknown;
  readonly faults: readonly Fault[];
  /** Returns the line of the value at this path, or of the nearest one around it. */
  lineOf(path: Path): number;
  /** Returns the line of the key that this path ends with. */
  keyLineOf(path: Path): number;
  /** Returns the text at this path as it stands in the file, where `${NAME}` is not yet replaced. */
  writtenAt(path: Path): string;
  /** Whether the text at this path names a variable that is not set, so that nothing else can be said of it. */
  isUnset(path: Path): boolean;
}

export type Path = readonly PropertyKey[];
export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads a YAML text. Never throws: what is wrong is among the faults. */
export function readYaml(file: string, text: string, environment: Environment): YamlDocument {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  const line = (offset: number) => lines.linePos(offset).line;
  const faults: Fault[] = [...document.errors, ...document.warnings].map(({ pos, message }) => ({
    file,
    line: line(pos[0]),
    message: message.replace(/ token in YAML stream: .*/s, ""),
  }));
  const unset = new Set<Node>();
  visit(document, {
    Scalar(key, node) {
      if (key === "key" || typeof node.value !== "string") return;
      const missing = replaceVariables(node as Scalar<string>, environment);
      if (missing.length > 0) unset.add(node);
      for (const name of missing) {
        faults.push({ file, line: line(node.range?.[0] ?? 0), message: `the environment variable ${name} is not set` });
      }
    },
  });
  let value: unknown;
  try {
    // A key that is given twice leaves a value that can still be checked; any other error does not.
    if (document.errors.every(({ code }) => code === "DUPLICATE_KEY")) value = document.toJS() ?? {};
  } catch (error) {
    faults.push({ file, message: (error as Error).message });
  }
  const at = (path: Path) => nodeAt(document.contents, path);
  return {
    value,
    faults,
    lineOf: (path) => line(at(path)?.range?.[0] ?? 0),
    keyLineOf: (path) => line(keyAt(at(path.slice(0, -1)), path.at(-1))?.range?.[0] ?? 0),
    writtenAt: (path) => (at(path) as { source?: string } | null)?.source ?? "",
    isUnset: (path) => unset.has(at(path) as Node),
  };
}

/** Replaces what is set, and returns the names of what is not. */
function replaceVariables(node: Scalar<string>, environment: Environment): string[] {
  const missing: string[] = [];
  node.value = node.value.replace(/\$\{(\w+)\}/g, (match, name: string) => {
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (value === undefined) missing.push(name);
    return value ?? match;
  });
  return missing;
}

/** Walks down as far as the path leads. */
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
