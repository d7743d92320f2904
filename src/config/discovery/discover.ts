/**
 * Asks upstreams which models they serve, at the start and periodically.
 *
 * An upstream that cannot be asked, or does not answer with a list, is asked again after a second, and each time after
 * twice as long. One that answered is asked again after its interval, so that new models appear and removed ones
 * vanish. The last list stays valid while an upstream is down.
 */
import { setTimeout as passed } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config, ModelConfig, UpstreamConfig } from "../config.ts";
import { askForModels, type ListAnswer, type ModelList } from "./model-list.ts";
import { discoveryScopeOf, servedModels } from "./served-models.ts";

export interface Discovery {
  /** begin asks all upstreams and waits for those that serve what they list. Returns the served models. */
  begin(): Promise<readonly ModelConfig[]>;
  /** follow calls `onModels` with all served models whenever they change, and at once if they changed since `begin`. */
  follow(onModels: (models: readonly ModelConfig[]) => void): void;
  /** close stops asking and cancels all waiting. */
  close(): void;
}

export interface DiscoveryOptions {
  readonly log: Logger;
  /** upstreams are the upstreams to ask, if discovery applies to them. Default: all. */
  readonly upstreams?: readonly UpstreamConfig[];
  /** ask never throws. */
  readonly ask?: (upstream: UpstreamConfig, closing: AbortSignal) => Promise<ListAnswer>;
  /** later runs `work` after `ms` milliseconds. Returns a function that cancels it. */
  readonly later?: (work: () => void, ms: number) => () => void;
}

/**
 * intervals between questions to an upstream, in milliseconds: `well` after an answer, `failing` at most without one.
 */
const intervals = { all: { well: 60_000, failing: 30_000 }, known: { well: 3_600_000, failing: 3_600_000 } };
const firstPauseMs = 1_000;
/** briefMs is how long the start waits for upstreams that keep their models without an answer. */
const briefMs = 500;

/**
 * discoverModels asks once which models the upstreams with `discover` list, and returns the configuration with them.
 * Never throws.
 */
export async function discoverModels(config: Config, log: Logger, timeout?: number): Promise<Config> {
  const upstreams = config.upstreams.filter(({ discover }) => discover);
  if (upstreams.length === 0) return config;
  const discovery = createDiscovery(config, { log, upstreams, ask: (...asked) => askForModels(...asked, timeout) });
  const models = await discovery.begin();
  discovery.close();
  return Object.freeze({ ...config, models });
}

export function createDiscovery(config: Config, options: DiscoveryOptions): Discovery {
  const { log, upstreams = config.upstreams, ask = askForModels, later = byTimer } = options;
  const answers = new Map<string, ModelList | "down">();
  const waiting = new Map<string, () => void>();
  let served = config.models;
  let begun = served;
  const closing = new AbortController();
  let onChange = () => {};

  /** askOne asks an upstream and schedules the next question. `failures` is the number of consecutive failures. */
  async function askOne(upstream: UpstreamConfig, which: "all" | "known", failures: number): Promise<void> {
    const answer = await ask(upstream, closing.signal);
    if (closing.signal.aborted) return;
    const { name } = upstream;
    const before = answers.get(name);
    if (answer.kind === "list") answers.set(name, answer.list);
    else if (answer.kind === "down" && !before) answers.set(name, "down");
    else if (before === "down" && answer.kind !== "down") answers.delete(name);
    const models = servedModels(config, answers);
    const hasChanged = JSON.stringify(models) !== JSON.stringify(served);
    if (hasChanged) served = models;
    if (answer.kind === "list" ? before === undefined || before === "down" || hasChanged : failures === 0)
      logAnswer(log, served, upstream, which, answer);
    if (hasChanged) onChange();
    const { well, failing } = intervals[which];
    const failed = answer.kind === "list" ? 0 : failures + 1;
    const pauseMs = failed === 0 ? well : Math.min(failing, firstPauseMs * 2 ** (failed - 1));
    waiting.set(
      name,
      later(() => void askOne(upstream, which, failed), pauseMs),
    );
  }

  return {
    async begin() {
      const asking = upstreams.flatMap((upstream) => {
        const which = discoveryScopeOf(upstream, config);
        return which ? [{ which, done: askOne(upstream, which, 0) }] : [];
      });
      const of = (wanted: "all" | "known") =>
        Promise.all(asking.flatMap(({ which, done }) => (which === wanted ? [done] : [])));
      await Promise.all([of("all"), asking.some(({ which }) => which === "known") && waitBriefly(of("known"))]);
      begun = served;
      return served;
    },
    follow(onModels) {
      const tell = () => onModels(served);
      onChange = tell;
      if (served !== begun) tell();
    },
    close() {
      closing.abort();
      for (const prevent of waiting.values()) prevent();
    },
  };
}

function logAnswer(
  log: Logger,
  served: Config["models"],
  { name: upstream }: UpstreamConfig,
  which: "all" | "known",
  answer: ListAnswer,
): void {
  if (answer.kind === "list") {
    const models = served.filter(({ targets }) => targets.some((target) => target.upstream === upstream)).length;
    log.info({ upstream, models }, "an upstream listed its models");
    return;
  }
  const message = which === "all" && answer.kind === "down" ? isDown : doesNotTell;
  // A vendor that is only asked which of its known models it serves keeps all of them: the operator need not act.
  log[which === "all" ? "warn" : "debug"]({ upstream, cause: answer.cause, remedy: remedies[answer.kind] }, message);
}

const isDown = "an upstream cannot be asked for its models; it is asked again until it answers";
const doesNotTell = "an upstream did not list its models; it keeps those that the catalogue gives it";

const remedies = {
  down: "see that it runs, and that its address is right",
  refused: "give it the key that it wants: `api_key` in gateway.yaml, or the variable of its vendor, as OPENAI_API_KEY",
  untold: "check its address, which the path `/models` is put behind: most servers want it to end in `/v1`",
} as const;

/** waitBriefly waits for a promise, at most `briefMs`. */
async function waitBriefly(done: Promise<unknown>): Promise<void> {
  const waited = new AbortController();
  const late = passed(briefMs, undefined, { signal: waited.signal }).catch(() => {});
  await Promise.race([done, late]);
  waited.abort();
}

function byTimer(work: () => void, ms: number): () => void {
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
}
