/** Accepts calls whose body belongs to another API, and answers them as their path does. What the translation drops is named. */
import type { Answer, Call, Handler } from "../../call/call.ts";
import { asRefusal, Refusal, wouldBeDropped } from "../../call/refusals.ts";
import { type ReadBody, readForeignBody } from "../../families/foreign-bodies/foreign-bodies.ts";
import { type CooperativeTask, runCooperatively } from "../../runtime/cooperative.ts";
import { WireFault } from "../../wire/fault.ts";
import { droppedHeaders } from "../attempt/dropped-headers.ts";
import { isStrict } from "./strict.ts";

/** withMeant wraps a handler, so that it gets such a body translated. It throws a Refusal, now or later. */
export function withMeant(handle: Handler): Handler {
  return (call) => {
    const { request } = call;
    const meant = request.isMessageOnly() ? undefined : readForeignBody(request);
    return meant ? handleMeant(handle, call, meant) : handle(call);
  };
}

/** handleWritten has a refusal name the fields of the body that the caller wrote. */
async function handleWritten(handle: Handler, call: Call, callersPath: ReadBody["callersPath"]): Promise<Answer> {
  try {
    return await handle(call);
  } catch (error) {
    throw error instanceof Refusal || error instanceof WireFault ? asRefusal(error).renamed(callersPath) : error;
  }
}

async function handleMeant(handle: Handler, call: Call, meant: CooperativeTask<ReadBody>): Promise<Answer> {
  const { isLong } = call.request;
  const { request, dropped, callersPath } = await runCooperatively(meant, isLong);
  if (dropped.length > 0 && isStrict(call.header)) throw wouldBeDropped(dropped);
  const written = isLong ? await request.writeInSlices() : request;
  const answer = await handleWritten(handle, { ...call, request: written }, callersPath);
  const further = answer.headers?.["x-gateway-dropped"]?.split(", ").map((path) => callersPath(path) ?? path);
  if (dropped.length === 0 && !further) return answer;
  return { ...answer, headers: { ...answer.headers, ...droppedHeaders(dropped, further) } };
}
