/** Measures the cost of JSON, messages and their validation. */
import { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import { operations } from "../../src/call/operations.ts";
import { createValidate } from "../../src/pipeline/check/validate.ts";
import { Wire } from "../../src/wire/wire.ts";
import { chatAnswer, chatRequest, chunkFrame, embeddingsAnswer } from "../payloads.ts";
import { measure } from "./measure.ts";

const { input, whole, stream } = operations.chat;
const request = Buffer.from(chatRequest("chat", 1000));
const large = Buffer.from(chatRequest("chat", 200_000));
const code = '{"a": "b",\n"c": 1}'.repeat(8000);
const quoted = Buffer.from(JSON.stringify({ model: "chat", messages: [{ role: "user", content: code }] }));
const answer = Buffer.from(chatAnswer);
const chunk = Buffer.from(chunkFrame("and a few words more", true).slice("data: ".length));
const vectors = Buffer.from(embeddingsAnswer);

export async function measureCodec(): Promise<void> {
  await measure("request of 1 kB: bytes → JSON", () => Wire.ofBytes(input, request).json());
  await measure("request of 1 kB: bytes → message", () => Wire.ofBytes(input, request).message());
  await measure("request of 200 kB: bytes → message", () => Wire.ofBytes(input, large).message());
  await measure("request of 1 kB: its model replaced in the bytes", () => {
    return Wire.ofBytes(input, request).with({ model: "another" }).bytes();
  });
  await measure("request of 200 kB of quoted code: its model replaced", () => {
    return Wire.ofBytes(input, quoted).with({ model: "another" }).bytes();
  });
  await measure("answer of 1 kB: bytes → JSON", () => Wire.ofBytes(whole, answer, true).json());
  await measure("answer of 1 kB: bytes → message", () => Wire.ofBytes(whole, answer, true).message());
  const message = Wire.ofBytes(whole, answer, true).message();
  await measure("answer of 1 kB: message → bytes", () => Wire.ofMessage(whole, message).bytes());
  await measure("chunk: bytes → JSON", () => Wire.ofBytes(stream, chunk, true).json());
  await measure("chunk: bytes → message", () => Wire.ofBytes(stream, chunk, true).message());
  const chunkMessage = Wire.ofBytes(stream, chunk, true).message();
  await measure("chunk: message → bytes", () => Wire.ofMessage(stream, chunkMessage).bytes());
  const { whole: embeddings } = operations.embeddings;
  await measure("answer of 1,536 floats: bytes → JSON", () => Wire.ofBytes(embeddings, vectors, true).json());
  await measure("answer of 1,536 floats: without its numbers", () => Wire.ofBytes(embeddings, vectors, true).outline());
  const validate = createValidate();
  const read = Wire.ofBytes(CreateChatCompletionRequestSchema, request);
  read.json();
  await measure("validation of a request of 1 kB", () => validate(read));
}
