/** Measures the cost of reading a caller's JSON: scanning and parsing it, compared with the parser alone. */
import { CreateChatCompletionRequestSchema as chat } from "../../gen/modelgateway/v1/chat_pb.ts";
import { checkSyntax } from "../../src/wire/json.ts";
import { Wire } from "../../src/wire/wire.ts";
import { chatRequest } from "../payloads.ts";
import { measure } from "./measure.ts";

const parameter = (i: number) => ({ type: i % 2 ? "string" : "number", description: `What the field ${i} is for.` });
const tool = (i: number) => ({
  type: "function",
  function: {
    name: `tool_${i}`,
    description: "Looks something up, and tells what it found in some words.",
    parameters: {
      type: "object",
      properties: Object.fromEntries(Array.from({ length: 8 }, (_, k) => [`field_${k}`, parameter(k)])),
      required: ["field_0", "field_1"],
    },
  },
});
const listOf = <T>(length: number, item: (i: number) => T) => Array.from({ length }, (_, i) => item(i));
const said = (i: number) => ({
  role: i % 2 ? "assistant" : "user",
  content: "Some sixty words of an answer. ".repeat(6),
});

const bodies: readonly (readonly [name: string, text: string])[] = [
  ["1 kB of chat", chatRequest("chat", 1000)],
  ["17 kB of tools", JSON.stringify({ model: "m", messages: [said(0)], tools: listOf(21, tool) })],
  ["200 kB, one text", chatRequest("chat", 200_000)],
  ["200 kB, many messages", JSON.stringify({ model: "m", messages: listOf(900, said) })],
  [
    "4 kB of texts to embed",
    JSON.stringify({ model: "m", input: listOf(32, (i) => `${i}: ${"a few words ".repeat(10)}`) }),
  ],
];

export async function measureScan(): Promise<void> {
  for (const [name, text] of bodies) {
    const bytes = Buffer.from(text);
    await measure(`${name} (${bytes.length} bytes): the parser alone`, () => JSON.parse(bytes.toString()));
    await measure(`${name}: scanned`, () => checkSyntax(bytes));
    await measure(`${name}: read, as a request's outline`, () => Wire.ofBytes(chat, bytes).outline());
  }
}
