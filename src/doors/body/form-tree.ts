/**
 * The pairs of a form → a tree, by the brackets in their keys: `k`, `k[]`, `k[0]`, `k[a]`, `k[a][b]`.
 *
 * The tree leaves open whether `k[0]` is an item or a member named 0: that depends on the field's type. Refused are forms of
 * unreasonable size, keys that could reach a prototype, and fields that are two things at once.
 */
import { invalidValue, malformedBody } from "../../call/refusals.ts";

export type Pair = readonly [key: string, text: string];

export interface FormNode {
  /** The texts of `k=` and `k[]=`, in the order of the form. */
  readonly texts: string[];
  /** appended is whether one of them is a `k[]=`: then they are a list, even a single one. */
  appended: boolean;
  /** The nodes of `k[…]=`, by the text in the brackets. */
  readonly children: Map<string, FormNode>;
}

const maxPairs = 4096;
/** The longest key, in characters. */
const maxKey = 4096;
/** The most levels of a name: `messages[0][content][0][image_url][url]` has six. */
const maxDepth = 8;
const maxIndex = 4095;

const forbidden = new Set(["__proto__", "constructor", "prototype"]);

/** formTree builds the tree of these pairs. Throws a Refusal. */
export function formTree(pairs: Iterable<Pair>): FormNode {
  const root = emptyNode();
  let count = 0;
  for (const [key, text] of pairs) {
    if (++count > maxPairs) throw malformedBody(`the form has more than ${maxPairs} fields`);
    if (key.length > maxKey) throw malformedBody(`a form field has a name of more than ${maxKey} characters`);
    if (key !== "") add(root, segmentsOf(key), text);
  }
  return root;
}

function emptyNode(): FormNode {
  return { texts: [], appended: false, children: new Map() };
}

function add(root: FormNode, segments: readonly string[], text: string): void {
  let node = root;
  for (const [i, segment] of segments.entries()) {
    if (forbidden.has(segment)) throw malformedBody("a form field has a name that is not allowed");
    if (segment === "") {
      if (i < segments.length - 1) throw unclear(segments[0] as string);
      node.appended = true;
    } else {
      const child = node.children.get(segment) ?? emptyNode();
      node.children.set(segment, child);
      node = child;
    }
  }
  node.texts.push(text);
}

/** segmentsOf splits `k[a][b]`. Brackets that are not paired up to the end are part of the name. */
function segmentsOf(key: string): readonly string[] {
  const [, name, brackets] = /^([^[]+)((?:\[[^[\]]*\])+)$/.exec(key) ?? [];
  if (name === undefined || brackets === undefined) return [key];
  const segments = [name, ...brackets.slice(1, -1).split("][")];
  if (segments.length > maxDepth) throw malformedBody(`a form field is nested deeper than ${maxDepth} levels`);
  return segments;
}

/** Some encoders write lists of lists like this, without where each ends. */
function unclear(name: string): Error {
  const words = "`[]` before other brackets does not say which items belong together; number them, as in `[0][1]`";
  return invalidValue(name, words);
}

/** onlyText returns the text of a node that has just one, and no brackets. */
export function onlyText({ texts, appended, children }: FormNode): string | undefined {
  return texts.length === 1 && !appended && children.size === 0 ? texts[0] : undefined;
}

/** isList reports whether the brackets make a list. Throws a Refusal for an index beyond `maxIndex`. */
export function isList({ appended, children }: FormNode): boolean {
  if (children.size === 0) return appended;
  const keys = [...children.keys()];
  if (!keys.every((key) => /^\d+$/.test(key))) return false;
  if (keys.some((key) => Number(key) > maxIndex)) throw malformedBody(`an index in a form is larger than ${maxIndex}`);
  return true;
}

/** itemsOf returns the items of a list: those with an index, in the order of their numbers, then the others. */
export function itemsOf({ texts, children }: FormNode): readonly FormNode[] {
  const indexed = [...children].sort(([a], [b]) => Number(a) - Number(b)).map(([, child]) => child);
  return [...indexed, ...texts.map((text) => ({ ...emptyNode(), texts: [text] }))];
}

/** membersOf returns the members of an object. Throws a Refusal if there is a text beside them. */
export function membersOf({ texts, children }: FormNode): ReadonlyMap<string, FormNode> {
  if (texts.some((text) => text !== "")) throw malformedBody("a form field is both an object and a text or list");
  return children;
}
