/**
 * JSON Schema → a valid instance, the same one every time; or undefined where none can be found.
 *
 * The search goes top down. Near the root it writes every property and one item of every list, and takes the first
 * branch of each choice; deeper down only what is required, simplest branches first, so that recursive schemas end.
 * Every candidate is held against its schema before it is taken.
 */
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import { arrayFor, objectFor } from "./container.ts";
import type { Fill, Spot } from "./fill.ts";
import { fitOfAll } from "./fit.ts";
import { copyOf, type Flat, fold, unconstrained } from "./flat.ts";
import { numberFor } from "./number.ts";
import {
  asObject,
  both,
  maxNesting,
  type Schema,
  step,
  type TypeName,
  typeNames,
  typesOf,
  type Work,
} from "./schema.ts";
import { textsFor } from "./text.ts";

/** From this depth on only what is required is written. */
const fullDepth = 4;

/** No value lies deeper than this. */
const maxDepth = 40;

/** What the search for one instance may cost, in looks at a schema. */
const maxSteps = 100_000;

export interface Wish {
  /** The word that free texts are made of. */
  readonly word: string;
  /** Another number gives another instance, where the schema leaves a choice. */
  readonly place?: number;
  /** Asks for an object even where the schema would allow something else. */
  readonly object?: boolean;
}

export function instanceOf(root: Schema, wish: Wish): JsonValue | undefined {
  const work: Work = { root, word: wish.word, steps: maxSteps };
  const schema = wish.object ? both(root, { type: "object" }) : root;
  return fill(schema, { depth: 0, place: wish.place ?? 0, taken: 0 }, work);
}

function fill(schema: Schema, spot: Spot, work: Work): JsonValue | undefined {
  const flat = unconstrained();
  if (spot.depth > maxDepth || !fold(flat, schema, work)) return undefined;
  return choose(flat, spot, work);
}

/** Takes a branch of every choice, then the first candidate that fits them all. */
function choose(flat: Flat, spot: Spot, work: Work): JsonValue | undefined {
  const [branches, ...others] = flat.choices;
  if (!branches) {
    for (const value of candidates(flat, spot, work)) {
      if (fitOfAll(flat.sources, value, work) > 0) return value;
    }
    return undefined;
  }
  if (spot.taken > maxNesting) return undefined;
  for (const branch of inOrder(branches, spot.depth >= fullDepth)) {
    if (!step(work)) return undefined;
    const narrowed = copyOf(flat);
    narrowed.choices = others;
    const value = fold(narrowed, branch, work) ? choose(narrowed, { ...spot, taken: spot.taken + 1 }, work) : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Near the root the first branch that says something; deep down the one that ends soonest. */
function inOrder(branches: readonly Schema[], deep: boolean): Schema[] {
  const rank = (branch: Schema) => {
    const rules: JsonObject = asObject(branch) ?? {};
    const types = typesOf(rules) ?? [];
    if (types.length === 1 && types[0] === "null") return deep ? 0 : 2;
    if (!deep) return 1;
    const simple = rules.enum !== undefined || rules.const !== undefined;
    const scalar = types.some((type) => type !== "object" && type !== "array");
    return simple || scalar ? 1 : rules.$ref === undefined ? 2 : 3;
  };
  return branches.toSorted((a, b) => rank(a) - rank(b));
}

function* candidates(flat: Flat, spot: Spot, work: Work): Generator<JsonValue> {
  if (flat.values) {
    const start = spot.place % flat.values.length;
    yield* flat.values.slice(start);
    yield* flat.values.slice(0, start);
    return;
  }
  if (spot.place === 0) yield* certain(flat, work);
  for (const type of typesToTry(flat, spot.depth >= fullDepth)) yield* ofType(type, flat, spot, work);
}

/** What the schema's author offers is taken only where it surely fits: an author errs too. */
function certain(flat: Flat, work: Work): JsonValue[] {
  return flat.offered.filter((value) => fitOfAll(flat.sources, value, work) === 1);
}

function* ofType(type: TypeName, flat: Flat, spot: Spot, work: Work): Generator<JsonValue> {
  const fillIn: Fill = (schema, at) => fill(schema, at, work);
  const deep = spot.depth >= fullDepth;
  switch (type) {
    case "string":
      yield* textsFor(flat, spot.place, work);
      return;
    case "integer":
    case "number": {
      const whole = type === "integer";
      const number = numberFor(flat.number, whole, spot.place) ?? numberFor(flat.number, whole, 0);
      if (number !== undefined) yield number;
      return;
    }
    case "boolean":
      yield spot.place % 2 === 0;
      yield spot.place % 2 !== 0;
      return;
    case "null":
      yield null;
      return;
    default:
      for (const full of [!deep, deep]) {
        const value = type === "object" ? objectFor(flat, spot, full, fillIn) : arrayFor(flat, spot, full, fillIn);
        if (value !== undefined) yield value;
      }
  }
}

function typesToTry(flat: Flat, deep: boolean): TypeName[] {
  const hinted = typeNames.filter((type) => isHinted(flat, type));
  const order = [...new Set([...hinted, ...typeNames])].filter((type) => !flat.types || flat.types.includes(type));
  return deep && order.includes("null") && flat.types ? ["null", ...order.filter((type) => type !== "null")] : order;
}

/** Says whether a schema without a type speaks of this one. */
function isHinted(flat: Flat, type: TypeName): boolean {
  switch (type) {
    case "object":
      return flat.properties.size > 0 || flat.required.size > 0 || flat.minProperties > 0 || flat.additional !== true;
    case "array":
      return flat.prefix.length > 0 || flat.items !== true || flat.minItems > 0 || flat.contains !== undefined;
    case "number":
      return flat.number.low !== -Infinity || flat.number.high !== Infinity || flat.number.multiples.length > 0;
    default:
      return false;
  }
}
