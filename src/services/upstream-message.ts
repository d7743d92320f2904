/** How an upstream fares, as messages tell of it. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { UpstreamHealth, type UpstreamSchema } from "../../gen/modelgateway/v1/operator_pb.ts";
import type { Catalog } from "../catalog.ts";

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
export interface UpstreamStanding extends Fared {
  readonly name: string;
  /** openai, anthropic, or embedded. */
  readonly kind: string;
  /** Empty for the embedded models. */
  readonly baseUrl: string;
  /** The ids of the models that are served from it. */
  readonly models: readonly string[];
}

interface Upstream {
  readonly name: string;
  readonly kind: string;
  readonly base_url: string;
}

/** Returns how these upstreams fare, in their order. */
export function standingsOf(
  upstreams: readonly Upstream[],
  catalog: Catalog,
  fared: (name: string) => Fared,
): UpstreamStanding[] {
  return upstreams.map(({ name, kind, base_url }) => {
    const served = catalog.list().filter(({ targets }) => targets.some(({ upstream }) => upstream === name));
    return { name, kind, baseUrl: base_url, models: served.map(({ id }) => id), ...fared(name) };
  });
}

export function upstreamMessage(upstream: UpstreamStanding): MessageInitShape<typeof UpstreamSchema> {
  const { name, kind, baseUrl, models, attempts, failures, firstBytes, running, lastFailure } = upstream;
  const [p50, p95] = [percentile(firstBytes, 0.5), percentile(firstBytes, 0.95)];
  return {
    ...{ name, kind, baseUrl, models: [...models], health: healthOf(upstream), attempts, failures, running },
    ...(p50 === undefined ? {} : { firstByteP50Ms: p50 }),
    ...(p95 === undefined ? {} : { firstByteP95Ms: p95 }),
    ...(lastFailure ? { lastFailure: lastFailure.words, lastFailureAt: timestampFromMs(lastFailure.at) } : {}),
  };
}

export function healthOf({
  attempts,
  failures,
  lastFailed,
}: Pick<UpstreamStanding, "attempts" | "failures" | "lastFailed">): UpstreamHealth {
  if (attempts === 0) return UpstreamHealth.UNKNOWN;
  if (failures * 2 > attempts && lastFailed) return UpstreamHealth.FAILING;
  return failures * 10 >= attempts ? UpstreamHealth.POOR : UpstreamHealth.GOOD;
}

/** By the nearest rank. */
function percentile(sorted: readonly number[], share: number): number | undefined {
  const value = sorted[Math.ceil(sorted.length * share) - 1];
  return value === undefined ? undefined : Math.round(value);
}
