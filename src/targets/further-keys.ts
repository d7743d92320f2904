/**
 * FurtherKeys remembers of a target from which API keys' requests its server has refused members that OpenAI's API does not have, and
 * where they stood. That is forgotten after a while, so that the server is asked again. Each API key has its own: what one client sends
 * changes nothing for others.
 */
export interface FurtherKeys {
  /** Returns where the members stood that were refused; undefined where none were. */
  refused(keyId: string): RefusedPlace | undefined;
  note(keyId: string, place: RefusedPlace): void;
}

/** RefusedPlace is where refused members stood: in messages and tools alone, or in the request itself, too. */
export type RefusedPlace = "messages" | "request";

const rememberedMs = 600_000;

interface Noted {
  readonly place: RefusedPlace;
  readonly until: number;
}

/** `clock` returns milliseconds since 1970. */
export function createFurtherKeys(clock: () => number): FurtherKeys {
  const noted = new Map<string, Noted>();
  return {
    refused(keyId) {
      if (noted.size === 0) return undefined;
      const { place, until = 0 } = noted.get(keyId) ?? {};
      return until > clock() ? place : undefined;
    },
    note(keyId, place) {
      const now = clock();
      for (const [id, { until }] of noted) if (until <= now) noted.delete(id);
      noted.set(keyId, { place, until: now + rememberedMs });
    },
  };
}
