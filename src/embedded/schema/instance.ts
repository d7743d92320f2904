/**
 * JSON Schema → a valid instance, the same every time; undefined where none is found.
 *
 * The search goes top down. Near the root it makes every property and one item of every list, and takes the first
 * branch of each choice; deeper it makes only what is required, simplest branches first, so that recursive schemas
 * end. Every candidate is checked against its schema.
 */
import type { JsonObject, JsonValue } from "../../wire/json.ts";
import { arrayFor, objectFor } from "./container.ts";
import type { Fill, Spot } from "./fill.ts";
import { fitOfAll } from "./fit.ts";
import { type Constraints, copyOf, fold, unconstrained } from "./flat.ts";
import { numberFor } from "./number.ts";
import {
  asObject,
  both,
  maxNesting,
  type Schema,
  type Search,
  step,
  type TypeName,
  typeNames,
  typesOf,
} from "./schema.ts";
import { textsFor } from "./text.ts";

/** From this depth on only required parts are made. */
const fullDepth = 4;

/** The maximum depth of a value. */
const maxDepth = 40;

/** The maximum cost of a search, in schema visits. */
const maxSteps = 100_000;

export interface InstanceOptions {
  /** The word that free texts are made of. */
  readonly word: string;
  /** Selects another instance, where the schema leaves a choice. */
  readonly place?: number;
  /** Requires an object even where the schema allows other types. */
  readonly object?: boolean;
}

export function instanceOf(root: Schema, options: InstanceOptions): JsonValue | undefined {
  return searchInstance(root, options).value;
}

export interface Searched {
  readonly value: JsonValue | undefined;
  /** isCut is whether the search ended for its cost: a longer one may find another value. */
  readonly isCut: boolean;
}

/** Searches for an instance, for so many visits at most. */
export function searchInstance(root: Schema, options: InstanceOptions, steps = maxSteps): Searched {
  const search: Search = { root, word: options.word, steps };
  const schema = options.object ? both(root, { type: "object" }) : root;
  const value = fill(schema, { depth: 0, place: options.place ?? 0, taken: 0 }, search);
  return { value, isCut: search.steps < 0 };
}

function fill(schema: Schema, spot: Spot, search: Search): JsonValue | undefined {
  const constraints = unconstrained();
  if (spot.depth > maxDepth || !fold(constraints, schema, search)) return undefined;
  return choose(constraints, spot, search);
}

/** choose takes a branch of every choice, then the first candidate that fits them all. */
function choose(constraints: Constraints, spot: Spot, search: Search): JsonValue | undefined {
  const [branches, ...others] = constraints.choices;
  if (!branches) {
    for (const value of candidates(constraints, spot, search)) {
      if (fitOfAll(constraints.sources, value, search) > 0) return value;
    }
    return undefined;
  }
  if (spot.taken > maxNesting) return undefined;
  for (const branch of inOrder(branches, spot.depth >= fullDepth)) {
    if (!step(search)) return undefined;
    const narrowed = copyOf(constraints);
    narrowed.choices = others;
    const value = fold(narrowed, branch, search)
      ? choose(narrowed, { ...spot, taken: spot.taken + 1 }, search)
      : undefined;
    if (value !== undefined) return value;
  }
  return undefined;
}

/** inOrder sorts the branches: near the root informative ones first, deeper those that end soonest. */
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

function* candidates(constraints: Constraints, spot: Spot, search: Search): Generator<JsonValue> {
  if (constraints.values) {
    const start = spot.place % constraints.values.length;
    yield* constraints.values.slice(start);
    yield* constraints.values.slice(0, start);
    return;
  }
  if (spot.place === 0) yield* certain(constraints, search);
  for (const type of typesToTry(constraints, spot.depth >= fullDepth)) yield* ofType(type, constraints, spot, search);
}

/** certain returns the author's suggestions that surely fit: authors err, too. */
function certain(constraints: Constraints, search: Search): JsonValue[] {
  return constraints.offered.filter((value) => fitOfAll(constraints.sources, value, search) === 1);
}

function* ofType(type: TypeName, constraints: Constraints, spot: Spot, search: Search): Generator<JsonValue> {
  const fillIn: Fill = (schema, at) => fill(schema, at, search);
  const deep = spot.depth >= fullDepth;
  switch (type) {
    case "string":
      yield* textsFor(constraints, spot.place, search);
      return;
    case "integer":
    case "number": {
      const whole = type === "integer";
      const number = numberFor(constraints.number, whole, spot.place) ?? numberFor(constraints.number, whole, 0);
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
        const value =
          type === "object" ? objectFor(constraints, spot, full, fillIn) : arrayFor(constraints, spot, full, fillIn);
        if (value !== undefined) yield value;
      }
  }
}

function typesToTry(constraints: Constraints, deep: boolean): TypeName[] {
  const hinted = typeNames.filter((type) => isHinted(constraints, type));
  const order = [...new Set([...hinted, ...typeNames])].filter(
    (type) => !constraints.types || constraints.types.includes(type),
  );
  return deep && order.includes("null") && constraints.types
    ? ["null", ...order.filter((type) => type !== "null")]
    : order;
}

/** isHinted reports whether a schema without a type has keywords of this one. */
function isHinted(constraints: Constraints, type: TypeName): boolean {
  switch (type) {
    case "object":
      return (
        constraints.properties.size > 0 ||
        constraints.required.size > 0 ||
        constraints.minProperties > 0 ||
        constraints.additional !== true
      );
    case "array":
      return (
        constraints.prefix.length > 0 ||
        constraints.items !== true ||
        constraints.minItems > 0 ||
        constraints.contains !== undefined
      );
    case "number":
      return (
        constraints.number.low !== -Infinity ||
        constraints.number.high !== Infinity ||
        constraints.number.multiples.length > 0
      );
    default:
      return false;
  }
}
