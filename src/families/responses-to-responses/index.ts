/**
 * Responses over an upstream that serves them itself.
 *
 * Everything passes through as it came, in both directions, unknown members included. The gateway's own members stay
 * its own: the upstream stores nothing and gets the whole conversation (`request/`), and the answer has the gateway's
 * ids (`answer/`). Dropped and named: reasoning and compacted conversations of another upstream, and tools without a
 * price. Refused: prompt templates.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import type { ModelResponseSchema, ResponseStreamEventSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { Answer, Frames } from "../../call/call.ts";
import type { Form, Output } from "../../call/operations.ts";
import { makerOf } from "../../providers/profile/reasoning-seal.ts";
import type { Wire } from "../../wire/wire.ts";
import { Dropped } from "../dropped.ts";
import type { Translation } from "../translation.ts";
import { type AnswerContext, relayedEvents, relayedResponse } from "./answer/answer.ts";
import { relayedRequest } from "./request/request.ts";

export const relayResponses: Translation<"responses", "responses"> = {
  from: "responses",
  to: "responses",
  callersPath: (path) => path,
  *translate(request, context) {
    const dropped = new Dropped();
    const { answerId, reasoningItems = unknownUpstream, isUnpriced = noneUnpriced } = context;
    const relayed = yield* relayedRequest(request, reasoningItems, isUnpriced, dropped);
    const { previous_response_id: previousId = null, store = null } = request.outline();
    const answerContext = { answerId, maker: makerOf(reasoningItems.upstream), previousId, store: store ?? true };
    return {
      request: relayed,
      dropped: yield* dropped.inOrderOf(request),
      answer: <F extends Form>(answer: Answer<Output<"responses", F>>) =>
        translateAnswer(answer, answerContext) as Answer<Output<"responses", F>>,
    };
  },
};

const noneUnpriced = () => false;

/** Used where the upstream's reasoning is not described. */
const unknownUpstream = { upstream: "", areAskedFor: false, taken: "plain" } as const;

/** The form of the answer is the one asked for, which types cannot express of a branch. */
function translateAnswer(answer: Answer, answerContext: AnswerContext): Answer<DescMessage> {
  if (answer.kind === "whole") {
    return { ...answer, body: relayedResponse(answer.body as Wire<typeof ModelResponseSchema>, answerContext) };
  }
  return { ...answer, frames: relayedEvents(answer.frames as Frames<typeof ResponseStreamEventSchema>, answerContext) };
}
