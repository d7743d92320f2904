/**
 * All translations, and the route from the caller's operation to one that the upstream speaks, through one
 * translation or several.
 */
import type { Operation } from "../call/operations.ts";
import { Refusal } from "../call/refusals.ts";
import { type CooperativeTask, endsSlice } from "../runtime/cooperative.ts";
import { chatToMessages } from "./chat-to-messages/index.ts";
import { chatToResponses } from "./chat-to-responses/index.ts";
import { completionsToChat } from "./completions-to-chat/index.ts";
import { messagesToChat } from "./messages-to-chat/index.ts";
import { Dropped } from "./paths/dropped.ts";
import { isWithin } from "./paths/prefixes.ts";
import { responsesToChat } from "./responses-to-chat/index.ts";
import type { Translated, Translation, TranslationContext } from "./translation.ts";

/** The list's types differ in their operations. The lookup below matches them. */
const translations = [
  chatToMessages,
  messagesToChat,
  completionsToChat,
  responsesToChat,
  chatToResponses,
] as unknown as readonly Translation[];

/** From responses to responses by way of chat, for requests that the upstream's own responses cannot express. */
export const throughChat = [responsesToChat, chatToResponses] as unknown as readonly Translation[];

/**
 * findTranslations returns the shortest list of translations from this operation to one that `isSupported` accepts: empty where it accepts
 * this operation itself, undefined without a route.
 */
export function findTranslations(
  from: Operation,
  isSupported: (operation: Operation) => boolean,
): readonly Translation[] | undefined {
  const ways: (readonly Translation[])[] = [[]];
  const seen = new Set<Operation>([from]);
  for (const way of ways) {
    const at = way.at(-1)?.to ?? from;
    if (isSupported(at)) return way;
    for (const next of translations) {
      if (next.from !== at || seen.has(next.to)) continue;
      seen.add(next.to);
      ways.push([...way, next]);
    }
  }
  return undefined;
}

/**
 * translateAll applies translations in order; the answer passes through them in reverse. Throws a Refusal. What a later translation
 * refuses or drops is named by the path in the caller's request.
 */
export function* translateAll(
  way: readonly Translation[],
  request: Translated<Operation, Operation>["request"],
  context: TranslationContext,
): CooperativeTask<Translated<Operation, Operation>> {
  /** The last comes first. */
  const steps: Translated<Operation, Operation>[] = [];
  let named: readonly string[] = [];
  const callersPath = (path: string) =>
    steps.reduce<string | undefined>((known, step) => known && step.callersPath(known), path);
  let current = request;
  for (const translation of way) {
    const step = yield* translateOnce(translation, current, context, callersPath);
    named = steps.length === 0 ? step.dropped : yield* joined(named, step.dropped, callersPath);
    steps.unshift(step);
    current = step.request;
  }
  return {
    request: current,
    dropped: steps.length < 2 ? named : yield* new Dropped(named).inOrderOf(request),
    callersPath,
    answer: (answer) => steps.reduce((translated, step) => step.answer(translated), answer),
  };
}

/** joined joins what two translations have dropped. What the one names as a part of what the other names goes without saying. */
function* joined(
  earlier: readonly string[],
  further: readonly string[],
  callersPath: (path: string) => string | undefined,
): CooperativeTask<string[]> {
  const later = yield* mapInSlices(further, (path) => callersPath(path) ?? path);
  const [ofEarlier, ofLater] = [new Set(earlier), new Set(later)];
  const outside = (whole: ReadonlySet<string>) => (path: string) => (isWithin(path, whole) ? [] : path);
  return [...(yield* mapInSlices(earlier, outside(ofLater))), ...(yield* mapInSlices(later, outside(ofEarlier)))];
}

/** mapInSlices maps each path to one, several or none, in time slices. */
export function* mapInSlices(
  paths: readonly string[],
  map: (path: string) => string | readonly string[],
): CooperativeTask<string[]> {
  const found: string[] = [];
  for (const [i, path] of paths.entries()) {
    if (endsSlice(i)) yield;
    found.push(...[map(path)].flat());
  }
  return found;
}

function* translateOnce(
  translation: Translation,
  request: Translated<Operation, Operation>["request"],
  context: TranslationContext,
  callersPath: (path: string) => string | undefined,
): CooperativeTask<Translated<Operation, Operation>> {
  try {
    yield* request.readLongMessage();
    return yield* translation.translate(request, context);
  } catch (error) {
    throw error instanceof Refusal ? error.renamed(callersPath) : error;
  }
}
