/**
 * The stored form of an answer, for repetitions of its request: its headers and its body, encrypted together (`seal.ts`).
 */

import type { DescMessage } from "@bufbuild/protobuf";
import type { Answer, AnswerHeaders, AnswerRoom } from "../../call/call.ts";
import { chargeHeaders } from "../../call/charge-headers.ts";
import type { Form } from "../../call/operations.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { bodyOf, framesOf, type RecordedAnswer } from "./recorded-answer.ts";
import { open, seal } from "./seal.ts";

/** maxReplayBytes is the longest answer that is stored, in bytes: a body, or the frames of a stream. */
export const maxReplayBytes = 16 * 1024 * 1024;
const maxHeadBytes = 64 * 1024;

export interface ReplayText {
  /** The catalogue's id of the model that answered. */
  readonly model: string;
  readonly headers: AnswerHeaders | undefined;
  readonly recorded: RecordedAnswer;
}

/** sealReplay encrypts an answer to be stored. `bound` is authenticated with the answer, which opens only with the same. */
export function sealReplay({ model, headers, recorded }: ReplayText, secret: Buffer, bound: string): Promise<Buffer> {
  const head = Buffer.from(JSON.stringify({ model, headers: keptHeaders(headers) }));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(head.length);
  return seal(Buffer.concat([length, head, recorded]), secret, bound);
}

export interface Replay {
  readonly model: string;
  readonly headers: AnswerHeaders;
  readonly answer: Answer;
}

export interface Opening {
  readonly secret: Buffer;
  readonly bound: string;
  /** The memory that the answer is counted against. */
  readonly room: AnswerRoom;
}

/** openReplay rejects where the answer belongs to another request, and with a Refusal where there is no memory for it. */
export async function openReplay(
  sealed: Buffer,
  { secret, bound, room }: Opening,
  desc: DescMessage,
  form: Form,
): Promise<Replay> {
  await room.hold(sealed.length);
  const text = await open(sealed, secret, bound, maxReplayBytes + maxHeadBytes);
  await room.hold(sealed.length + text.length);
  const from = 4 + text.readUInt32LE();
  const { model, headers } = JSON.parse(text.toString("utf8", 4, from)) as Pick<Replay, "model" | "headers">;
  const cost = { "x-gateway-cost": formatDecimal(0) };
  const told = { ...headers, "x-gateway-replayed": "true" };
  const recorded = text.subarray(from);
  return form === "whole"
    ? { model, headers: { ...told, ...cost }, answer: { kind: "whole", body: bodyOf(desc, recorded) } }
    : { model, headers: told, answer: { kind: "stream", frames: framesOf(desc, recorded), trailers: () => cost } };
}

/** keptHeaders returns the headers that hold for a replay too: not those of cost and time. */
function keptHeaders(headers: AnswerHeaders = {}): AnswerHeaders {
  const own = Object.entries(headers).filter(([name]) => name.startsWith("x-gateway-") && !notReplayed.has(name));
  return Object.fromEntries(own);
}
const notReplayed: ReadonlySet<string> = new Set([...chargeHeaders, "x-gateway-cache"]);
