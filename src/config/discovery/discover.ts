/**
 * Asks upstreams which models they serve, at the start and periodically.
 *
 * An upstream that cannot be asked, or does not answer with a list, is asked again after a second, and each time after
 * twice as long. One that answered is asked again after its interval, so that new models appear and removed ones
 * vanish. The last list stays valid while an upstream is down.
 */
import { setTimeout as passed } from "node:timers/promises";
import type { Logger } from "pino";
import { hourMs } from "../../runtime/time/durations.ts";
import type { Config, ModelConfig, UpstreamConfig } from "../config.ts";
import { askForModels, type ListAnswer, type ModelList } from "./model-list.ts";
import { discoveryScopeOf, servedModels } from "./served-models.ts";

export interface Discovery {
  /** begin asks all upstreams and waits for those that serve what they list. Returns the served models. */
  begin(): Promise<readonly ModelConfig[]>;
  /** follow calls `onModels` with all served models whenever they change, and at once if they changed since `begin`. */
  follow(onModels: (models: readonly ModelConfig[]) => void): void;
  /**
   * prepare returns the models that are served by another configuration, as far as the lists of its upstreams are known, and what
   * goes by that from now on: upstreams that are new, or reached in another way, are asked at once, and `onModels` is called where
   * that changes the models.
   */
  prepare(next: Config): { readonly models: readonly ModelConfig[]; commit(): void };
  /** close stops asking and cancels all waiting. */
  close(): void;
}

export interface DiscoveryOptions {
  readonly log: Logger;
  /** isAsked is whether an upstream is asked, if discovery applies to it. Default: all are. */
  readonly isAsked?: (upstream: UpstreamConfig) => boolean;
  /** ask never throws. */
  readonly ask?: (upstream: UpstreamConfig, closing: AbortSignal) => Promise<ListAnswer>;
  /** later runs `work` after `ms` milliseconds. Returns a function that cancels it. */
  readonly later?: (work: () => void, ms: number) => () => void;
}

/**
 * intervals between questions to an upstream, in milliseconds: `well` after an answer, `failing` at most without one.
 */
const intervals = { all: { well: 60_000, failing: 30_000 }, known: { well: hourMs, failing: hourMs } };
const firstPauseMs = 1_000;
/** briefMs is how long the start waits for upstreams that keep their models without an answer. */
const briefMs = 500;

/**
 * discoverModels asks once which models the upstreams with `discover` list, and returns the configuration with them.
 * Never throws.
 */
export async function discoverModels(config: Config, log: Logger, timeout?: number): Promise<Config> {
  const isAsked = ({ discover }: UpstreamConfig) => discover === true;
  if (!config.upstreams.some(isAsked)) return config;
  const discovery = createDiscovery(config, { log, isAsked, ask: (...asked) => askForModels(...asked, timeout) });
  const models = await discovery.begin();
  discovery.close();
  return Object.freeze({ ...config, models });
}

/** Asked is an upstream that is asked, from its first question to its last. */
interface Asked {
  readonly upstream: UpstreamConfig;
  readonly which: "all" | "known";
  readonly closing: AbortController;
  /** hasAnswered is whether its address has. Until then the list that is known is that of the address before. */
  hasAnswered: boolean;
  /** cancel prevents the next question. */
  cancel: () => void;
}

type Answers = Map<string, ModelList | "down">;

interface State {
  readonly options: Required<DiscoveryOptions>;
  config: Config;
  answers: Answers;
  asking: ReadonlyMap<string, Asked>;
  served: readonly ModelConfig[];
  onChange: () => void;
}

