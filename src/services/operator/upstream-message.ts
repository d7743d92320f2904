/** How an upstream fares, as messages tell of it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { UpstreamHealth, type UpstreamSchema } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { Catalog, Target } from "../../targets/catalog.ts";

/** How an upstream fared over the last while. */
export interface Fared {
  readonly attempts: number;
  readonly failures: number;
  readonly lastFailed: boolean;
  /** How long the first byte took, in milliseconds, the shortest first. */
  readonly firstBytes: readonly number[];
  readonly running: number;
  readonly lastFailure: { readonly words: string; readonly at: number } | undefined;
}

/** An upstream, and how it fared. */
export interface UpstreamState extends Fared {
  readonly name: string;
  /** openai, anthropic, or embedded. */
  readonly kind: string;
  /** Empty for the embedded models. */
  readonly baseUrl: string;
  /** The ids of the models that are served from it. */
  readonly models: readonly string[];
  /** How many calls wait for a place at it. */
  readonly queued: number;
  /** How many it may have at a time; undefined: as many as come. */
  readonly maxConcurrent: number | undefined;
  /** Those of its models that are left alone at the moment, by their names there. */
  readonly resting: readonly string[];
  /** Undefined where it is not checked, or was not yet. */
  readonly passesChecks: boolean | undefined;
}

/** What is known of upstreams at this moment, by their names. */
export interface Seen {
  fared(name: string): Fared;
  queued(name: string): number;
  maxConcurrent(name: string): number | undefined;
  /** For how long a target is left alone yet, in milliseconds; 0 where it is not. */
  restMs(target: Target): number;
  passesChecks(name: string): boolean | undefined;
}

interface Upstream {
  readonly name: string;
  readonly kind: string;
  readonly base_url: string;
}

/** Returns how these upstreams fare, in their order. */
export function upstreamStates(upstreams: readonly Upstream[], catalog: Catalog, seen: Seen): UpstreamState[] {
  return upstreams.map(({ name, kind, base_url }) => {
    const at = ({ upstream }: Target) => upstream === name;
    const served = catalog.list().filter(({ targets }) => targets.some(at));
    const resting = served.flatMap(({ targets }) => targets.filter((one) => at(one) && seen.restMs(one) > 0));
    return {
      ...seen.fared(name),
      name,
      kind,
      baseUrl: base_url,
      models: served.map(({ id }) => id),
      queued: seen.queued(name),
      maxConcurrent: seen.maxConcurrent(name),
      resting: [...new Set(resting.map(({ model }) => model))],
      passesChecks: seen.passesChecks(name),
    };
  });
}

export function upstreamMessage(upstream: UpstreamState): MessageInitShape<typeof UpstreamSchema> {
  const { name, kind, baseUrl, models, attempts, failures, firstBytes, running, lastFailure } = upstream;
  const { queued, maxConcurrent, resting, passesChecks } = upstream;
  const [p50, p95] = [percentile(firstBytes, 0.5), percentile(firstBytes, 0.95)];
  return {
    ...{ name, kind, baseUrl, models: [...models], health: healthOf(upstream), attempts, failures, running, queued },
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

/** By the nearest rank. */
function percentile(sorted: readonly number[], share: number): number | undefined {
  const value = sorted[Math.ceil(sorted.length * share) - 1];
  return value === undefined ? undefined : Math.round(value);
}
