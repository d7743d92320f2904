/**
 * All translations, and the route from the caller's operation to one that the upstream speaks, through one
 * translation or several.
 */
import type { Operation } from "../call/operations.ts";
import type { CooperativeTask } from "../runtime/cooperative.ts";
import { chatToMessages } from "./chat-to-messages/index.ts";
import { chatToResponses } from "./chat-to-responses/index.ts";
import { completionsToChat } from "./completions-to-chat/index.ts";
import { messagesToChat } from "./messages-to-chat/index.ts";
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

/** callersPath translates a path of the result back to the caller's request; undefined where the caller has no such path. */
export function callersPath(path: string, way: readonly Translation[]): string | undefined {
  let known: string | undefined = path;
  for (const translation of way.toReversed()) known = known === undefined ? undefined : translation.callersPath(known);
  return known;
}

/** translateAll applies translations in order; the answer passes through them in reverse. Throws a Refusal. */
export function* translateAll(
  way: readonly Translation[],
  request: Translated<Operation, Operation>["request"],
  context: TranslationContext,
): CooperativeTask<Translated<Operation, Operation>> {
  const steps: Translated<Operation, Operation>[] = [];
  const dropped: string[] = [];
  let current = request;
  for (const [i, translation] of way.entries()) {
    yield* current.readLongMessage();
    const step = yield* translation.translate(current, context);
    for (const path of step.dropped) dropped.push(callersPath(path, way.slice(0, i)) ?? path);
    steps.unshift(step);
    current = step.request;
  }
  return {
    request: current,
    dropped,
    answer: (answer) => steps.reduce((translated, step) => step.answer(translated), answer),
  };
}
