/** Has a stream of messages or responses take the pieces of a chat's stream, or of another API's, as its own events. */
import type { DescMessage } from "@bufbuild/protobuf";
import type { Operation } from "../../../call/operations.ts";
import type { JsonObject } from "../../../wire/json.ts";
import { Wire } from "../../../wire/wire.ts";
import type { Dialect, StreamTracker } from "../../dialect.ts";
import { done } from "../done.ts";
import { ChatAsEvents, isForeignToMessages } from "./chat-as-message.ts";
import { ChatAsResponse } from "./chat-as-response.ts";
import { isOfChat } from "./chat-said.ts";
import { createChunkReader, isNativePiece } from "./chunks.ts";

/** withForeignPieces returns a tracker that takes what is not of messages as events of messages. */
export function withForeignPieces(tracker: StreamTracker, errorIn: Dialect["errorIn"]): StreamTracker {
  const writer = new ChatAsEvents();
  const read = createPieceReader((chunk) => writer.events(chunk), "messages", errorIn);
  return {
    ...tracker,
    take<O extends DescMessage>(frame: Wire<O>, json: JsonObject) {
      if (!isForeignToMessages(json)) return tracker.take(frame, json);
      const { events, isLast } = read(json);
      const seen = taken(tracker, frame.desc, events);
      if (isLast) tracker.isEndMark(done);
      return seen;
    },
  };
}

/** isForeignToResponses reports a piece of a stream that is of another API than responses. Proxies send pings in any stream. */
export function isForeignToResponses(piece: JsonObject): boolean {
  const { type } = piece;
  if (type === "ping" || (typeof type === "string" && type.startsWith("response."))) return false;
  return isOfChat(piece) || isNativePiece(piece);
}

/** withForeignEvents returns a tracker that takes what is not of a response as events of one. The last event waits for the usage. */
export function withForeignEvents(tracker: StreamTracker, errorIn: Dialect["errorIn"]): StreamTracker {
  const writer = new ChatAsResponse();
  const read = createPieceReader((chunk) => writer.events(chunk), "responses", errorIn);
  let isDone = false;
  const closing = (desc: DescMessage) => {
    const rest = writer.rest();
    const last = writer.last();
    return taken(tracker, desc, last ? [...rest, last] : []);
  };
  return {
    ...tracker,
    isEndMark(data) {
      isDone = tracker.isEndMark(data);
      return isDone;
    },
    take<O extends DescMessage>(frame: Wire<O>, json: JsonObject) {
      if (!isForeignToResponses(json)) return tracker.take(frame, json);
      const { events, isLast } = read(json);
      const seen = taken(tracker, frame.desc, events);
      return isLast ? [...seen, ...(closing(frame.desc) as Wire<O>[])] : seen;
    },
    isComplete: () => tracker.isComplete() || writer.hasEnded || (isDone && writer.hasSaid),
    lingerMs: () => writer.lingerMs ?? tracker.lingerMs?.(),
    closingFrames<O extends DescMessage>(desc: O) {
      const seen = writer.hasSaid || writer.hasEnded ? (closing(desc) as Wire<O>[]) : [];
      return seen.length > 0 ? seen : (tracker.closingFrames?.(desc) ?? []);
    },
  };
}

/** createPieceReader returns a function that reads the pieces of one stream. It throws the refusal for one that tells an error. */
function createPieceReader(
  eventsOf: (chunk: JsonObject) => JsonObject[],
  operation: Operation,
  errorIn: Dialect["errorIn"],
): (piece: JsonObject) => { readonly events: readonly JsonObject[]; readonly isLast: boolean } {
  let read: ReturnType<typeof createChunkReader> | undefined;
  return (piece) => {
    read ??= createChunkReader();
    const { chunk, isLast } = piece.choices === undefined ? (read(piece) ?? nothing) : { chunk: piece, isLast: false };
    const events = chunk ? eventsOf(chunk) : [];
    for (const event of chunk ? [chunk, ...events] : []) {
      const fault = errorIn(event, Buffer.from(JSON.stringify(event)), operation, "frame");
      if (fault) throw fault;
    }
    return { events, isLast };
  };
}

/** taken returns what the caller sees of events. */
function taken<O extends DescMessage>(tracker: StreamTracker, desc: O, events: readonly JsonObject[]): Wire<O>[] {
  return events.flatMap((event) => tracker.take(Wire.ofJson(desc, event, true), event) ?? []);
}

const nothing = { chunk: undefined, isLast: false };
