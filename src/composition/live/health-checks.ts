/** Checks the health of the upstreams that are to be checked. */
import type { Config } from "../../config/config.ts";
import type { Provider } from "../../providers/contract.ts";
import { faultOf } from "../../providers/errors/fault.ts";
import { type Checked, type HealthChecks, startHealthChecks } from "../../targets/health-checks.ts";
import type { Parts, Shared } from "../parts.ts";

export function startChecks({ live, log, random }: Parts, { upstreams, targets }: Shared): HealthChecks {
  const onChanged = (upstream: string, isUp: boolean, error?: unknown) => {
    if (isUp) log.info({ upstream }, "the upstream passes its health checks again");
    else log.warn({ upstream, failure: faultOf(error) ?? silent }, "the upstream fails its health checks");
  };
  const checks = startHealthChecks({ targets, random, onChanged });
  checks.replace(checkedUpstreams(live.current(), upstreams.providers()));
  return checks;
}

/** checkedUpstreams returns the upstreams that are to be checked, and how. */
export function checkedUpstreams(
  { upstreams }: Pick<Config, "upstreams">,
  providers: ReadonlyMap<string, Provider>,
): readonly Checked[] {
  return upstreams.flatMap(({ name, health_check }): readonly Checked[] => {
    const check = providers.get(name)?.check;
    if (!health_check || !check) return [];
    const { path, interval_seconds, failures } = health_check;
    return [{ upstream: name, intervalMs: interval_seconds * 1000, failures, path, check }];
  });
}

/** A check that was given up tells nothing else. */
const silent = "it did not answer in time";
