/**
 * Reads the instructions in a request's `metadata` that make the simulator wait, refuse, break off or stay silent.
 *
 * Unknown keys that start with `simulate_` and values out of range are refused by name: a simulated fault that does
 * not happen would prove nothing.
 */
import { setTimeout } from "node:timers/promises";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Form } from "../../call/operations.ts";
import {
  cancelled,
  invalidValue,
  type Refusal,
  upstreamFailed,
  upstreamRefused,
  upstreamTimeout,
} from "../../call/refusals.ts";
import { abortSignalOf, type Signal } from "../../runtime/caller-abort.ts";

export interface Simulation {
  readonly delayMs: number;
  readonly tokenDelayMs: number;
  readonly status: number | undefined;
  /** Number of content chunks after which the answer breaks off. */
  readonly breakAfter: number | undefined;
  readonly silent: boolean;
}

const longestWaitMs = 600_000;
const prefix = "simulate_";
const known = ["delay_ms", "token_delay_ms", "status", "break_after", "silence"].map((name) => prefix + name);

export function simulationOf(metadata: Readonly<Record<string, string>>): Simulation {
  const given = new Map(Object.entries(metadata).filter(([key]) => key.startsWith(prefix)));
  for (const key of given.keys()) {
    if (!known.includes(key)) throw invalidValue(`metadata.${key}`, `the instructions are ${known.join(", ")}`);
  }
  const number = (name: string, min: number, max: number): number | undefined => {
    const text = given.get(prefix + name);
    if (text === undefined) return undefined;
    if (/^\d{1,7}$/.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
    throw invalidValue(`metadata.${prefix}${name}`, `expected a whole number from ${min} to ${max}, as a string`);
  };
  const silence = given.get("simulate_silence") ?? "false";
  if (silence !== "true" && silence !== "false")
    throw invalidValue("metadata.simulate_silence", "expected true or false, as a string");
  return {
    delayMs: number("delay_ms", 0, longestWaitMs) ?? 0,
    tokenDelayMs: number("token_delay_ms", 0, longestWaitMs) ?? 0,
    status: number("status", 400, 599),
    breakAfter: number("break_after", 0, 1_000_000),
    silent: silence === "true",
  };
}

/** simulateBefore simulates what comes before an answer: waits, stays silent, refuses. */
export async function simulateBefore(simulation: Simulation, form: Form, signal: Signal): Promise<void> {
  if (simulation.silent) {
    await pause(longestWaitMs, signal);
    throw upstreamTimeout();
  }
  await pause(simulation.delayMs, signal);
  if (simulation.status !== undefined) throw refusalWith(simulation.status);
  if (simulation.breakAfter !== undefined && form === "whole") throw upstreamFailed("a simulated break of the answer");
}

/** pause waits. Throws a Refusal at once when the caller disconnects. */
export async function pause(ms: number, signal: Signal): Promise<void> {
  if (signal.aborted) throw cancelled();
  if (ms === 0) return;
  try {
    await setTimeout(ms, undefined, { signal: abortSignalOf(signal) });
  } catch {
    throw cancelled();
  }
}

function refusalWith(status: number): Refusal {
  const message = `A simulated refusal with status ${status}, as metadata.simulate_status asks for.`;
  const error = { message, type: typeOf(status), param: null, code: "simulated" };
  const retry: Record<string, string> = status === 429 || status === 503 ? { "retry-after": "1" } : {};
  const upstream = { family: Family.OPENAI, body: Buffer.from(JSON.stringify({ error })) };
  return upstreamRefused(status, { message, param: undefined }, upstream, retry);
}

function typeOf(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 429:
      return "rate_limit_error";
  }
  return status >= 500 ? "server_error" : "invalid_request_error";
}
