/**
 * Asks upstreams which models they serve: at the start, and again for as long as the gateway runs.
 *
 * One that cannot be asked, or does not tell, is asked again: after a second, and each time after twice as long. One that has
 * told is asked again after its interval, so that models which it has no more vanish, and new ones appear. What it told last
 * stands until it tells something else: that it goes down changes nothing.
 */
import { setTimeout as passed } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config, ModelConfig, UpstreamConfig } from "./config.ts";
import { askForModels, type ListAnswer, type ModelList } from "./model-list.ts";
import { askedFor, servedModels } from "./served-models.ts";

export interface Discovery {
  /** Asks all upstreams, and waits for those that serve what they list. Returns the models that are served then. */
  begin(): Promise<readonly ModelConfig[]>;
  /** Tells of all models that are served whenever they change from now on, and of what has changed since `begin`. */
  follow(onModels: (models: readonly ModelConfig[]) => void): void;
  /** Asks no more, and waits for nothing. */
  close(): void;
}

export interface DiscoveryOptions {
  readonly log: Logger;
  /** Which upstreams are asked, so far as they are to be. Default: all. */
  readonly upstreams?: readonly UpstreamConfig[];
  /** Never throws. */
  readonly ask?: (upstream: UpstreamConfig, closing: AbortSignal) => Promise<ListAnswer>;
  /** Does work after so many milliseconds. Returns what prevents it. */
  readonly later?: (work: () => void, ms: number) => () => void;
}

/** How often an upstream is asked, in milliseconds: where it answers, and at most where it does not. */
const intervals = { all: { well: 60_000, failing: 30_000 }, known: { well: 3_600_000, failing: 3_600_000 } };
const firstPauseMs = 1_000;
/** How long the start waits for upstreams that keep their models where they do not tell. */
const briefMs = 500;

/** Asks once which models the upstreams to be discovered list, and returns the configuration with them. Never throws. */
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
  const told = new Map<string, ModelList | "down">();
  const waiting = new Map<string, () => void>();
  let served = config.models;
  let begun = served;
  const closing = new AbortController();
  let onChange = () => {};

  /** Asks an upstream, and has it asked again. `failures` is how often in a row it did not tell. */
  async function askOne(upstream: UpstreamConfig, which: "all" | "known", failures: number): Promise<void> {
    const answer = await ask(upstream, closing.signal);
    if (closing.signal.aborted) return;
    const { name } = upstream;
    const before = told.get(name);
    if (answer.kind === "list") told.set(name, answer.list);
    else if (answer.kind === "down" && !before) told.set(name, "down");
    else if (before === "down" && answer.kind !== "down") told.delete(name);
    const models = servedModels(config, told);
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
        const which = askedFor(upstream, config);
        return which ? [{ which, done: askOne(upstream, which, 0) }] : [];
      });
      const of = (wanted: "all" | "known") =>
        Promise.all(asking.flatMap(({ which, done }) => (which === wanted ? [done] : [])));
      await Promise.all([of("all"), asking.some(({ which }) => which === "known") && brief(of("known"))]);
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
    log.info({ upstream, models }, "asked an upstream which models it serves");
    return;
  }
  const message = which === "all" && answer.kind === "down" ? isDown : doesNotTell;
  // A vendor that is only asked which of its known models it has keeps all of them: the operator need not act.
  log[which === "all" ? "warn" : "debug"]({ upstream, cause: answer.cause, remedy: remedies[answer.kind] }, message);
}

const isDown = "an upstream cannot be asked which models it serves; it is asked again until it answers";
const doesNotTell = "an upstream did not tell which models it serves; it keeps those that the catalogue gives it";

const remedies = {
  down: "see that it runs, and that its address is right",
  refused: "give it the key that it wants: `api_key` in gateway.yaml, or the variable of its vendor, as OPENAI_API_KEY",
  untold: "check its address, which the path `/models` is put behind: most servers want it to end in `/v1`",
} as const;

/** Waits for something, but not for long. */
async function brief(done: Promise<unknown>): Promise<void> {
  const waited = new AbortController();
  const late = passed(briefMs, undefined, { signal: waited.signal }).catch(() => {});
  await Promise.race([done, late]);
  waited.abort();
}

function byTimer(work: () => void, ms: number): () => void {
  const timer = setTimeout(work, ms).unref();
  return () => clearTimeout(timer);
}
