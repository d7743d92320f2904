/**
 * Responses over an upstream that has them itself: everything goes on as it came, both ways, also what no schema knows.
 *
 * What is the gateway's stays the gateway's: the upstream keeps nothing and is told the whole conversation (`request.ts`), and the
 * answer has the ids by which the gateway finds it again (`told.ts`).
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

/** Of who serves the model, where nobody says. */
const unknownUpstream = { upstream: "", areRequested: false, accepts: "plain" } as const;

/** The form of the answer is the one asked for, which types cannot say of a branch. */
function translateAnswer(answer: Answer, answerContext: AnswerContext): Answer<DescMessage> {
  if (answer.kind === "whole") {
    return { ...answer, body: relayedResponse(answer.body as Wire<typeof ModelResponseSchema>, answerContext) };
  }
  return { ...answer, frames: relayedEvents(answer.frames as Frames<typeof ResponseStreamEventSchema>, answerContext) };
}
