/** A stream's chunks become a whole answer at a cost in proportion to what they say. */
import { expect, test } from "vitest";
import { createChunkAccumulator } from "../../../src/providers/openai/accumulator.ts";
import { chatChunk } from "../../support/vendors.ts";

type Delta = Parameters<typeof chatChunk>[0];

const long: Readonly<Record<string, (i: number) => readonly [delta: Delta, logprobs?: object]>> = {
  "texts with their probabilities": (i) => [
    { content: "a" },
    { content: [{ token: "a", logprob: -i }], refusal: null },
  ],
  "parts of thoughts": () => [{ content: [{ type: "thinking", thinking: [{ type: "text", text: "a" }] }] }],
  "parts of other types": (i) => [{ content: [{ type: "reference", reference_ids: [i] }] }],
};

test.each(Object.entries(long))("a hundred thousand chunks of %s are joined within seconds", (_, said) => {
  const accumulator = createChunkAccumulator("chat");
  // By this thread's time on a processor: others may need that, too.
  const begun = process.threadCpuUsage();
  for (let i = 0; i < 100_000; i++) {
    const [delta, logprobs = null] = said(i);
    const { choices, ...head } = chatChunk(delta);
    accumulator?.add({ ...head, choices: [{ ...(choices as object[])[0], logprobs }] } as never);
  }
  const answer = JSON.stringify(accumulator?.answer());
  const { user, system } = process.threadCpuUsage(begun);
  expect(answer.length).toBeGreaterThan(100_000);
  expect((user + system) / 1_000_000).toBeLessThan(5);
});