export function createDiscovery(config: Config, given: DiscoveryOptions): Discovery {
  const options = { isAsked: () => true, ask: askForModels, later: byTimer, ...given };
  const { models } = config;
  const state: State = {
    ...{ options, config, answers: new Map(), asking: new Map(), served: models, onChange: () => {} },
  };
  let begun = models;
  return {
    async begin() {
      const asked = goBy(state, config).map((one) => ({ which: one.which, done: askOne(state, one, 0) }));
      const of = (wanted: "all" | "known") =>
        Promise.all(asked.flatMap(({ which, done }) => (which === wanted ? [done] : [])));
      await Promise.all([of("all"), asked.some(({ which }) => which === "known") && waitBriefly(of("known"))]);
      begun = state.served;
      return state.served;
    },
    follow(onModels) {
      state.onChange = () => onModels(state.served);
      if (state.served !== begun) state.onChange();
    },
    prepare(next) {
      const names = new Map(next.upstreams.map(({ name }) => [name, true]));
      const served = servedModels(next, answersOf(state.answers, names));
      return {
        models: served,
        commit() {
          state.served = served;
          for (const asked of goBy(state, next)) void askOne(state, asked, 0);
        },
      };
    },
    close() {
      for (const asked of state.asking.values()) stop(asked);
    },
  };
}

/** askOne asks an upstream and schedules the next question. `failures` is the number of consecutive failures. */
async function askOne(state: State, asked: Asked, failures: number): Promise<void> {
  const { log, ask, later } = state.options;
  const { upstream, which, closing } = asked;
  const answer = await ask(upstream, closing.signal);
  if (closing.signal.aborted) return;
  const { answers } = state;
  const before = asked.hasAnswered ? answers.get(upstream.name) : undefined;
  if (answer.kind === "list") answers.set(upstream.name, answer.list);
  else if (answer.kind === "down") answers.set(upstream.name, before ?? "down");
  else if (before === "down" || !asked.hasAnswered) answers.delete(upstream.name);
  asked.hasAnswered = true;
  const models = servedModels(state.config, answers);
  const hasChanged = JSON.stringify(models) !== JSON.stringify(state.served);
  if (hasChanged) state.served = models;
  if (answer.kind === "list" ? before === undefined || before === "down" || hasChanged : failures === 0)
    logAnswer(log, state.served, upstream, which, answer);
  if (hasChanged) state.onChange();
  const { well, failing } = intervals[which];
  const failed = answer.kind === "list" ? 0 : failures + 1;
  const pauseMs = failed === 0 ? well : Math.min(failing, firstPauseMs * 2 ** (failed - 1));
  asked.cancel = later(() => void askOne(state, asked, failed), pauseMs);
}

/** goBy asks the upstreams of the configuration, each as it is asked already, or anew. Returns those that are asked anew. */
function goBy(state: State, next: Config): readonly Asked[] {
  const before = state.asking;
  const all = next.upstreams.filter(state.options.isAsked).flatMap((upstream) => askedOf(upstream, next, before));
  state.config = next;
  state.asking = new Map(all.map((asked) => [asked.upstream.name, asked]));
  for (const asked of before.values()) if (state.asking.get(asked.upstream.name) !== asked) stop(asked);
  state.answers = answersOf(state.answers, state.asking);
  return all.filter((asked) => before.get(asked.upstream.name) !== asked);
}

/** askedOf returns how an upstream is to be asked, if it is: as it is asked already where it is reached alike. */
function askedOf(upstream: UpstreamConfig, config: Config, before: ReadonlyMap<string, Asked>): readonly Asked[] {
  const which = discoveryScopeOf(upstream, config);
  if (!which) return [];
  const known = before.get(upstream.name);
  if (known && known.which === which && isReachedAlike(known.upstream, upstream)) return [known];
  const hasAnswered = known?.upstream.base_url === upstream.base_url && known.hasAnswered;
  return [{ upstream, which, closing: new AbortController(), hasAnswered, cancel: () => {} }];
}

function stop({ closing, cancel }: Asked): void {
  closing.abort();
  cancel();
}

/** answersOf returns the answers of these upstreams. */
function answersOf(answers: Answers, upstreams: ReadonlyMap<string, unknown>): Answers {
  return new Map([...answers].filter(([name]) => upstreams.has(name)));
}

/** isReachedAlike ignores what has nothing to do with the question for models. */
function isReachedAlike(one: UpstreamConfig, other: UpstreamConfig): boolean {
  return JSON.stringify(withoutCalls(one)) === JSON.stringify(withoutCalls(other));
}

function withoutCalls({ queue: _, health_check: __, timeouts: ___, ...upstream }: UpstreamConfig) {
  return upstream;
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
