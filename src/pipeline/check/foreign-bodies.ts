/** Chat calls whose bodies are another API's: answered as the chat that they mean. What that leaves out is named. */
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import type { Answer, Call, Handler } from "../../call/call.ts";
import { wouldBeDropped } from "../../call/refusals.ts";
import { type ChatBody, readForeignBody } from "../../families/chat-bodies.ts";
import { runCooperatively } from "../../runtime/cooperative.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import type { Wire } from "../../wire/wire.ts";
import { droppedHeaders } from "../attempt/dropped-headers.ts";
import { isStrict } from "./strict.ts";

/** Has a handler answer what is meant. Throws a Refusal, now or later. */
export function withMeant(handle: Handler): Handler {
  return (call) => {
    const { request } = call;
    if (request.desc !== CreateChatCompletionRequestSchema || request.isMessageOnly()) return handle(call);
    const meant = readForeignBody(request as unknown as Wire<typeof CreateChatCompletionRequestSchema>);
    if (!meant) return handle(call);
    return andThen(runCooperatively(meant, request.isLong), (chat) => handleMeant(handle, call, chat));
  };
}

function handleMeant(handle: Handler, call: Call, { request, dropped }: ChatBody): MaybePromise<Answer> {
  if (dropped.length > 0 && isStrict(call.header)) throw wouldBeDropped(dropped);
  const written = call.request.isLong ? request.writeInSlices() : request;
  const answered = andThen(written, (wire) => handle({ ...call, request: wire as unknown as Call["request"] }));
  if (dropped.length === 0) return answered;
  return andThen(answered, (answer) => {
    const further = answer.headers?.["x-gateway-dropped"];
    return { ...answer, headers: { ...answer.headers, ...droppedHeaders(dropped, further) } };
  });
}
