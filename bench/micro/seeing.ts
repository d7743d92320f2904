/** Measures the cost of observing a call: log line and metrics. */

import { openSync } from "node:fs";
import { devNull } from "node:os";
import { pino } from "pino";
import { Registry } from "prom-client";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { here, nobody } from "../../src/call/call.ts";
import { collectLines } from "../../src/commands/serving/log-lines.ts";
import type { EndedCall } from "../../src/pipeline/observe.ts";
import { createCallLog } from "../../src/telemetry/log.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { measure } from "./measure.ts";

const attempt = {
  upstream: "whole",
  kind: "openai",
  model: "far",
  modelId: "near",
  begunAt: 0,
  sentAt: 0,
  queuedMs: 0,
  waitedMs: 4.2,
  firstByteMs: 4.2,
};
const call: EndedCall = {
  arrival: {
    id: "req_1m7zxm3hq0qgfcfs9agyf1k30",
    method: InferenceService.method.createChatCompletion,
    header: () => undefined,
    peer: here,
  },
  caller: { ...nobody, accountId: "acc_1m7zxm3hq0qgfcfs9agyf1k30", keyId: "key_1m7zxm3hq0qgfcfs9agyf1k30" },
  record: {
    ...{ operation: "chat", form: "whole", model: "near", attempts: [attempt], firstByteMs: 4.6, ownMs: 0.412_345 },
    ...{
      cost: 1234,
      waived: 0,
      used: { input: 210, cacheRead: 20, cacheWrite: 0, cacheWriteHour: 0, output: 180, reasoning: 0, characters: 0 },
    },
  },
  ...{ begunAt: 1_000, endedAt: 1_005, refusal: undefined },
};

export async function measureSeeing(): Promise<void> {
  const log = createCallLog(pino({ level: "info" }, collectLines(openSync(devNull, "a"))));
  await measure("a log line", () => log.ended(call));
  const metrics = createMetrics(new Registry());
  await measure("metrics", () => metrics.ended(call));
}
