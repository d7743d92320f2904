/**
 * The queue before an upstream that takes a limited number of calls at a time. Higher tiers go first; within a tier,
 * the order of arrival holds. The number of waiting calls and their wait are bounded: a call beyond them is refused
 * as busy. A call that is aborted leaves the queue at once.
 *
 * A slot is held until the answer has ended, failed or been left. Bottleneck chooses the line. It cannot drop a job,
 * so the job of an aborted call serves the next call of the same line; without one it ends as soon as it begins.
 * There are never more jobs than calls that waited at once.
 */
import Bottleneck from "bottleneck";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { atEnd } from "../../call/answer-end.ts";
import type { Answer } from "../../call/call.ts";
import type { Operation } from "../../call/operations.ts";
import { cancelled, type Refusal, upstreamBusy } from "../../call/refusals.ts";
import type { UpstreamConfig } from "../../config/config.ts";
import type { MaybePromise } from "../../runtime/maybe-promise.ts";
import { onlyOnce } from "../../runtime/push-stream.ts";
import { type Attempt, type Provider, type Speak, wrapEverySpeak } from "../contract.ts";
import { countsForHealth, faultOf } from "../errors/fault.ts";

/** Queues is the state of all queues, by the upstream's name. */
export interface Queues {
  /** Returns the provider with its calls queued, where its upstream has a queue. */
  wrap(name: string, provider: Provider): Provider;
  /** Number of calls waiting for a slot; 0 without a queue. */
  queued(name: string): number;
  /** Number of calls that hold a slot; 0 without a queue. */
  running(name: string): number;
  /** Number of slots; undefined without a queue. */
  maxConcurrent(name: string): number | undefined;
  /**
   * Has the queues of these upstreams from now on. A queue whose numbers change goes on with the calls that it has, and with those that
   * hold its slots; calls that wait in a queue that is gone are let through as its slots become free.
   */
  replace(upstreams: readonly QueuedUpstream[]): void;
}

type QueuedUpstream = Pick<UpstreamConfig, "name" | "queue">;

/** SharedPlaces are the slots of an upstream that several gateways share. Each call takes one after its turn in this queue. */
export interface SharedPlaces {
  take(): MaybePromise<undefined>;
  release(): void;
  /** Says how many there are from now on. */
  resize(places: number): void;
}

/** `sharedPlaces` returns those of an upstream with a queue; without it each gateway has all slots. */
export function createQueues(
  upstreams: readonly QueuedUpstream[],
  sharedPlaces?: (name: string, places: number) => SharedPlaces,
): Queues {
  const queueOf = (name: string, config: QueueConfig) => {
    const before = queues.get(name);
    const isShared = sharedPlaces !== undefined && config.shared !== false;
    if (!before || before.isShared !== isShared)
      return createQueue(config, isShared ? sharedPlaces(name, config.max_concurrent) : undefined);
    before.update(config);
    return before;
  };
  let queues: ReadonlyMap<string, Queue> = new Map();
  const replace = (next: readonly QueuedUpstream[]) => {
    queues = new Map(next.flatMap(({ name, queue }) => (queue ? [[name, queueOf(name, queue)] as const] : [])));
  };
  replace(upstreams);
  return {
    replace,
    wrap(name, provider) {
      const queue = queues.get(name);
      if (!queue) return provider;
      return { ...wrapEverySpeak(provider, (speak) => queuedSpeak(speak, queue)), hasQueue: true };
    },
    queued: (name) => queues.get(name)?.queued() ?? 0,
    running: (name) => queues.get(name)?.running() ?? 0,
    maxConcurrent: (name) => queues.get(name)?.maxConcurrent(),
  };
}

/** Release frees a slot. Only the first call counts. */
type Release = () => void;

interface Queue {
  readonly isShared: boolean;
  maxConcurrent(): number;
  update(config: QueueConfig): void;
  queued(): number;
  running(): number;
  /** Resolves when a slot is free. Throws a Refusal. */
  enter(attempt: Pick<Attempt, "priority" | "signal" | "timeouts">): Promise<Release>;
}

