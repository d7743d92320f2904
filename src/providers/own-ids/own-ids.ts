/**
 * The ids of what a vendor keeps for a caller: a message by which a thread goes on, a container of code, an answer's sound. All accounts share
 * an upstream's credentials, so the vendor would give any of them what it keeps for another.
 *
 * Callers get such an id with a code behind it, made of it and their account by the credentials. Only an id with the account's own code goes
 * back, without the code. Another's, and one that nobody has, are the same: nothing is found. Other credentials make other codes; an upstream
 * without any has codes of this process.
 */
import { createHmac, randomBytes } from "node:crypto";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Answer } from "../../call/call.ts";
import type { Form, Operation, Output } from "../../call/operations.ts";
import { resourceNotFound } from "../../call/refusals.ts";
import { andThen, type MaybePromise } from "../../runtime/maybe-promise.ts";
import { forEach, pushStream } from "../../runtime/push-stream.ts";
import { isObject } from "../../wire/json.ts";
import type { Changes } from "../../wire/splice.ts";
import type { Wire } from "../../wire/wire.ts";
import type { Attempt, Speak } from "../contract.ts";

/** KeptIds says where requests and answers of an API have such ids. */
export interface KeptIds {
  /**
   * Returns the changes by which a request has the vendor's own ids, in time slices where it is long. Throws a Refusal where an id is not
   * the account's.
   */
  request(asked: JsonObject, codes: Codes, isLong: boolean): MaybePromise<Changes>;
  /** mayKeep reports whether the answer to a request may have such ids. */
  mayKeep(asked: JsonObject): boolean;
  /** Returns the changes by which a whole answer, or a frame, has ids with codes. */
  answer(json: JsonObject, codes: Codes, asked: JsonObject): Changes;
}

/** withOwnIds returns what speaks for one account at a time. `secrets` are the upstream's credentials. */
export function withOwnIds<O extends Operation>(speak: Speak<O>, secrets: readonly string[], kept: KeptIds): Speak<O> {
  const key = secrets.length > 0 ? JSON.stringify(secrets) : randomBytes(32).toString("hex");
  return <F extends Form>(attempt: Attempt<O, F>): MaybePromise<Answer<Output<O, F>>> => {
    const codes = createCodes(key, attempt.account ?? "");
    const { request } = attempt;
    const asked = request.outline();
    const answering = andThen(withVendorsIds(request, codes, kept), (sent) =>
      speak(sent === request ? attempt : { ...attempt, request: sent }),
    );
    if (!kept.mayKeep(asked)) return answering;
    return andThen(answering, (answer) => withCodes(answer, (json) => kept.answer(json, codes, asked)));
  };
}

function withVendorsIds<W extends Wire>(request: W, codes: Codes, kept: KeptIds): MaybePromise<W> {
  const { isLong } = request;
  return andThen(kept.request(request.outline(), codes, isLong), (changes) => {
    if (Object.keys(changes).length === 0) return request;
    // An outline has fillers in place of long strings.
    const whole = isLong ? kept.request(request.json(), codes, isLong) : changes;
    return andThen(whole, (all) => request.rewrittenBy(all) as MaybePromise<W>);
  });
}

/** Codes are the codes of one account, in one call. */
export interface Codes {
  /** add returns an id with the account's code. One of too many stays as it is: with it nothing is found. */
  add(id: string): string;
  /** take returns an id without its code; undefined where the code is not the account's, and for one of too many. */
  take(id: JsonValue | undefined): string | undefined;
}

/** codeLength is the length of a code, in digits of four bits. */
const codeLength = 32;
/** mostIds is how many ids of a request, and of its answer, have codes: to make them takes no more than a few milliseconds. */
const mostIds = 1000;

function createCodes(key: string, account: string): Codes {
  const coded = (id: string) => {
    const code = createHmac("sha256", key).update(`${account}\n${id}`).digest("hex").slice(0, codeLength);
    return `${id}_${code}`;
  };
  const add = forFew(coded);
  const take = forFew((given) => {
    const id = given.slice(0, -codeLength - 1);
    return id !== "" && coded(id) === given ? id : undefined;
  });
  return { add: (id) => add(id) ?? id, take: (given) => (typeof given === "string" ? take(given) : undefined) };
}

/** forFew returns a function that answers for a text as `work` has answered; undefined for any further text once mostIds have come. */
function forFew(work: (text: string) => string | undefined): (text: string) => string | undefined {
  // Most calls have no ids.
  let known: Map<string, string | undefined> | undefined;
  return (text) => {
    known ??= new Map();
    if (!known.has(text) && known.size < mostIds) known.set(text, work(text));
    return known.get(text);
  };
}

/** ownId returns the vendor's id of a thing. Throws a Refusal where it is not the account's. `kind` and `param` name it. */
export function ownId(given: JsonValue | undefined, codes: Codes, kind: string, param: string): string {
  const id = codes.take(given);
  if (id === undefined) throw resourceNotFound(kind, typeof given === "string" ? given : "", param);
  return id;
}

/** isVendorsTool reports whether a tool is run by its vendor, or may be. */
export function isVendorsTool(tool: JsonValue): boolean {
  return isObject(tool) && typeof tool.type === "string" && tool.type !== "custom" && tool.type !== "function";
}

/** withCodes returns an answer whose ids have the account's code. */
function withCodes<A extends Answer>(answer: A, changesOf: (json: JsonObject) => Changes): A {
  const coded = <W extends Wire>(wire: W): W => {
    const changes = changesOf(wire.json());
    return Object.keys(changes).length === 0 ? wire : (wire.with(changes) as W);
  };
  if (answer.kind === "whole") return { ...answer, body: coded(answer.body) };
  const { frames } = answer;
  const named = pushStream<readonly Wire[]>((take) => forEach(frames, (batch) => take(batch.map(coded))));
  return { ...answer, frames: named };
}
