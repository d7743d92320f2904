/** Takes chunks out of what some servers and proxies put around each: a list, or an envelope as around a whole answer (`read-answer.ts`). */
import type { DescMessage, JsonObject, JsonValue } from "@bufbuild/protobuf";
import { isObject, parsedJson } from "../../wire/json.ts";
import type { SseFrame } from "../../wire/sse.ts";
import { Wire } from "../../wire/wire.ts";

/** envelopes are the members that a chunk may stand in. */
const envelopes = ["data", "response", "result"] as const;

const openBracket = 0x5b;
/** longestList is the most bytes of a list that is looked into: it is parsed once more, at one go. */
const longestList = 1024 * 1024;

/** listedFrames returns a frame for each object of a list; undefined for anything else. */
export function listedFrames({ event, data }: SseFrame): readonly SseFrame[] | undefined {
  if (data[0] !== openBracket || data.length > longestList) return undefined;
  const list = parsedJson(data.toString());
  if (!Array.isArray(list) || list.length === 0 || !list.every(isObject)) return undefined;
  return list.map((one) => ({ event, data: Buffer.from(JSON.stringify(one)), raw: undefined }));
}

/** outOfEnvelope returns the frame of a chunk that stands in another object; undefined where it is a chunk itself, or none. */
export function outOfEnvelope<O extends DescMessage>(frame: Wire<O>, json: JsonObject): Wire<O> | undefined {
  if (json.choices !== undefined || json.type !== undefined || json.error || json.success === false) return undefined;
  const inner = envelopes.map((key) => json[key]).find(isChunk);
  if (!inner) return undefined;
  const { usage = null } = json;
  return Wire.ofJson(frame.desc, usage === null ? inner : { usage, ...inner }, true);
}

function isChunk(value: JsonValue | undefined): value is JsonObject {
  return isObject(value) && (Array.isArray(value.choices) || typeof value.type === "string");
}
