/** Starts the health checks of the upstreams that are to be checked. */
import { faultOf } from "../providers/errors/fault.ts";
import { type Checked, type HealthChecks, startHealthChecks } from "../targets/health-checks.ts";
import type { Parts, Shared } from "./parts.ts";

export function startChecks({ config, log, random }: Parts, { providers, targets }: Shared): HealthChecks {
  const checked = config.upstreams.flatMap(({ name, health_check }): readonly Checked[] => {
    const check = providers.get(name)?.check;
    if (!health_check || !check) return [];
    const { path, interval_seconds, failures } = health_check;
    const ask = (signal: AbortSignal) => check(path, signal);
    return [{ upstream: name, intervalMs: interval_seconds * 1000, failures, ask }];
  });
  const onChanged = (upstream: string, isUp: boolean, error?: unknown) => {
    if (isUp) log.info({ upstream }, "the upstream passes its health checks again");
    else log.warn({ upstream, failure: faultOf(error) ?? silent }, "the upstream fails its health checks");
  };
  return startHealthChecks(checked, { targets, random, onChanged });
}

/** A check that was given up tells nothing else. */
const silent = "it did not answer in time";
