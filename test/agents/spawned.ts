/** Runs an agent's program to its end, with no input, nothing of this process's environment but the path, and nobody to call but here. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname, join } from "node:path";

export interface Ran {
  /** Null where it was ended for taking too long. */
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
  /** When it was started, by `performance.now()`. */
  readonly startedAt: number;
  readonly tookMs: number;
}

export interface Program {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
}

const longestMs = 120_000;

/** Nobody listens at this address: who insists on another host than this one fails at once, and is seen to. */
const nowhere = "http://127.0.0.1:9";

export async function runProgram({ file, args, cwd, home, env }: Program): Promise<Ran> {
  const interpreter = interpreterOf(file);
  const node = dirname(process.execPath);
  const startedAt = performance.now();
  const child = spawn(interpreter ?? file, [...(interpreter ? [file] : []), ...args], {
    cwd,
    env: {
      ...{ HOME: home, PATH: `${node}:${process.env.PATH}`, LANG: "C.UTF-8", TERM: "dumb", NO_COLOR: "1", CI: "1" },
      ...{ HTTP_PROXY: nowhere, HTTPS_PROXY: nowhere, NO_PROXY: "127.0.0.1,localhost" },
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, which is ended with all that it has started.
    detached: true,
  });
  const [output, errors]: [Buffer[], Buffer[]] = [[], []];
  child.stdout.on("data", (piece: Buffer) => void output.push(piece));
  child.stderr.on("data", (piece: Buffer) => void errors.push(piece));
  const endGroup = () => endAll(child.pid);
  const timer = setTimeout(endGroup, longestMs);
  const [code] = (await once(child, "exit")) as [number | null];
  clearTimeout(timer);
  endGroup();
  const tookMs = performance.now() - startedAt;
  const text = (pieces: readonly Buffer[]) => Buffer.concat(pieces).toString();
  return { code, output: text(output), errors: text(errors), startedAt, tookMs };
}

/** Returns what runs a script; undefined where the file runs by itself. Python's stands in the venv that the script lies in. */
function interpreterOf(file: string): string | undefined {
  if (file.endsWith(".mjs")) return process.execPath;
  return file.endsWith(".py") ? join(dirname(file), "bin/python") : undefined;
}

function endAll(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of the group have ended.
  }
}
