/** Measures the cost of a stream's chunk. */
import type { Answer, Frames } from "../../src/call/call.ts";
import { operations } from "../../src/call/operations.ts";
import { messagesToChat } from "../../src/families/messages-to-chat/index.ts";
import { createTemplateReader, type TemplateChunk } from "../../src/providers/openai/delta-template.ts";
import { runNow } from "../../src/runtime/cooperative.ts";
import { newId } from "../../src/runtime/ids.ts";
import { dataFrame, SseReader } from "../../src/wire/sse.ts";
import { Wire } from "../../src/wire/wire.ts";
import { chatRequest, chunkFrame, chunksPerStream, lastFrames } from "../payloads.ts";
import { measure } from "./measure.ts";

const frame = Buffer.from(chunkFrame("and a few words more, as many as a moment has", true));
const payload = frame.subarray("data: ".length, -2);
const { stream } = operations.chat;

export async function measureStreams(): Promise<void> {
  const reader = new SseReader();
  await measure("SSE reader: a frame a read", () => reader.push(frame));
  const many = Buffer.concat(Array<Buffer>(200).fill(frame));
  await measure("SSE reader: a frame of 200 in a read", () => new SseReader().push(many), 200);
  await measure("SSE: a frame written", () => dataFrame(payload));
  await measure("SSE: a frame handed on", () => Wire.ofFrame(stream, frame, payload).frame());
  await measure("a chunk, chat → messages, JSON and all", () => translateStream(false), chunksPerStream);
  await measure("a chunk, chat → messages, alike", () => translateStream(true), chunksPerStream);
  await measure("an id", () => newId("req"));
}

const request = Wire.ofBytes(operations.messages.input, Buffer.from(chatRequest("chat", 1000)));
const [finish = ""] = lastFrames(false).slice("data: ".length).split("\n");

async function translateStream(isAlike: boolean): Promise<number> {
  const context = {
    form: "stream",
    maxOutputTokens: undefined,
    answerId: "1",
    now: 1,
    estimateTokens: () => 1,
  } as const;
  const { answer } = runNow(messagesToChat.translate(request, context));
  const translated = answer({ kind: "stream", frames: chunks(isAlike) } as Answer<typeof stream>);
  if (translated.kind !== "stream") throw new Error("a whole answer");
  let bytes = 0;
  for await (const batch of translated.frames) for (const event of batch) bytes += event.bytes().length;
  return bytes;
}

/** If they are alike, they are read as the provider reads them. */
async function* chunks(isAlike: boolean): Frames<typeof stream> {
  const alike = createTemplateReader();
  alike.learn(JSON.parse(payload.toString()), payload, payload);
  for (let i = 1; i < chunksPerStream; i++) {
    const chunk = Wire.ofBytes(stream, payload, true);
    if (isAlike) chunk.withPlainText((alike.read(payload) as TemplateChunk).plainText);
    yield [chunk];
  }
  yield [Wire.ofBytes(stream, Buffer.from(finish), true)];
}
