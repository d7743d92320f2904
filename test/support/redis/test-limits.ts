/** Over what test gateways share their rates: nothing, or the server of Redis or Valkey that was started for the run (`TEST_LIMITS`). */
import type { RedisConfig } from "../../../src/config/shape.ts";

const url = process.env.TEST_REDIS_URL;

let gateways = 0;

/** Returns the configuration of a gateway that shares with nobody else; undefined where rates are in memory. */
export function limitsOfTest(): RedisConfig | undefined {
  if (url === undefined) return undefined;
  const prefix = `test-${process.pid}-${++gateways}:`;
  const times = { timeoutMs: 2_000, connectMs: 5_000 };
  return { url, isCluster: false, prefix, whenAway: "divide", assumedNodes: 1, ...times };
}
