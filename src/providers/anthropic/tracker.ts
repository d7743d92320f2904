/**
 * Tracks the events of Anthropic's dialect to their end: `message_stop`, or, for upstreams that never send it, the
 * stop reason or `[DONE]`. Closing events that a complete stream lacks are added.
 *
 * A server or a proxy that tries again behind the gateway's back may begin a second time. Clients fail at a second beginning, so it is
 * left out. Content of another message is never joined to that of the first.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { upstreamFailed } from "../../call/refusals.ts";
import { isObject } from "../../wire/json.ts";
import { Wire } from "../../wire/wire.ts";
import type { Attempt } from "../contract.ts";
import type { StreamTracker } from "../dialect.ts";
import { isDone } from "../frames/done.ts";
import { isFinished, messageWordOf } from "../usage/finish-word.ts";
import { meterEvents } from "./usage.ts";
import { UsualEvents } from "./usual-events.ts";
import { headOfMessage } from "./usual-message.ts";

/** afterReasonMs is how long a stream is read on after its stop reason, in milliseconds. */
const afterReasonMs = 1_000;

export function trackEvents({ id, model, meter }: Pick<Attempt, "id" | "model" | "meter">): StreamTracker {
  const measure = meterEvents(meter);
  const seen = new EventLog();
  const usual = new UsualEvents(headOfMessage(id, model));
  /** isCut says that what follows is not of this answer. */
  let isCut = false;
  return {
    isEndMark(data) {
      isCut = isDone(data);
      return isCut;
    },
    isOver: () => seen.hasStopped || isCut,
    take(frame, json) {
      if (json.type === "message_start" && seen.hasStarted) {
        isCut = seen.hasReason;
        if (isCut) return undefined;
        if (seen.hasContent && !seen.isOf(json)) throw upstreamFailed("it began another answer within one");
        // A first beginning without counts may have been a placeholder for this one.
        measure(json);
        return undefined;
      }
      return usual.take(usualEnd(json, seen.hasCalled)).flatMap((one) => {
        measure(one);
        const event = seen.withReason(one);
        seen.take(event);
        // `closingFrames` sends the stop reason that lacks, and this event after it.
        if (event.type === "message_stop" && !seen.hasReason) return [];
        return [event === json ? frame : Wire.ofJson(frame.desc, event, true)];
      });
    },
    takeFault: ({ usage = null }) => measure({ type: "message_delta", usage }),
    isCut: () => !seen.hasReason && usual.isWithinInput,
    isComplete: () => seen.hasBegun && (seen.hasStopped || seen.hasReason || (isCut && seen.hasContent)),
    lingerMs: () => (seen.hasReason ? afterReasonMs : undefined),
    closingFrames(desc) {
      const rest = usual.rest();
      for (const event of rest) {
        measure(event);
        seen.take(event);
      }
      return [...rest, ...seen.missing()].map((event) => Wire.ofJson(desc, event, true));
    },
  };
}

class EventLog {
  hasBegun = false;
  hasStopped = false;
  hasReason = false;
  hasContent = false;
  hasStarted = false;
  #id: JsonValue | undefined;
  #reason: JsonValue = null;
  /** #late is what the last event tells of the end: it is used where the event before it did not tell that. */
  #late: JsonObject = {};
  hasCalled = false;

  /** isOf reports whether an event begins the message that has begun: one without an id may be another. */
  isOf({ message }: JsonObject): boolean {
    const id = idOf(message) ?? null;
    return id !== null && id === this.#id;
  }

  /** withReason returns the event with the stop reason that came before: a null after it, beside a usage, takes none back. */
  withReason(event: JsonObject): JsonObject {
    const { type, delta } = event;
    if (!this.hasReason || type !== "message_delta" || !isObject(delta) || isFinished(delta.stop_reason)) return event;
    return { ...event, delta: { ...delta, stop_reason: this.#reason } };
  }

  take({ type, delta, content_block, message, ...beside }: JsonObject): void {
    this.hasBegun ||= type !== "message_stop" && type !== "ping";
    switch (type) {
      case "message_start":
        this.hasStarted = true;
        this.#id = idOf(message);
        return;
      case "content_block_start":
        this.hasContent = true;
        this.hasCalled ||= (content_block as JsonObject | null | undefined)?.type === "tool_use";
        return;
      case "message_delta":
        if (!isObject(delta) || !isFinished(delta.stop_reason)) return;
        this.hasReason = true;
        this.#reason = delta.stop_reason ?? null;
        return;
      case "message_stop":
        this.hasStopped = true;
        this.#late = beside;
    }
  }

  /** missing returns the closing events that a complete stream lacks behind its blocks. */
  missing(): JsonObject[] {
    if (this.hasStopped && this.hasReason) return [];
    this.hasStopped = true;
    const events: JsonObject[] = [];
    if (!this.hasReason) {
      const { stop_reason: told, usage } = this.#late;
      const stop_reason = isFinished(told) ? (told as JsonValue) : this.hasCalled ? "tool_use" : "end_turn";
      const delta = { stop_reason, stop_sequence: null };
      events.push({ type: "message_delta", delta, usage: isObject(usage) ? usage : {} });
      this.hasReason = true;
    }
    return [...events, { type: "message_stop" }];
  }
}

/**
 * usualEnd returns the event with stop reason and usage where Anthropic has them, and the reason in its words: some servers put one beside
 * the other, and some have chat's words.
 */
function usualEnd(event: JsonObject, hasCalled: boolean): JsonObject {
  const { type, delta, usage, stop_reason: beside } = event;
  if (type !== "message_delta") return event;
  const { usage: inside, ...told } = isObject(delta) ? delta : {};
  const isReasonBeside = isFinished(beside) && !isFinished(told.stop_reason);
  const isUsageInside = isObject(inside) && !isObject(usage);
  const reason = isReasonBeside ? beside : told.stop_reason;
  const own = messageWordOf(reason, hasCalled);
  if (!isReasonBeside && !isUsageInside && own === reason) return event;
  const end = own === undefined ? told : { ...told, stop_reason: own };
  return { ...event, delta: end, ...(isUsageInside ? { usage: inside } : {}) };
}

function idOf(message: JsonValue | undefined): JsonValue | undefined {
  return isObject(message) ? message.id : undefined;
}
