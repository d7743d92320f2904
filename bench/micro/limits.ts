/** Measures the cost of limits for a call. */
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { createMemoryLimiter } from "../../src/limits/memory.ts";
import { createLimit } from "../../src/pipeline/admit/limit.ts";
import { rateHeaders } from "../../src/pipeline/admit/rate-headers.ts";
import { measure } from "./measure.ts";

const accounts = Array.from({ length: 1_000 }, (_, i) => `acc_${i}`);
const accountOf = (i: number) => accounts[i % accounts.length] as string;
const tier = { name: "Any", recharge: 0, requestsPerMinute: 1e8, tokensPerMinute: 1e9 };
const rate = { capacity: tier.requestsPerMinute, windowMs: 60_000 };

export async function measureLimits(): Promise<void> {
  const limiter = createMemoryLimiter(Date.now);
  const { limit } = createLimit({ limiter, clock: Date.now });
  const standing = { requests: limiter.take("acc", rate, 1), tokens: undefined, creditRemaining: 12_345_678 };
  const method = InferenceService.method.createChatCompletion;
  await measure("token bucket: a decision", (i) => limiter.take(accountOf(i), rate, 1));
  await measure("rate headers, OpenAI", (i) => rateHeaders(Family.OPENAI, standing, i));
  await measure("rate headers, Anthropic", (i) => rateHeaders(Family.ANTHROPIC, standing, i));
  await measure("limit: a call with a token rate", (i) => {
    return limit({ id: accountOf(i), tier }, method, Family.OPENAI, standing.creditRemaining);
  });
}
