/**
 * Responses over an upstream that serves them itself.
 *
 * Everything passes through as it came, in both directions, unknown members included. The gateway's own members stay
 * its own: the upstream stores nothing and gets the whole conversation (`request/`), and the answer has the gateway's
 * ids (`answer/`). Dropped and named: reasoning and compacted conversations of another upstream, and tools without a
 * price. Refused: prompt templates.
 */
import { makerOf } from "../../providers/profile/reasoning-seal.ts";
import { Dropped } from "../paths/dropped.ts";
import { byForm, type Translation } from "../translation.ts";
import { relayedEvents, relayedResponse } from "./answer/answer.ts";
import { relayedRequest } from "./request/request.ts";

export const relayResponses: Translation<"responses", "responses"> = {
  from: "responses",
  to: "responses",
  *translate(request, context) {
    const dropped = new Dropped();
    const { answerId, now: createdAt, reasoningItems = unknownUpstream, isUnpriced = noneUnpriced } = context;
    const relayed = yield* relayedRequest(request, reasoningItems, isUnpriced, dropped);
    const { previous_response_id: previousId = null, store = null } = request.outline();
    const own = { answerId, createdAt, maker: makerOf(reasoningItems.upstream), previousId, store: store ?? true };
    const answerContext = { ...own, asked: () => request.json() };
    return {
      request: relayed,
      dropped: yield* dropped.inOrderOf(request),
      callersPath: (path) => path,
      answer: byForm<"responses", "responses">(
        (body) => relayedResponse(body, answerContext),
        (frames) => relayedEvents(frames, answerContext),
      ),
    };
  },
};

const noneUnpriced = () => false;

/** Used where the upstream's reasoning is not described. */
const unknownUpstream = { upstream: "", areAskedFor: false, taken: "plain" } as const;
