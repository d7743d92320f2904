/**
 * The queue before an upstream that may have only so many calls at a time. Those of a higher tier go first, and of one tier
 * who came first. So many may wait, and so long; who may not is refused as busy, and who leaves is gone at once.
 *
 * A place is held until the answer has ended, failed or been left. Bottleneck says which line goes on; what it cannot do is
 * drop a job that nobody waits for any more: such a job is for the next who comes into the same line, and if nobody does,
 * it is over as soon as it begins. So there are never more jobs than calls that waited at once.
 */
import Bottleneck from "bottleneck";
import type { Answer } from "../../call/call.ts";
import type { Operation } from "../../call/operations.ts";
import { cancelled, type Refusal, upstreamBusy } from "../../call/refusals.ts";
import type { UpstreamConfig } from "../../config/config.ts";
import { onEnd } from "../../runtime/push-stream.ts";
import { type Attempt, type Provider, type Speak, withEverySpeak } from "../contract.ts";
import { faultOf } from "../errors/fault.ts";

/** What there is to see of all queues, by the upstream's name. */
export interface Queues {
  /** Has the provider's calls wait for their places, where its upstream has a queue. */
  before(name: string, provider: Provider): Provider;
  /** How many calls wait for a place; 0 where there is no queue. */
  queued(name: string): number;
  /** How many calls have a place; 0 where there is no queue. */
  running(name: string): number;
  /** How many may have one; undefined where there is no queue. */
  maxConcurrent(name: string): number | undefined;
}

export function createQueues(upstreams: readonly Pick<UpstreamConfig, "name" | "queue">[]): Queues {
  const queues = new Map(upstreams.flatMap(({ name, queue }) => (queue ? [[name, createQueue(queue)] as const] : [])));
  return {
    before(name, provider) {
      const queue = queues.get(name);
      if (!queue) return provider;
      return { ...withEverySpeak(provider, (speak) => queuedSpeak(speak, queue)), hasQueue: true };
    },
    queued: (name) => queues.get(name)?.queued() ?? 0,
    running: (name) => queues.get(name)?.running() ?? 0,
    maxConcurrent: (name) => queues.get(name)?.maxConcurrent,
  };
}

/** Gives a place back; only the first time counts. */
type Release = () => void;

interface Queue {
  readonly maxConcurrent: number;
  queued(): number;
  running(): number;
  /** Resolves when there is a place. Throws a Refusal. */
  enter(attempt: Pick<Attempt, "priority" | "signal" | "timeouts">): Promise<Release>;
}

/** There is no telling when a call ends. */
const retryAfterMs = 1000;
/** Bottleneck's, from 0 on. */
const priorities = 10;

/** Those of one priority, and how many jobs Bottleneck has for them. */
interface Line {
  readonly waiting: Set<(release: Release) => void>;
  jobs: number;
}

function createQueue({ max_concurrent, max_queued, max_wait_seconds }: NonNullable<UpstreamConfig["queue"]>): Queue {
  const limiter = new Bottleneck({ maxConcurrent: max_concurrent });
  const lines = Array.from({ length: priorities }, (): Line => ({ waiting: new Set(), jobs: 0 }));
  let waiting = 0;
  let running = 0;

  /** Has Bottleneck give a place to whoever is first in the line by then. */
  function schedule(line: Line, priority: number): void {
    line.jobs++;
    void limiter.schedule({ priority }, async () => {
      line.jobs--;
      const [first] = line.waiting;
      if (first) await new Promise<void>(first);
    });
  }

  return {
    maxConcurrent: max_concurrent,
    queued: () => Math.max(0, running + waiting - max_concurrent),
    running: () => running,
    async enter({ priority, signal, timeouts }) {
      if (signal.aborted) throw cancelled();
      if (running + waiting >= max_concurrent + max_queued) throw upstreamBusy(retryAfterMs);
      const line = lines[priority] as Line;
      const { promise, resolve, reject } = Promise.withResolvers<Release>();
      const over = () => {
        waiting--;
        line.waiting.delete(go);
        clearTimeout(timer);
        signal.removeEventListener("abort", left);
      };
      const go = (end: () => void) => {
        over();
        running++;
        resolve(
          onlyOnce(() => {
            running--;
            end();
          }),
        );
      };
      const refuse = (why: Refusal) => {
        over();
        reject(why);
      };
      const left = () => refuse(cancelled());
      const waitMs = Math.min(max_wait_seconds * 1000, timeouts.totalMs ?? Number.POSITIVE_INFINITY);
      const timer = setTimeout(() => refuse(upstreamBusy(retryAfterMs)), Math.max(0, waitMs));
      signal.addEventListener("abort", left, { once: true });
      waiting++;
      line.waiting.add(go);
      if (line.jobs < line.waiting.size) schedule(line, priority);
      return promise;
    },
  };
}

function onlyOnce(release: Release): Release {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    release();
  };
}

function queuedSpeak(speak: Speak<Operation>, queue: Queue): Speak<Operation> {
  const queued = async (attempt: Attempt) => {
    const release = await waitIn(queue, attempt);
    try {
      const answer = (await speak(withRest(attempt))) as Answer;
      if (answer.kind === "whole") {
        release();
        return answer;
      }
      // Frames that nobody began to read have no end of their own.
      attempt.signal.addEventListener("abort", release, { once: true });
      if (attempt.signal.aborted) release();
      return { ...answer, frames: onEnd(answer.frames, release) };
    } catch (error) {
      release();
      throw error;
    }
  };
  return queued as unknown as Speak<Operation>;
}

async function waitIn(queue: Queue, attempt: Attempt): Promise<Release> {
  const { record } = attempt;
  const cameAt = performance.now();
  record.isQueued = true;
  try {
    return await queue.enter(attempt);
  } catch (error) {
    const failure = faultOf(error);
    if (failure !== undefined) record.failure = failure;
    throw error;
  } finally {
    record.isQueued = false;
    record.queuedMs = performance.now() - cameAt;
  }
}

/** What was waited is no longer left of what the caller would wait in all. */
function withRest(attempt: Attempt): Attempt {
  const { totalMs } = attempt.timeouts;
  if (totalMs === undefined || totalMs === Number.POSITIVE_INFINITY) return attempt;
  return { ...attempt, timeouts: { ...attempt.timeouts, totalMs: totalMs - attempt.record.queuedMs } };
}
