/** Builds a response without output, from its request and id. */
import { responseJson } from "../../families/responses-to-chat/answer/response.ts";
import type { JsonObject } from "../../wire/json.ts";
import type { CreateCall } from "./parts.ts";

/** emptyResponse builds the response. `now` is in milliseconds since 1970. */
export function emptyResponse({ id, request }: Pick<CreateCall, "id" | "request">, now: number): JsonObject {
  const origin = { answerId: id.replace(/^req_/, ""), createdAt: Math.floor(now / 1000), asked: request.json() };
  const nothing = { incomplete: undefined, model: "", serviceTier: undefined, output: [], usage: null };
  return responseJson(origin, { ...nothing, status: "in_progress" });
}
