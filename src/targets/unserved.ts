/** Which operations a target's server turned out not to have, though its profile says so. It is asked again after a while. */
export interface Unserved {
  has(operation: string): boolean;
  note(operation: string): void;
}

const rememberedMs = 600_000;

/** `clock` returns milliseconds since 1970. */
export function createUnserved(clock: () => number): Unserved {
  const until = new Map<string, number>();
  return {
    has: (operation) => (until.get(operation) ?? 0) > clock(),
    note: (operation) => void until.set(operation, clock() + rememberedMs),
  };
}