/** Nobody knows when a call will end, so a second is as good a hint as any. */
const retryAfterMs = 1000;
/** The priorities of Bottleneck, from 0. */
const priorities = 10;

/** Line holds the calls of one priority, and how many jobs Bottleneck has for them. */
interface Line {
  readonly waiting: Set<(release: Release) => void>;
  jobs: number;
}

type QueueConfig = NonNullable<UpstreamConfig["queue"]>;

function createLines(limiter: Bottleneck, shared: SharedPlaces | undefined) {
  const lines = Array.from({ length: priorities }, (): Line => ({ waiting: new Set(), jobs: 0 }));
  return {
    lines,
    /** Has Bottleneck give a slot to the call that is first in the line by then. */
    schedule(line: Line, priority: number): void {
      line.jobs++;
      void limiter.schedule({ priority }, async () => {
        line.jobs--;
        if (shared) return runShared(shared, lines);
        const [first] = line.waiting;
        if (first) await new Promise<void>(first);
      });
    },
  };
}

function createQueue(first: QueueConfig, shared?: SharedPlaces): Queue {
  let config = first;
  const limiter = new Bottleneck({ maxConcurrent: config.max_concurrent });
  const { lines, schedule } = createLines(limiter, shared);
  let waiting = 0;
  let running = 0;
  return {
    isShared: shared !== undefined,
    maxConcurrent: () => config.max_concurrent,
    update(next) {
      const isResized = next.max_concurrent !== config.max_concurrent;
      config = next;
      if (!isResized) return;
      limiter.updateSettings({ maxConcurrent: next.max_concurrent });
      shared?.resize(next.max_concurrent);
    },
    queued: () => (shared ? waiting : Math.max(0, running + waiting - config.max_concurrent)),
    running: () => running,
    async enter({ priority, signal, timeouts }) {
      if (signal.aborted) throw cancelled();
      const { max_concurrent, max_queued, max_wait_seconds } = config;
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
      const { totalMs = Number.POSITIVE_INFINITY } = timeouts;
      const waitMs = Math.min(max_wait_seconds * 1000, totalMs);
      const tooLate = () => refuse(upstreamBusy(retryAfterMs, waitMs === totalMs));
      // A slot that is free comes in this turn of the event loop or the next, however long that lasts.
      const isFree = !shared && running + waiting < max_concurrent;
      const timer = isFree ? undefined : setTimeout(tooLate, Math.max(0, waitMs));
      signal.addEventListener("abort", left, { once: true });
      waiting++;
      line.waiting.add(go);
      if (line.jobs < line.waiting.size) schedule(line, priority);
      return promise;
    },
  };
}

/** runShared takes a shared slot and gives it to the call that is first when it is there, of the highest tier. */
async function runShared(places: SharedPlaces, lines: readonly Line[]): Promise<void> {
  const highest = () => lines.find(({ waiting }) => waiting.size > 0);
  if (!highest()) return;
  await places.take();
  const [first] = highest()?.waiting ?? [];
  if (first) await new Promise<void>(first);
  places.release();
}

function queuedSpeak(speak: Speak<Operation>, queue: Queue): Speak<Operation> {
  const queued = async (attempt: Attempt) => {
    const release = await waitIn(queue, attempt);
    try {
      return atEnd((await speak(withRest(attempt))) as Answer, attempt.signal, release);
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
    if (!countsForHealth(error)) record.outcome = Outcome.LEFT;
    throw error;
  } finally {
    record.isQueued = false;
    record.queuedMs = performance.now() - cameAt;
  }
}

/** withRest takes the time waited off the caller's total bound. */
function withRest(attempt: Attempt): Attempt {
  const { totalMs } = attempt.timeouts;
  if (totalMs === undefined || totalMs === Number.POSITIVE_INFINITY) return attempt;
  return { ...attempt, timeouts: { ...attempt.timeouts, totalMs: totalMs - attempt.record.queuedMs } };
}
