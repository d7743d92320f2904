/** What a row of the table is: an attack, what holds against it, and the function that makes it. */
import type { GatewayProcess } from "./gateway.ts";
import type { Upstream } from "./upstream.ts";

export interface Stage {
  readonly gateway: GatewayProcess;
  readonly calm: Upstream;
  readonly wild: Upstream;
  /** The part of the attack that is made, above 0: a first round is smaller, so that what grows once has grown. */
  readonly share: number;
  /** How long an attack lasts that is bounded by time alone, in milliseconds. */
  readonly ms: number;
  /** How long a caller waits who is to be served, and a connection that is to be closed, in milliseconds. */
  readonly patienceMs: number;
  /** Fires when the row has had its time. */
  readonly signal: AbortSignal;
}

export interface Outcome {
  /** What was done and seen, in a few words. */
  readonly told: string;
  /** What did not hold. */
  readonly faults: readonly string[];
}

export interface Row {
  readonly name: string;
  /** The number of the rule that it shows. */
  readonly item: number;
  readonly attack: string;
  readonly holds: string;
  /** Whether it is quick enough for `npm test`. */
  readonly short?: boolean;
  /** The part of the attack that is made before anything is measured; 0: none. Default: a tenth. */
  readonly warm?: number;
  /** How much resident memory may grow while it lasts, in megabytes. Default: 512. */
  readonly growth?: number;
  /** How many descriptors the gateway of this row may have. */
  readonly openFiles?: number;
  run(stage: Stage): Promise<Outcome>;
}

/** Scales a count of the whole attack to this round. */
export function scaled(stage: Stage, count: number): number {
  return Math.max(1, Math.ceil(count * stage.share));
}

/** Collects what did not hold. */
export function faultsOf(checks: Readonly<Record<string, boolean>>): string[] {
  return Object.entries(checks).flatMap(([fault, isFault]) => (isFault ? [fault] : []));
}

export function chat(model: string, content: string, more: object = {}): string {
  return JSON.stringify({ model, max_tokens: 50, messages: [{ role: "user", content }], ...more });
}

export const chatPath = "/v1/chat/completions";

/** The most that the gateway reads of a body, by default. */
export const largestBody = 16 * 2 ** 20;
