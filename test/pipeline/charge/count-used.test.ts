/** Usage that the upstream does not report is counted; what cannot be counted in time is estimated by its length. */
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { createCounting, guessTokens } from "../../../src/pipeline/charge/count-used.ts";
import { CallerAbort } from "../../../src/runtime/caller-abort.ts";
import { createCounter, startCounter } from "../../../src/tokens/counter.ts";
import { loadTokenizer, type TextCounter } from "../../../src/tokens/tokenizer.ts";
import { Wire } from "../../../src/wire/wire.ts";

const words = "It rains in Oslo, and nobody has an umbrella. ";
const asked = (content: string) =>
  Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages: [{ role: "user", content }] });

/** A counting, the signal that cuts it short, and the errors of its counts. */
function countingBy(counter: TextCounter) {
  const hurry = new CallerAbort();
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  return { counting: createCounting({ counter, hurry, onError }), hurry, errors };
}

test("counts as the tokenizer does", async () => {
  const tokenizer = await loadTokenizer();
  const { counting, errors } = countingBy(tokenizer);
  expect(await counting.output(words)).toBe(tokenizer.count(words));
  // 3 to prime the answer, and a message with its role.
  expect(await counting.input("chat", asked(words))).toBe(3 + 4 + tokenizer.count(words));
  expect(errors).toEqual([]);
});

test("guesses, once nobody can wait any more, what is being counted and what comes then", async () => {
  await using thread = startCounter();
  const { counting, hurry, errors } = countingBy(createCounter(() => thread));
  await counting.output("is there");
  const long = "鑫".repeat(300_000);
  const request = asked(long);
  const coming = Promise.all([counting.output(long), counting.input("chat", request)]);
  hurry.abort();
  expect(await coming).toEqual([guessTokens(900_000), guessTokens(request.bytes().length)]);
  expect(await counting.output("x".repeat(400))).toBe(100);
  expect(errors).toEqual([]);
});

test("guesses what cannot be counted, and tells why", async () => {
  const dying = 'require("node:worker_threads").parentPort.once("message", () => process.exit(3))';
  const { counting, errors } = countingBy(createCounter(() => new Worker(dying, { eval: true })));
  expect(await counting.output("奥斯陆")).toBe(guessTokens(9));
  expect(errors).toEqual([new Error("the thread that counts ended")]);
});

test("goes on with one of several long texts in each turn, so that a short one waits for no more", async () => {
  const tokenizer = await loadTokenizer();
  const [texts, breaths] = [5, 8];
  // A slice is 32,768 characters, or a little more.
  const long = words.repeat(Math.ceil((breaths * 33_000) / words.length));
  let turns = 0;
  let isOver = false;
  const counted = Promise.all(Array.from({ length: texts }, () => tokenizer.countAll([long], new CallerAbort())));
  void counted.finally(() => {
    isOver = true;
  });
  for (; !isOver; turns++) await setImmediate();
  expect(await counted).toEqual(Array(texts).fill(tokenizer.count(long)));
  expect(turns).toBeGreaterThanOrEqual(texts * (breaths - 1));
});
