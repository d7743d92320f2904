/**
 * Unserved remembers the operations that a target's server turned out not to serve, though its profile names them. They are
 * forgotten after a while, so that the server is asked again.
 */
export interface Unserved {
  has(operation: string): boolean;
  note(operation: string): void;
}

const rememberedMs = 600_000;

/** createUnserved remembers the operations that a target turned out not to serve. `clock` returns milliseconds since 1970. */
export function createUnserved(clock: () => number): Unserved {
  const until = new Map<string, number>();
  return {
    has: (operation) => (until.get(operation) ?? 0) > clock(),
    note: (operation) => void until.set(operation, clock() + rememberedMs),
  };
}
