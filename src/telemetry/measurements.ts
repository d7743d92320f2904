/**
 * Measures model calls and attempts with the names, units and buckets of OpenTelemetry's semantic conventions for
 * generative AI. The gateway is a server to its callers, and a client to upstreams.
 */
import type { Meter } from "@opentelemetry/api";
import type { Observer } from "../pipeline/observe.ts";
import { type Addresses, attemptAttributes, callAttributes } from "./attributes.ts";
import { inputTokens, seconds } from "./quantities.ts";

/** durations are the conventions' own buckets, in seconds. */
const durations = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const firstTokens = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const tokenCounts = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864];

export function createMeasurements(meter: Meter, addresses: Addresses): Observer {
  const histogram = (name: string, description: string, unit: string, buckets: number[]) =>
    meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries: buckets } });
  const requests = histogram("gen_ai.server.request.duration", "How long calls of models took.", "s", durations);
  const operations = histogram("gen_ai.client.operation.duration", "How long attempts took.", "s", durations);
  const firstWait = "How long it took to the first of a streamed answer.";
  const firstToken = histogram("gen_ai.server.time_to_first_token", firstWait, "s", firstTokens);
  const tokens = histogram("gen_ai.client.token.usage", "Tokens that calls of models used.", "{token}", tokenCounts);

  return {
    ended(call) {
      const { record, refusal } = call;
      if (record.operation === undefined) return;
      const { form, firstByteMs, used, replayed } = record;
      const attributes = callAttributes(call);
      requests.record(seconds(call.endedAt - call.begunAt), attributes);
      if (form === "stream" && firstByteMs !== undefined && !refusal)
        firstToken.record(seconds(firstByteMs), attributes);
      if (used && replayed === undefined) {
        const { "error.type": _, ...about } = attributes;
        const [input, output] = [inputTokens(used), used.output];
        if (input > 0) tokens.record(input, { ...about, "gen_ai.token.type": "input" });
        if (output > 0) tokens.record(output, { ...about, "gen_ai.token.type": "output" });
      }
      for (const attempt of record.attempts) {
        const took = (attempt.endedAt ?? call.endedAt) - attempt.begunAt;
        operations.record(seconds(took), attemptAttributes(attempt, call, addresses));
      }
    },
  };
}
