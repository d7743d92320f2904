/**
 * Applies another configuration to a gateway that serves: the list of everything that has a state of its own and goes by the
 * configuration. All else reads what it goes by when it uses it (`LiveConfig.current`), and needs no word.
 *
 * Whatever can fail is made before anything changes, and everything changes in one step of the event loop: a call that runs goes on by
 * what it has found, and the next one finds the new.
 */
import type { Config } from "../../config/config.ts";
import type { HealthChecks } from "../../targets/health-checks.ts";
import { withEmbedded } from "../embedded-models.ts";
import { catalogOptions, type Parts, type Shared } from "../parts.ts";
import type { Retention } from "../retention.ts";
import { checkedUpstreams } from "./health-checks.ts";

export interface Applied {
  readonly checks: HealthChecks;
  /** retention is undefined where another process sees to it. */
  readonly retention: Pick<Retention, "run"> | undefined;
}

/** applyConfig follows the configuration in force. Returns what ends that. */
export function applyConfig({ live }: Pick<Parts, "live">, shared: Shared, { checks, retention }: Applied): () => void {
  const { upstreams, catalog } = shared;
  return live.onChange((next: Config, before: Config) => {
    const prepared = upstreams.prepare(next.upstreams);
    const replaceModels = catalog.prepare(withEmbedded(next), catalogOptions(next), prepared.changed);
    return () => {
      prepared.commit();
      replaceModels();
      checks.replace(checkedUpstreams(next, upstreams.providers()));
      if (next.retention !== before.retention) void retention?.run();
    };
  });
}
