/** Reads what accounts have left of their rates, where Redis keeps it. */
import { setTimeout as delay } from "node:timers/promises";
import { createClient } from "@redis/client";
import type { Stage } from "./stage.ts";

export interface Left {
  /** Requests. */
  readonly left: number;
  /** When it was read, by `performance.now()`. */
  readonly at: number;
}

/** How long after the last call nodes may take to tell what they used. */
const toldMs = 1500;

/** Returns what accounts that are `rated` have left. */
export async function bucketsOf({ accounts, redis }: Pick<Stage, "accounts" | "redis">): Promise<Map<string, Left>> {
  await delay(toldMs);
  const client = await createClient({ url: redis.url }).connect();
  const left = new Map<string, Left>();
  for (const { id, kind } of accounts) {
    if (kind !== "rated") continue;
    const text = await client.sendCommand<string | null>(["GET", `model-gateway:rate:${id}`]);
    const [seconds = "0", micros = "0"] = await client.sendCommand<string[]>(["TIME"]);
    const [parts = Number.NaN, at = 0, capacity = 0, windowMs = 1] = (text ?? "").split(" ").map(Number);
    const now = Number(seconds) * 1000 + Math.floor(Number(micros) / 1000);
    left.set(id, { left: Math.min(capacity, (parts + (now - at) * capacity) / windowMs), at: performance.now() });
  }
  client.destroy();
  return left;
}
