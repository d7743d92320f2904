/**
 * Reads in a chat's refusal which of its forms the server does not take: keys that OpenAI's API does not have, and instructions by their role or
 * their place.
 */
import type { Refusal } from "../../call/refusals.ts";
import type { RefusedForms } from "../../call/request/refused-members.ts";
import type { PlainFitters, RequestFitter } from "../../providers/contract.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import { isObject, type JsonObject } from "../../wire/json.ts";
import type { CallAttempt } from "./attempt.ts";
import { isRelay } from "./translate.ts";

/** How servers say that they do not know a key of a chat. */
const saysUnknown =
  /unsupported|not supported|unknown|unrecogni[sz]ed|unexpected|extra|not permitted|not allowed|forbidden|additional|cannot find|no such|invalid/i;
/** maxSaid is how much of a refusal is looked into, in characters. */
const maxSaid = 10_000;

/** refusedForms returns the forms that were refused, with what a failure says of instructions or keys; undefined where that is nothing new. */
export async function refusedForms(
  error: Refusal,
  tried: CallAttempt,
  refused: RefusedForms,
  plain: PlainFitters,
): Promise<RefusedForms | undefined> {
  const said = `${error.message} ${error.answered?.toString("utf8", 0, maxSaid) ?? ""}`.slice(0, maxSaid);
  const placed = { ...refused, areInstructions: true };
  if (!refused.areInstructions && saysInstructions(said, tried.translated.request.outline()) && plain(placed))
    return placed;
  if (refused.place === "request") return undefined;
  const fitter = plain({ ...refused, place: "request" });
  const place = fitter && (await refusedPlace(said, tried, fitter));
  return place && place !== refused.place ? { ...refused, place } : undefined;
}

/** How servers and their templates say that they do not know a role, and that instructions come first. */
const saysRole =
  /\bdeveloper\b|\broles?\b.{0,80}\b(?:un\w+|invalid|must|should|only|expected|supported)\b|\b(?:un\w+|invalid|only)\b.{0,80}\broles?\b/is;
const saysOrder =
  /\bsystem\b.{0,80}\b(?:first|begin\w*|start|once|order|position)\b|\b(?:first|only one|multiple|more than one)\b.{0,60}\bsystem\b|\broles\b.{0,20}\balternate\b/is;

/** saysInstructions reports whether a refusal may be for instructions of the role `developer`, or for those behind the first message. */
function saysInstructions(said: string, { messages }: JsonObject): boolean {
  if (!Array.isArray(messages)) return false;
  const roles = messages.map((message) => (isObject(message) ? message.role : undefined));
  return (
    (roles.includes("developer") && saysRole.test(said)) || (roles.lastIndexOf("system") > 0 && saysOrder.test(said))
  );
}

/** refusedPlace returns where the keys stand that a refusal names, of those that are not OpenAI's; undefined where it names none. */
async function refusedPlace(
  said: string,
  { candidate, translated }: CallAttempt,
  fitter: RequestFitter,
): Promise<RefusedForms["place"]> {
  if (!saysUnknown.test(said)) return undefined;
  const words = new Set(said.split(/[^\w-]+/));
  const { request } = translated;
  const fitting = fitter.fit("chat", request, candidate.path.every(isRelay));
  const { dropped } = await runCooperatively(fitting, request.isLong);
  const named = dropped.filter((path) => words.has(lastKey(path)));
  if (named.length === 0) return undefined;
  return named.every((path) => /^(?:messages|tools)\[/.test(path)) ? "messages" : "request";
}

/** lastKey returns `extra_content` of `messages[1].tool_calls[0].extra_content`. */
function lastKey(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1).replace(/\[.*$/s, "");
}
