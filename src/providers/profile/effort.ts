/** Fits the reasoning effort of a chat request to the words that the server takes. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { efforts } from "../../config/schema-profile.ts";
import { isObject } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import { mustNotReason } from "./calls/demanded-calls.ts";
import type { Capabilities } from "./profile.ts";

export type Effort = (typeof efforts)[number];

export interface FittedEffort {
  readonly changes: Changes;
  readonly dropped: readonly string[];
  /** reasons is whether the model will reason, as far as is known. */
  readonly reasons: boolean;
}

const key = "reasoning_effort";

/** Fits `reasoning_effort`. An effort that the server does not take becomes its replacement, or is left out. */
export function fitEffort(json: JsonObject, capabilities: Capabilities): FittedEffort {
  const asked = json[key] ?? undefined;
  const { efforts: taken, effort_default: byDefault } = capabilities;
  if (mustNotReason(json, capabilities)) return unreasoned(json, capabilities);
  const unasked = byDefault === undefined ? (taken?.length ?? 0) > 0 : byDefault !== "none";
  if (asked === undefined) return { changes: {}, dropped: [], reasons: unasked };
  if (taken === undefined) return { changes: {}, dropped: [], reasons: asked !== "none" };
  const fitted = takenFor(asked, taken, capabilities);
  if (fitted === undefined) return { changes: { [key]: undefined }, dropped: [key], reasons: unasked };
  return { changes: changesFor(json, fitted, capabilities), dropped: [], reasons: fitted !== "none" };
}

function changesFor(
  json: JsonObject,
  effort: Effort,
  { effort_key: place = key, effort_none: off }: Capabilities,
): Changes {
  if (effort === "none" && off) return { [key]: undefined, ...off };
  if (place === key) return effort === json[key] ? {} : { [key]: effort };
  return { [key]: undefined, ...placed(json, place, effort) };
}

/** unreasoned switches the reasoning off, and names what the caller has asked for in its place. */
function unreasoned(json: JsonObject, capabilities: Capabilities): FittedEffort {
  const changes = changesFor(json, "none", capabilities);
  const isAsked = (json[key] ?? "none") !== "none";
  const others = Object.entries(changes).filter(([name, value]) => {
    const { [name]: asked = null } = json;
    return name !== key && asked !== null && JSON.stringify(asked) !== JSON.stringify(value);
  });
  return { changes, dropped: [...(isAsked ? [key] : []), ...others.map(([name]) => name)], reasons: false };
}

function takenFor(
  asked: JsonValue,
  taken: readonly Effort[],
  { efforts_instead: instead }: Capabilities,
): Effort | undefined {
  const word = efforts.find((effort) => effort === asked);
  if (word === undefined) return undefined;
  // A rule for some models may accept fewer efforts than the rule that names the replacement.
  return [word, instead?.[word]].find((effort) => effort !== undefined && taken.includes(effort));
}

/** placed puts `thinking.effort` into the object `thinking`, beside its other members. */
function placed(json: JsonObject, place: string, effort: Effort): Record<string, JsonValue> {
  const [outer = place, inner] = place.split(".");
  if (inner === undefined) return { [outer]: effort };
  const present = json[outer];
  return { [outer]: { ...(isObject(present) ? present : {}), [inner]: effort } };
}
