/**
 * The connection to Redis or Valkey, and whether it is away. A failure or a time-out makes it away at once: then nothing is sent but
 * a beat each half second, and the first beat that is answered ends it. So a dead Redis delays the calls of one moment, by the
 * time-out, and no others. A beat also says that this node lives, and brings how many do.
 */
import { causeOf } from "./cause.ts";
import { type Client, type ClientOptions, openClient } from "./client.ts";
import { nodesScript, type Script } from "./scripts.ts";

export interface ConnectionOptions extends ClientOptions {
  /** The key of the set of nodes that live. */
  readonly nodesKey: string;
  /** node is what this node is called there. */
  readonly node: string;
  /** assumedNodes is how many nodes are assumed to live until Redis has told. */
  readonly assumedNodes: number;
  /** timeoutMs is how long an answer may take. */
  readonly timeoutMs: number;
  /** Outages that are shorter are counted, and not told of; default: a second. */
  readonly untoldMs?: number;
  readonly onAway: (away: Away) => void;
  /** Called when it is back, with how many milliseconds it was away. Not called of an outage that `onAway` was not called of. */
  readonly onBack: (ms: number, nodes: number) => void;
}

export interface Away {
  readonly cause: string;
  /** nodes is how many nodes the rates are divided by. */
  readonly nodes: number;
}

/** ConnectionCounts are totals since the start. */
export interface ConnectionCounts {
  /** Answers that did not come in time. */
  timeouts: number;
  /** Connections that failed or were lost, and errors that Redis answered. */
  failures: number;
}

export interface Connection {
  readonly counts: Readonly<ConnectionCounts>;
  isAway(): boolean;
  nodes(): number;
  /** Runs a script on a key. Scripts that are run in one turn of the event loop are sent together. Rejects where it fails. */
  run(script: Script, key: string, args: readonly (string | number)[]): Promise<unknown>;
  /** Calls `listener` whenever Redis is there again after an outage, however short. Returns what ends that. */
  onReturn(listener: () => void): () => void;
  /** Notes that Redis did not do what it was asked for. */
  failed(error: unknown): void;
  /** Resolves when Redis has answered for the first time, or has failed to. */
  readonly firstTried: Promise<void>;
  /** close says that this node lives no longer, and closes the connection. */
  close(): Promise<void>;
}

const beatMs = 1_000;
const awayBeatMs = 500;
/** aliveMs is how long a node counts as alive after its last beat. */
const aliveMs = 5_000;
/** A connection on which a beat stays unanswered for so long is given up. */
const stuckMs = 2_000;
const defaultUntoldMs = 1_000;

interface State {
  readonly options: ConnectionOptions;
  readonly counts: ConnectionCounts;
  client: Client | undefined;
  /** waitingSince is when the client was opened, or the beat sent, that is not answered yet. */
  waitingSince: number | undefined;
  nodes: number;
  awaySince: number | undefined;
  /** wasThere is whether it ever answered. */
  wasThere: boolean;
  /** cause is why it is away, and the causes that were told of this outage. */
  cause: string;
  readonly told: Set<string>;
  readonly returns: Set<() => void>;
  timer: NodeJS.Timeout | undefined;
  isClosed: boolean;
  onTried: () => void;
}

export function createConnection(options: ConnectionOptions): Connection {
  const { promise: firstTried, resolve: onTried } = Promise.withResolvers<void>();
  const counts: ConnectionCounts = { timeouts: 0, failures: 0 };
  const state: State = {
    ...{ options, counts, onTried, client: undefined, waitingSince: undefined, nodes: options.assumedNodes },
    ...{ awaySince: performance.now(), wasThere: false, cause: "", told: new Set() },
    ...{ returns: new Set<() => void>(), timer: undefined, isClosed: false },
  };
  open(state);
  arm(state);
  return {
    counts,
    firstTried,
    isAway: () => state.awaySince !== undefined,
    nodes: () => state.nodes,
    run(script, key, args) {
      if (!state.client || state.awaySince !== undefined) return Promise.reject(new Error("Redis is away"));
      return evaluate(state.client, script, key, args);
    },
    onReturn(listener) {
      state.returns.add(listener);
      return () => state.returns.delete(listener);
    },
    failed: (error) => fail(state, error),
    close: () => close(state),
  };
}

