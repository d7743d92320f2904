/**
 * The free text of a custom tool's call, where it came as the argument of a function. Models may name the argument otherwise,
 * write its lines as a list, or put it into another object.
 */
import { isObject, type JsonValue, parsedJson } from "../../wire/json.ts";

/** textNames are those that models give to the text beside other arguments, best first. */
const textNames = ["input", "patch", "code", "script", "source", "command"];

/** freeTextIn returns the text; undefined where no member is surely the text. */
export function freeTextIn(value: JsonValue | undefined): string | undefined {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return linesIn(value);
  if (!isObject(value)) return undefined;
  const members = Object.values(value);
  if (members.length === 0) return "";
  const named = textNames.find((name) => Object.hasOwn(value, name));
  return freeTextIn(named === undefined ? (members.length === 1 ? members[0] : undefined) : value[named]);
}

/** linesIn joins lines. A command line that begins with the name of the patch tool is its one argument. */
function linesIn(values: readonly JsonValue[]): string | undefined {
  if (!values.every((value) => typeof value === "string")) return undefined;
  const [command, argument] = values;
  return values.length === 2 && command === "apply_patch" ? argument : values.join("\n");
}

/** unwrappedText returns the free text of a call's arguments. A model may write the bare text, which may be a list. */
export function unwrappedText(written: string): string {
  const value = parsedJson(written);
  return (Array.isArray(value) ? undefined : freeTextIn(value)) ?? written;
}
