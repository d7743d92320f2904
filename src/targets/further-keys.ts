/**
 * FurtherKeys remembers of a target what its server has refused of an API key's requests because it does not know it. That is forgotten
 * after a while, so that the server is asked again. Each API key has its own: what one client sends changes nothing for others.
 */
import type { Form } from "../call/operations.ts";
import type { RefusedForms, RefusedMember } from "../call/request/refused-members.ts";

export interface FurtherKeys {
  /** Returns what was refused; undefined where nothing was. */
  refused(keyId: string): RefusedKeys | undefined;
  note(keyId: string, refused: RefusedKeys): void;
}

export interface RefusedKeys {
  /** forms are those of chats for which the server has another fitter. */
  readonly forms: RefusedForms;
  /** members are those that were refused by name. */
  readonly members: readonly RefusedMember[];
  /** betas are values of `anthropic-beta`. */
  readonly betas: readonly string[];
  /** asked is the form of the answer that is asked for, where the other was refused: a stream, or the whole of it. */
  readonly asked?: Form | undefined;
}

const rememberedMs = 600_000;

interface Noted {
  readonly refused: RefusedKeys;
  readonly until: number;
}

/** createFurtherKeys remembers what a target has refused of requests. `clock` returns milliseconds since 1970. */
export function createFurtherKeys(clock: () => number): FurtherKeys {
  const noted = new Map<string, Noted>();
  return {
    refused(keyId) {
      if (noted.size === 0) return undefined;
      const { refused, until = 0 } = noted.get(keyId) ?? {};
      return until > clock() ? refused : undefined;
    },
    note(keyId, refused) {
      const now = clock();
      for (const [id, { until }] of noted) if (until <= now) noted.delete(id);
      noted.set(keyId, { refused, until: now + rememberedMs });
    },
  };
}
