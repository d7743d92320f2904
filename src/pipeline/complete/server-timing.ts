/**
 * The header `server-timing` (W3C Server Timing): the time until the answer, split into queues, upstreams (with failed attempts
 * and the pauses after them) and the gateway itself.
 */
import type { CallRecord } from "../../call/call-record.ts";

/** serverTiming returns the header's value, and records the gateway's own part. `begunAt` is by `performance.now()`. */
export function serverTiming(record: CallRecord, begunAt: number): string {
  const totalMs = performance.now() - begunAt;
  let queue = 0;
  let upstream = record.pausedMs ?? 0;
  let until = begunAt;
  for (const { sentAt, queuedMs, waitedMs } of record.attempts) {
    // The time of hedged attempts counts once.
    const waitedFrom = Math.max(until, sentAt + queuedMs);
    const waitedUntil = Math.max(until, sentAt + queuedMs + waitedMs);
    queue += Math.max(0, sentAt + queuedMs - Math.max(until, sentAt));
    upstream += waitedUntil - waitedFrom;
    until = waitedUntil;
  }
  const gateway = Math.max(0, totalMs - queue - upstream);
  record.ownMs = gateway;
  // Most calls wait in no queue.
  const queued = queue === 0 ? "0.00" : twoPlaces(queue);
  return `queue;dur=${queued}, upstream;dur=${twoPlaces(upstream)}, gateway;dur=${twoPlaces(gateway)}`;
}

const hundredths = Array.from({ length: 100 }, (_, count) => String(count).padStart(2, "0"));

/** twoPlaces formats as `toFixed(2)`, in a third of the time. */
function twoPlaces(ms: number): string {
  const count = Math.round(ms * 100);
  return `${Math.floor(count / 100)}.${hundredths[count % 100]}`;
}
