/**
 * The frames of a stream on the public wire, as each family has them.
 *
 * OpenAI: data only, and `[DONE]` at the end. Anthropic: an event line that repeats the type, without which clients
 * drop the frame; the last event is the end. OpenAI's responses have event lines too. Each keeps a silent connection
 * alive in its own way.
 */
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import { asData, asEvent } from "../../wire/frame.ts";
import { dataFrame, eventFrame } from "../../wire/sse.ts";
import type { Wire } from "../../wire/wire.ts";

export interface FrameWriter {
  /** Writes messages of the stream, in one piece. */
  frames(batch: readonly Wire[]): Buffer;
  /** Writes the payload of an error that ends the stream. */
  error(payload: Buffer): Buffer;
  /** Comes after the last message of a stream that did not break. */
  readonly end: Buffer;
  /** Comes while nothing happens. */
  readonly keepAlive: Buffer;
}

const openai: FrameWriter = {
  frames: (batch) => joined(batch, asData),
  error: dataFrame,
  end: Buffer.from("data: [DONE]\n\n"),
  keepAlive: Buffer.from(": keep-alive\n\n"),
};

const anthropic: FrameWriter = {
  frames: (batch) => joined(batch, asEvent),
  error: (payload) => eventFrame("error", payload),
  end: Buffer.alloc(0),
  keepAlive: Buffer.from('event: ping\ndata: {"type":"ping"}\n\n'),
};

/** One is handed on as it is, without a copy. */
function joined(batch: readonly Wire[], write: (message: Wire) => Buffer): Buffer {
  return batch.length === 1 ? write(batch[0] as Wire) : Buffer.concat(batch.map(write));
}

/** Its last event is the end, and an error is an event among others. */
const responses: FrameWriter = { ...anthropic, keepAlive: openai.keepAlive };

export function framesOf(family: Family): FrameWriter {
  if (family === Family.RESPONSES) return responses;
  return family === Family.ANTHROPIC ? anthropic : openai;
}
