/**
 * EventLog keeps the events of a background response for readers that resume its stream; an event's index is its
 * number. Slow readers delay nobody. If the events take more room than there is, all are dropped, and readers get an
 * error.
 */
import { ResponseStreamEventSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { BodyRoom, Frames } from "../../call/call.ts";
import { responseEventsGone } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { Wire } from "../../wire/wire.ts";

type ResponseEvent = Wire<typeof ResponseStreamEventSchema>;

/** Room is the memory that a background response takes for its request and events. */
export interface Room extends BodyRoom {
  /** add throws a Refusal if there is no room. */
  add(bytes: number): void;
  remove(bytes: number): void;
  /** Gives back what the answers of upstreams take. */
  releaseAnswers(): void;
  release(): void;
}

/** overheadBytes is the memory of an event besides its bytes: there may be hundreds of thousands of small events. */
const overheadBytes = 320;
/** batch is the number of events yielded at once. */
const batch = 64;

export class EventLog {
  readonly #id: string;
  readonly #takeRoom: (bytes: number) => void;
  readonly #room: Room;
  #bytes = 0;
  #events: ResponseEvent[] = [];
  #count = 0;
  #isOver = false;
  #isGone = false;
  #changed = Promise.withResolvers<void>();

  /** `takeRoom` takes bytes from the room; it throws if there is none. */
  constructor(id: string, room: Room, takeRoom: (bytes: number) => void) {
    this.#id = id;
    this.#room = room;
    this.#takeRoom = takeRoom;
  }

  /** next is the number of the next event. */
  get next(): number {
    return this.#count;
  }

  /** add stores an event if there is room. */
  add(event: ResponseEvent): void {
    this.#count++;
    if (this.#isGone) return;
    // Serialising here makes the event take exactly the counted room.
    const bytes = event.bytes();
    const size = bytes.length + overheadBytes;
    try {
      this.#takeRoom(size);
    } catch {
      this.drop();
      return;
    }
    this.#bytes += size;
    this.#events.push(Wire.ofBytes(ResponseStreamEventSchema, bytes, true));
    this.#wake();
  }

  /** end marks the log as complete. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  /** drop drops all events. */
  drop(): void {
    this.#isGone = true;
    this.#events = [];
    this.#room.remove(this.#bytes);
    this.#bytes = 0;
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /**
   * from yields the events from a number on, and waits for further ones. It also ends when the signal fires. Throws a
   * Refusal.
   */
  async *from(number: number, signal: Signal): Frames<typeof ResponseStreamEventSchema> & AsyncGenerator {
    let wake = () => {};
    const left = () => wake();
    signal.addEventListener("abort", left, { once: true });
    try {
      for (let at = number; !signal.aborted; ) {
        if (this.#isGone) throw responseEventsGone(this.#id, "its events are not kept any more");
        const events = this.#events.slice(at, at + batch);
        at += events.length;
        if (events.length > 0) yield events;
        else if (this.#isOver) return;
        else {
          await new Promise<void>((resolve) => {
            wake = resolve;
            void this.#changed.promise.then(resolve);
          });
        }
      }
    } finally {
      signal.removeEventListener("abort", left);
    }
  }
}