function open(state: State): void {
  const opened: Client = openClient(state.options, (error) => lose(state, opened, error));
  state.client = opened;
  state.waitingSince = performance.now();
  opened.connect().then(
    () => state.client === opened && beat(state, opened),
    (error: unknown) => lose(state, opened, error),
  );
}

function lose(state: State, lost: Client, error: unknown): void {
  if (lost !== state.client) return;
  state.client = undefined;
  state.waitingSince = undefined;
  lost.close();
  fail(state, error);
  state.onTried();
}

function fail(state: State, error: unknown): void {
  if (state.isClosed) return;
  if (error instanceof TimeoutError) state.counts.timeouts++;
  else state.counts.failures++;
  state.cause = causeOf(error, state.options.url.startsWith("rediss:"));
  if (state.awaySince === undefined) {
    state.awaySince = performance.now();
    // The next beat was to come in a second: by then even a short outage would be told of.
    arm(state);
  }
  tellAway(state);
}

/** tellAway tells why it is away: at once where it never answered, else once it is away for a while. */
function tellAway({ options, cause, nodes, awaySince, wasThere, told }: State): void {
  const { untoldMs = defaultUntoldMs } = options;
  const isLong = awaySince !== undefined && performance.now() - awaySince >= untoldMs;
  if (cause === "" || told.has(cause) || !(isLong || !wasThere)) return;
  told.add(cause);
  options.onAway({ cause, nodes });
}

/** beat says that this node lives, and takes an answer for the end of an outage. */
function beat(state: State, on: Client): void {
  const { nodesKey, node, timeoutMs } = state.options;
  state.waitingSince = performance.now();
  const answered = evaluate(on, nodesScript, nodesKey, [node, aliveMs]);
  answered.then(
    (count) => on === state.client && comeBack(state, Number(count)),
    (error: unknown) => {
      if (on !== state.client) return;
      state.waitingSince = undefined;
      fail(state, error);
      state.onTried();
    },
  );
  within(timeoutMs, answered).catch((error: unknown) => {
    if (on === state.client && error instanceof TimeoutError) fail(state, error);
  });
}

function comeBack(state: State, count: number): void {
  state.waitingSince = undefined;
  state.nodes = Math.max(1, count);
  state.wasThere = true;
  const wasAway = state.awaySince !== undefined;
  const ms = state.awaySince === undefined ? 0 : performance.now() - state.awaySince;
  state.awaySince = undefined;
  state.cause = "";
  const wasTold = state.told.size > 0;
  state.told.clear();
  state.onTried();
  if (wasTold) state.options.onBack(ms, state.nodes);
  if (wasAway) for (const listener of [...state.returns]) listener();
}

function tick(state: State): void {
  const { client, waitingSince } = state;
  if (!client) open(state);
  else if (waitingSince === undefined) beat(state, client);
  else if (performance.now() - waitingSince > Math.max(stuckMs, state.options.connectMs))
    lose(state, client, new TimeoutError());
  tellAway(state);
  arm(state);
}

function arm(state: State): void {
  clearTimeout(state.timer);
  if (!state.isClosed)
    state.timer = setTimeout(tick, state.awaySince === undefined ? beatMs : awayBeatMs, state).unref();
}

async function close(state: State): Promise<void> {
  const { client, awaySince, timer, options } = state;
  const { nodesKey, node, timeoutMs } = options;
  state.isClosed = true;
  clearTimeout(timer);
  if (client && awaySince === undefined) {
    await within(timeoutMs, evaluate(client, nodesScript, nodesKey, [node, 0])).catch(() => {});
  }
  state.client = undefined;
  client?.close();
}

/** evaluate runs a script by its sum, or by its text where Redis does not know it: it forgets scripts when it starts. */
async function evaluate(client: Client, { text, sha }: Script, key: string, args: readonly (string | number)[]) {
  const rest = ["1", key, ...args.map(String)];
  try {
    return await client.send(key, ["EVALSHA", sha, ...rest]);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith("NOSCRIPT"))) throw error;
    return client.send(key, ["EVAL", text, ...rest]);
  }
}

class TimeoutError extends Error {
  override readonly name = "TimeoutError";
}

/**
 * within rejects with a TimeoutError where a promise takes longer. An answer that has arrived counts, even if this process was too busy to
 * read it: it is read before the time-out is decided.
 */
export function within<T>(ms: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => setImmediate(() => setImmediate(reject, new TimeoutError())), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
