/**
 * The frames of streams on the public wire, by family.
 *
 * OpenAI: data lines only, but for an error, and `[DONE]` at the end. Anthropic: an event line that repeats the type, without which
 * clients drop the frame; the last event is the end. OpenAI's responses have event lines, too. Each family has its own keep-alive.
 */
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import { asData, asEvent } from "../../wire/frame.ts";
import { errorFrame, eventFrame } from "../../wire/sse.ts";
import type { Wire } from "../../wire/wire.ts";

export interface FrameWriter {
  /** Writes messages of the stream in one buffer. */
  frames(batch: readonly Wire[]): Buffer;
  /** Writes the frame of an error that ends the stream. */
  error(payload: Buffer): Buffer;
  /** The frame after the last message of a complete stream. */
  readonly end: Buffer;
  /** The frame that fills silence. */
  readonly keepAlive: Buffer;
}

const openai: FrameWriter = {
  frames: (batch) => joined(batch, asData),
  error: errorFrame,
  end: Buffer.from("data: [DONE]\n\n"),
  keepAlive: Buffer.from(": keep-alive\n\n"),
};

const anthropic: FrameWriter = {
  frames: (batch) => joined(batch, asEvent),
  error: (payload) => eventFrame("error", payload),
  end: Buffer.alloc(0),
  keepAlive: Buffer.from('event: ping\ndata: {"type":"ping"}\n\n'),
};

/** joined joins frames. A single one is not copied. */
function joined(batch: readonly Wire[], write: (message: Wire) => Buffer): Buffer {
  return batch.length === 1 ? write(batch[0] as Wire) : Buffer.concat(batch.map(write));
}

/** The last event is the end, and an error is an event like others. */
const responses: FrameWriter = { ...anthropic, keepAlive: openai.keepAlive };

export function framesOf(family: Family): FrameWriter {
  if (family === Family.RESPONSES) return responses;
  return family === Family.ANTHROPIC ? anthropic : openai;
}
