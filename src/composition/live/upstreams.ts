/**
 * The upstreams in force: a provider for each, with its queue and its record of attempts. Where they change, a provider whose upstream is
 * reached as before stays, with its connections; another takes the place of one that is not, and the one before is closed once its last
 * call has ended. Calls keep the provider that they have found.
 */
import { enabled, type UpstreamConfig } from "../../config/config.ts";
import { embeddedUpstream } from "../../config/references.ts";
import { createEmbeddedProvider } from "../../embedded/index.ts";
import { withTokenCount } from "../../pipeline/charge/count-tokens.ts";
import type { Provider } from "../../providers/contract.ts";
import type { Health } from "../../providers/upstream/health.ts";
import type { Queues } from "../../providers/upstream/queue.ts";
import { createProvider, type ProviderParts } from "./providers.ts";

export interface Upstreams {
  /** Returns the providers in force, by the upstream's name: another map after each change. */
  providers(): ReadonlyMap<string, Provider>;
  /** Makes what differs from what is in force. Throws where a provider cannot be made; then nothing has changed. */
  prepare(next: readonly UpstreamConfig[]): PreparedUpstreams;
  /** Waits for running calls, then closes every connection, also of upstreams that are no more. */
  close(): Promise<void>;
}

export interface PreparedUpstreams {
  /** The names of upstreams that are reached in another way by now, or are new. */
  readonly changed: ReadonlySet<string>;
  /** Puts them in the place of the others. */
  commit(): void;
}

export interface UpstreamsOptions extends ProviderParts {
  readonly health: Health;
  readonly queues: Queues;
  readonly onError: (error: unknown) => void;
}

/** Served is an upstream in force. */
interface Served {
  /** madeOf is what its provider was made of, as text. */
  readonly madeOf: string;
  /** The provider by itself, and as calls are given it. */
  readonly bare: Provider;
  readonly provider: Provider;
}

export function createUpstreams(first: readonly UpstreamConfig[], options: UpstreamsOptions): Upstreams {
  const { health, queues, onError } = options;
  const closing = new Set<Promise<void>>();
  const serve = (name: string, madeOf: string, bare: Provider): Served => ({
    ...{ madeOf, bare },
    // A call that waits for a place is no attempt yet, and tokens that the gateway counts itself are none at an upstream.
    provider: withTokenCount(queues.wrap(name, health.watch(name, bare)), options.clock),
  });
  const embedded = serve(embeddedUpstream, "", createEmbeddedProvider(options));
  let served: ReadonlyMap<string, Served> = new Map();
  let providers: ReadonlyMap<string, Provider> = new Map();

  function close({ bare }: Served): void {
    const closed = bare.close().catch(onError);
    closing.add(closed);
    void closed.finally(() => closing.delete(closed));
  }

  function prepare(next: readonly UpstreamConfig[]): PreparedUpstreams {
    const made = enabled(next)
      .map((upstream) => {
        const { name } = upstream;
        const madeOf = textOf(upstream);
        const before = served.get(name);
        return { name, madeOf, before: before?.madeOf === madeOf ? before : undefined, upstream };
      })
      .map(({ upstream, ...one }) => ({ ...one, bare: one.before?.bare ?? createProvider(upstream, options) }));
    return {
      changed: new Set(made.flatMap(({ name, before }) => (before ? [] : [name]))),
      commit() {
        const before = served;
        queues.replace(next);
        served = new Map(made.map((one) => [one.name, one.before ?? serve(one.name, one.madeOf, one.bare)]));
        providers = providersOf([...served, [embeddedUpstream, embedded]]);
        for (const [name, one] of before) {
          if (served.get(name) !== one) close(one);
          if (!served.has(name)) health.forget(name);
        }
      },
    };
  }

  prepare(first).commit();
  return {
    providers: () => providers,
    prepare,
    async close() {
      const all = [...served.values(), embedded].map(({ bare }) => bare.close());
      await Promise.all([...all, ...closing]);
    },
  };
}

function providersOf(served: readonly (readonly [string, Served])[]): ReadonlyMap<string, Provider> {
  return new Map(served.map(([name, { provider }]) => [name, provider]));
}

/** textOf returns what of an upstream its provider, and its place behind a queue, are made of. Its other settings change without it. */
function textOf({ health_check: _, discover: __, regional: ___, queue, ...upstream }: UpstreamConfig): string {
  return JSON.stringify([upstream, queue !== undefined, queue?.shared]);
}
