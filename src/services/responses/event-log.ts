/**
 * The events of a response that is made in the background, for whoever takes up its stream: each stands at the place of its
 * number. Who reads slowly holds nobody up. Where they take more room than there is, all are let go of, and who follows is told.
 */
import { ResponseStreamEventSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import type { BodyRoom, Frames } from "../../call/call.ts";
import { responseEventsGone } from "../../call/refusals.ts";
import type { Signal } from "../../runtime/caller-abort.ts";
import { Wire } from "../../wire/wire.ts";

type ResponseEvent = Wire<typeof ResponseStreamEventSchema>;

/** The room that a response in the background takes: for its request, and for its events. */
export interface Room extends BodyRoom {
  /** Throws a Refusal where there is none. */
  add(bytes: number): void;
  remove(bytes: number): void;
  release(): void;
}

/** What an event takes beside its bytes, in bytes: there may be hundreds of thousands of a few letters each. */
const besideBytes = 320;
/** How many events are handed over at once. */
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

  /** `takeRoom` takes so many bytes of the room; it throws where there is none. */
  constructor(id: string, room: Room, takeRoom: (bytes: number) => void) {
    this.#id = id;
    this.#room = room;
    this.#takeRoom = takeRoom;
  }

  /** The number that the next event has. */
  get next(): number {
    return this.#count;
  }

  /** Keeps an event, as long as there is room. */
  add(event: ResponseEvent): void {
    this.#count++;
    if (this.#isGone) return;
    // As bytes it takes the room that is counted.
    const bytes = event.bytes();
    const size = bytes.length + besideBytes;
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

  /** Says that no more come. */
  end(): void {
    this.#isOver = true;
    this.#wake();
  }

  /** Lets go of all of them. */
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

  /** Yields the events from this number on, and those that come. It ends, too, when the signal fires. Throws a Refusal. */
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
