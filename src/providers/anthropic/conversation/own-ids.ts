/**
 * The ids of what the vendor keeps for a caller: a message by which a thread goes on, or with which a prompt is compared, and the container
 * of code that has run. All accounts share an upstream's credentials, so the vendor would give any of them what it keeps for another.
 *
 * Callers get such an id with a code behind it, made of it and their account by the credentials. Only an id with the account's own code goes
 * back, without the code. Another's, and one that nobody has, are the same: nothing is found. Other credentials make other codes; an upstream
 * without any has codes of this process.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Answer } from "../../../call/call.ts";
import type { Form, Operation, Output } from "../../../call/operations.ts";
import { resourceNotFound, threadNotFound } from "../../../call/refusals.ts";
import { continuesThread } from "../../../call/request/stored-thread.ts";
import { isPromise, type MaybePromise } from "../../../runtime/maybe-promise.ts";
import { forEach, pushStream } from "../../../runtime/push-stream.ts";
import { isObject, listOrEmpty } from "../../../wire/json.ts";
import type { Changes } from "../../../wire/splice.ts";
import type { Wire } from "../../../wire/wire.ts";
import type { Attempt, Speak } from "../../contract.ts";

/** withOwnIds returns what speaks for one account at a time. `secrets` are the upstream's credentials. */
export function withOwnIds<O extends Operation>(speak: Speak<O>, secrets: readonly string[]): Speak<O> {
  const key = secrets.length > 0 ? JSON.stringify(secrets) : randomBytes(32).toString("hex");
  return <F extends Form>(attempt: Attempt<O, F>): MaybePromise<Answer<Output<O, F>>> => {
    const asked = attempt.request.outline();
    if (!mayKeep(asked)) return speak(attempt);
    const codes = createCodes(key, attempt.account ?? "", isFoundByMessage(asked));
    const changes = vendorsIds(asked, codes);
    const isChanged = Object.keys(changes).length > 0;
    const answering = speak(isChanged ? { ...attempt, request: attempt.request.with(changes) } : attempt);
    const named = (answer: Answer<Output<O, F>>) => withCodes(answer, codes);
    return isPromise(answering) ? answering.then(named) : named(answering);
  };
}

/** mayKeep reports whether the vendor keeps anything of a request that is found by an id. Code runs by tools of the vendor's. */
function mayKeep(asked: JsonObject): boolean {
  const { container = null, tools } = asked;
  return isFoundByMessage(asked) || container !== null || listOrEmpty(tools).some(isVendorsTool);
}

function isVendorsTool(tool: JsonValue): boolean {
  return isObject(tool) && typeof tool.type === "string" && tool.type !== "custom";
}

/** isFoundByMessage reports whether the vendor finds something by the id of the answer. */
function isFoundByMessage({ thread, diagnostics }: JsonObject): boolean {
  return (thread ?? diagnostics ?? null) !== null;
}

interface Codes {
  /** areOnMessages is whether the ids of messages have a code, too. */
  readonly areOnMessages: boolean;
  /** add returns an id with the account's code. */
  add(id: string): string;
  /** take returns an id without its code; undefined where the code is not the account's. */
  take(id: JsonValue | undefined): string | undefined;
}

/** codeLength is the length of a code, in digits of four bits. */
const codeLength = 32;

function createCodes(key: string, account: string, areOnMessages: boolean): Codes {
  const add = (id: string) => {
    const code = createHmac("sha256", key).update(`${account}\n${id}`).digest("hex").slice(0, codeLength);
    return `${id}_${code}`;
  };
  return {
    areOnMessages,
    add,
    take(given) {
      const id = typeof given === "string" ? given.slice(0, -codeLength - 1) : "";
      return id !== "" && add(id) === given ? id : undefined;
    },
  };
}

/** vendorsIds returns the changes by which a request has the vendor's own ids. Throws a Refusal where an id is not the account's. */
function vendorsIds(asked: JsonObject, codes: Codes): Changes {
  const { thread, diagnostics, container } = asked;
  const changes: Record<string, JsonValue> = {};
  // The id is checked whatever the type of the thread is: the vendor may add types that find a thread by an id.
  if (isObject(thread) && (continuesThread(asked) || (thread.previous_message_id ?? null) !== null)) {
    const previous_message_id = codes.take(thread.previous_message_id);
    if (previous_message_id === undefined) throw threadNotFound();
    changes.thread = { ...thread, previous_message_id };
  }
  if (isObject(diagnostics) && (diagnostics.previous_message_id ?? null) !== null) {
    // The prompt of nobody else is compared: as in the first turn there is none.
    changes.diagnostics = { ...diagnostics, previous_message_id: codes.take(diagnostics.previous_message_id) ?? null };
  }
  if (typeof container === "string") changes.container = ownContainer(container, codes);
  if (isObject(container) && (container.id ?? null) !== null)
    changes.container = { ...container, id: ownContainer(container.id, codes) };
  return changes;
}

function ownContainer(given: JsonValue | undefined, codes: Codes): string {
  const id = codes.take(given);
  if (id === undefined) throw resourceNotFound("container", typeof given === "string" ? given : "", "container");
  return id;
}

/** withCodes returns an answer whose ids have the account's code. */
function withCodes<A extends Answer>(answer: A, codes: Codes): A {
  if (answer.kind === "whole") {
    const changes = idsIn(answer.body.outline(), codes);
    return { ...answer, body: answer.body.with(changes) };
  }
  const { frames } = answer;
  const named = pushStream<readonly Wire[]>((take) =>
    forEach(frames, (batch) => take(batch.map((frame) => frameWithCodes(frame, codes)))),
  );
  return { ...answer, frames: named };
}

/** frameWithCodes changes the two events of a stream that have such ids. */
function frameWithCodes(frame: Wire, codes: Codes): Wire {
  const { type, message, delta } = frame.json();
  if (type === "message_start" && isObject(message))
    return frame.with({ message: { ...message, ...idsIn(message, codes) } });
  if (type !== "message_delta" || !isObject(delta) || !isObject(delta.container)) return frame;
  return frame.with({ delta: { ...delta, ...idsIn({ container: delta.container }, codes) } });
}

/** idsIn returns the ids of a message, or of its end, with codes. */
function idsIn({ id, container }: JsonObject, codes: Codes): Record<string, JsonValue> {
  const isKept = isObject(container) && typeof container.id === "string";
  return {
    ...(typeof id === "string" && codes.areOnMessages ? { id: codes.add(id) } : {}),
    ...(isKept ? { container: { ...container, id: codes.add(container.id as string) } } : {}),
  };
}
