/**
 * Bounds how deep the values of a YAML text are nested, and what its aliases stand for, which must be there. A short text may name a long
 * value many times, or a value within itself: to read it would take minutes, or never end.
 */
import { type Document, isAlias, isCollection, isPair, isScalar, type Node, visit } from "yaml";

/** maxAliases is the most aliases that a text may have: each is looked up among all before it. */
const maxAliases = 1_000;
/** maxRepeated is the most values that they may stand for in all. */
const maxRepeated = 100_000;
/** maxDepth is how many lists and maps a value may stand in. */
const maxDepth = 100;
/** tooDeep is what is said of values beyond that. */
export const tooDeep = "values that are nested too deeply";
const tooMuch = `aliases that stand for too much: ${maxAliases} of them may stand for ${maxRepeated} values`;

export interface ShapeFault {
  /** node is the alias, or the value that is nested too deeply. */
  readonly node: Node;
  /** code is the word for such faults among those of the parser. */
  readonly code: "BAD_ALIAS" | "RESOURCE_EXHAUSTION";
  readonly text: string;
}

function exhausting(node: Node, text: string): ShapeFault {
  return { node, code: "RESOURCE_EXHAUSTION", text };
}

/** faultOfShape returns the first such fault of a text; undefined where it has none. It takes one step a value. */
export function faultOfShape(document: Document): ShapeFault | undefined {
  /** sizes are how many values each anchor stands for so far; undefined while its value is being counted. */
  const sizes = new Map<string, number | undefined>();
  let fault: ShapeFault | undefined;
  let [aliases, repeated] = [0, 0];
  const sizeOfAlias = (node: Node & { readonly source: string }): number => {
    const size = sizes.get(node.source) ?? 0;
    repeated += size;
    if (!sizes.has(node.source)) fault = { node, code: "BAD_ALIAS", text: "an alias of an anchor that is not there" };
    else if (size === 0) fault = exhausting(node, "an alias that stands within what it stands for");
    else if (++aliases > maxAliases || repeated > maxRepeated) fault = exhausting(node, tooMuch);
    return size;
  };
  const sizeOf = (node: unknown, depth: number): number => {
    if (fault) return 0;
    if (isPair(node)) return sizeOf(node.key, depth) + sizeOf(node.value, depth);
    if (isAlias(node)) return sizeOfAlias(node);
    if (depth > maxDepth) fault = exhausting(node as Node, tooDeep);
    const { anchor, items } = (node ?? {}) as { readonly anchor?: string; readonly items?: readonly unknown[] };
    if (anchor !== undefined) sizes.set(anchor, undefined);
    const size = isCollection(node) ? (items ?? []).reduce((sum: number, item) => sum + sizeOf(item, depth + 1), 1) : 1;
    if (anchor !== undefined) sizes.set(anchor, size);
    return size;
  };
  sizeOf(document.contents, 0);
  return fault;
}

/** repeatedKeys returns the keys that are in their map already. It takes one step a key. */
export function repeatedKeys(document: Document): Node[] {
  const repeated: Node[] = [];
  visit(document, {
    Map(_, { items }) {
      const seen = new Set<unknown>();
      for (const { key } of items) {
        if (!isScalar(key)) continue;
        if (seen.has(key.value)) repeated.push(key);
        seen.add(key.value);
      }
    },
  });
  return repeated;
}
