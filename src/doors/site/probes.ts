/**
 * Answers probes, without a key: whether the process runs, and whether it takes calls.
 *
 * `/healthz`, `/livez` and `/readyz` are Kubernetes' names. The paths below `/health` and the form of their answers are those of a
 * LiteLLM proxy, so that its probes go on working in front of this gateway. No model is asked, which it does at `/health`.
 */
import type { Readiness } from "../rpc/health.ts";

export interface ProbeAnswer {
  readonly status: 200 | 503;
  readonly json: unknown;
}

export interface Probes {
  /** Returns the answer of the probe at a path; undefined where there is none. */
  answer(path: string): ProbeAnswer | undefined;
}

const alive: ProbeAnswer = { status: 200, json: { status: "ok" } };
const saysAlive: ProbeAnswer = { status: 200, json: "I'm alive!" };

export function createProbes({ status }: Pick<Readiness, "status">): Probes {
  const ready = (): ProbeAnswer => {
    const json = status();
    return { status: json.status === "ok" ? 200 : 503, json };
  };
  const health = (): ProbeAnswer => {
    const { status: standing } = status();
    const db = standing === "storage_unavailable" ? "disconnected" : "connected";
    return standing === "ok"
      ? { status: 200, json: { status: "healthy", db } }
      : { status: 503, json: { status: standing, db } };
  };
  const probes: ReadonlyMap<string, () => ProbeAnswer> = new Map([
    ["/healthz", () => alive],
    ["/livez", () => alive],
    ["/health/liveliness", () => saysAlive],
    ["/health/liveness", () => saysAlive],
    ["/readyz", ready],
    ["/health", health],
    ["/health/readiness", health],
  ]);
  return { answer: (path) => probes.get(path)?.() };
}
