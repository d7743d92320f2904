/** Builds the API message of an upstream's state and health. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { UpstreamHealth, type UpstreamSchema } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { UpstreamStats } from "../../providers/contract.ts";
import type { Catalog, Target } from "../../targets/catalog.ts";

/** UpstreamState is an upstream's configuration with its statistics. */
export interface UpstreamState extends UpstreamStats {
  readonly name: string;
  /** kind is openai, anthropic, or embedded. */
  readonly kind: string;
  /** baseUrl is empty for the embedded models. */
  readonly baseUrl: string;
  /** models are the catalogue ids of the models that it serves. */
  readonly models: readonly string[];
  /** queued is the number of calls queued for it. */
  readonly queued: number;
  /** maxConcurrent is the most concurrent calls; undefined: no limit. */
  readonly maxConcurrent: number | undefined;
  /** resting are the models whose breaker is open, by their names at the upstream. */
  readonly resting: readonly string[];
  /** passesChecks is undefined without health checks, or before the first. */
  readonly passesChecks: boolean | undefined;
  /** isDisabled is whether it is switched off. */
  readonly isDisabled: boolean;
}

/** UpstreamMonitor reports the current state of upstreams, by their names. */
export interface UpstreamMonitor {
  stats(name: string): UpstreamStats;
  queued(name: string): number;
  maxConcurrent(name: string): number | undefined;
  /** Milliseconds until the breaker lets a probe through; 0 if closed. */
  restMs(target: Target): number;
  passesChecks(name: string): boolean | undefined;
}

interface Upstream {
  readonly name: string;
  readonly kind: string;
  readonly base_url: string;
  readonly disabled?: boolean | undefined;
}

/** upstreamStates returns the state of each upstream, in the same order. */
export function upstreamStates(
  upstreams: readonly Upstream[],
  catalog: Catalog,
  monitor: UpstreamMonitor,
): UpstreamState[] {
  return upstreams.map(({ name, kind, base_url, disabled = false }) => {
    const at = ({ upstream }: Target) => upstream === name;
    const served = catalog.list().filter(({ targets }) => targets.some(at));
    const resting = served.flatMap(({ targets }) => targets.filter((one) => at(one) && monitor.restMs(one) > 0));
    return {
      ...monitor.stats(name),
      name,
      kind,
      baseUrl: base_url,
      models: served.map(({ id }) => id),
      queued: monitor.queued(name),
      maxConcurrent: monitor.maxConcurrent(name),
      resting: [...new Set(resting.map(({ model }) => model))],
      passesChecks: monitor.passesChecks(name),
      isDisabled: disabled,
    };
  });
}

export function upstreamMessage(upstream: UpstreamState): MessageInitShape<typeof UpstreamSchema> {
  const { name, kind, baseUrl, models, attempts, failures, firstBytes, running, lastFailure } = upstream;
  const { queued, maxConcurrent, resting, passesChecks, isDisabled } = upstream;
  const [p50, p95] = [percentile(firstBytes, 0.5), percentile(firstBytes, 0.95)];
  return {
    name,
    kind,
    baseUrl,
    models: [...models],
    health: healthOf(upstream),
    attempts,
    failures,
    running,
    queued,
    disabled: isDisabled,
    resting: [...resting],
    ...(maxConcurrent === undefined ? {} : { maxConcurrent }),
    ...(passesChecks === undefined ? {} : { passesChecks }),
    ...(p50 === undefined ? {} : { firstByteP50Ms: p50 }),
    ...(p95 === undefined ? {} : { firstByteP95Ms: p95 }),
    ...(lastFailure ? { lastFailure: lastFailure.words, lastFailureAt: timestampFromMs(lastFailure.at) } : {}),
  };
}

export function healthOf({
  attempts,
  failures,
  lastFailed,
  passesChecks,
}: Pick<UpstreamState, "attempts" | "failures" | "lastFailed" | "passesChecks">): UpstreamHealth {
  if (passesChecks === false) return UpstreamHealth.FAILING;
  if (attempts === 0) return UpstreamHealth.UNKNOWN;
  if (failures * 2 > attempts && lastFailed) return UpstreamHealth.FAILING;
  return failures * 10 >= attempts ? UpstreamHealth.POOR : UpstreamHealth.GOOD;
}

/** percentile uses the nearest-rank method. */
function percentile(sorted: readonly number[], share: number): number | undefined {
  const value = sorted[Math.ceil(sorted.length * share) - 1];
  return value === undefined ? undefined : Math.round(value);
}
