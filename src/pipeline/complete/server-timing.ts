/**
 * Where the time went until an answer could be handed over: in queues, at upstreams (those that failed and the pauses after
 * them too), and in the gateway itself. Source: W3C Server Timing.
 */
import type { CallRecord } from "../../call/call-record.ts";

/** Returns the header `server-timing`, and notes the gateway's own part. `begunAt` is by `performance.now()`. */
export function serverTiming(facts: CallRecord, begunAt: number): string {
  const totalMs = performance.now() - begunAt;
  let queue = 0;
  let upstream = facts.pausedMs ?? 0;
  let until = begunAt;
  for (const { sentAt, queuedMs, waitedMs } of facts.attempts) {
    // Of attempts beside each other the time counts once.
    const waitedFrom = Math.max(until, sentAt + queuedMs);
    const waitedUntil = Math.max(until, sentAt + queuedMs + waitedMs);
    queue += Math.max(0, sentAt + queuedMs - Math.max(until, sentAt));
    upstream += waitedUntil - waitedFrom;
    until = waitedUntil;
  }
  const gateway = Math.max(0, totalMs - queue - upstream);
  facts.ownMs = gateway;
  // Most calls have not waited in a queue.
  const queued = queue === 0 ? "0.00" : twoPlaces(queue);
  return `queue;dur=${queued}, upstream;dur=${twoPlaces(upstream)}, gateway;dur=${twoPlaces(gateway)}`;
}

const hundredths = Array.from({ length: 100 }, (_, count) => String(count).padStart(2, "0"));

/** As `toFixed(2)` does, in a third of the time. */
function twoPlaces(ms: number): string {
  const count = Math.round(ms * 100);
  return `${Math.floor(count / 100)}.${hundredths[count % 100]}`;
}
