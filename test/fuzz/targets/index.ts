/** The targets by name. A file is loaded when its target is asked for: some bring a whole gateway along. */
import { bySeed, type Target } from "../target.ts";

const targets: ReadonlyMap<string, () => Promise<Target>> = new Map([
  ["server", async () => (await import("./server.ts")).server],
  ["client", async () => (await import("./client.ts")).client],
  ["answers", async () => bySeed((await import("./answers.ts")).fuzzAnswers)],
  ["quick-check", async () => bySeed((await import("./quick-check.ts")).fuzzQuickCheck)],
]);

export const targetNames: readonly string[] = [...targets.keys()];

export async function loadTarget(name: string): Promise<Target> {
  const load = targets.get(name);
  if (!load) throw new Error(`there is no target ${name}; there are ${targetNames.join(", ")}`);
  return load();
}
