/**
 * What limits cost a call, in nanoseconds: `node bench/limits.ts`.
 */
import { Family } from "../gen/modelgateway/v1/access_pb.ts";
import { InferenceService } from "../gen/modelgateway/v1/inference_pb.ts";
import { createMemoryLimiter } from "../src/limits/memory.ts";
import { createLimit, rateHeaders } from "../src/pipeline/limit.ts";

const rounds = 1_000_000;
const accounts = Array.from({ length: 1_000 }, (_, i) => `acc_${i}`);
const accountOf = (i: number) => accounts[i % accounts.length] as string;
const tier = { name: "Any", recharge: 0, requestsPerMinute: 1e8, tokensPerMinute: 1e9 };
const rate = { capacity: tier.requestsPerMinute, windowMs: 60_000 };
const limiter = createMemoryLimiter(Date.now);
const { limit } = createLimit({ limiter, clock: Date.now });
const standing = { requests: limiter.take("acc", rate, 1), tokens: undefined, creditRemaining: 12_345_678 };
const method = InferenceService.method.createChatCompletion;

/** Holds what was made, so that it must be made. */
let made: unknown;

await measure("a decision", (i) => {
  made = limiter.take(accountOf(i), rate, 1);
});
await measure("headers, OpenAI", (i) => {
  made = rateHeaders(Family.OPENAI, standing, i);
});
await measure("headers, Anthropic", (i) => {
  made = rateHeaders(Family.ANTHROPIC, standing, i);
});
await measure("a call with a token rate", async (i) => {
  made = await limit({ id: accountOf(i), tier }, method, Family.OPENAI, standing.creditRemaining);
});
if (made === undefined) throw new Error("Nothing was measured.");

async function measure(name: string, step: (i: number) => void | Promise<void>): Promise<void> {
  let best = Infinity;
  for (let run = 0; run < 5; run++) {
    const begun = performance.now();
    for (let i = 0; i < rounds / 5; i++) {
      const going = step(i);
      if (going) await going;
    }
    best = Math.min(best, ((performance.now() - begun) * 1e6) / (rounds / 5));
  }
  console.log(`${name}: ${best.toFixed(0)} ns`);
}
