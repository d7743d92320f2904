/** Tells which Python code can run on this machine. */
import { execFileSync } from "node:child_process";

const known = new Map<string, boolean>();

/** Reports whether there is a Python with what the code imports. */
export function runsInPython(code: string): boolean {
  const modules = [...code.matchAll(/^(?:import|from) (\w+)/gm)].map(([, name]) => `import ${name}`).join("\n");
  const before = known.get(modules);
  if (before !== undefined) return before;
  let runs = true;
  try {
    execFileSync("python3", ["-c", modules], { stdio: "ignore" });
  } catch {
    runs = false;
  }
  known.set(modules, runs);
  return runs;
}
