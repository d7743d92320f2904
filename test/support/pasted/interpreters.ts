/**
 * Interpreters that run what pages show, one block after another: a process of Python or of Node takes a second of a core to load what
 * most blocks import, and here it is loaded once.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";

/** Code, with the environment and the folder that it runs in. */
export interface Pasted {
  readonly code: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

export interface PastedOutput {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Interpreters {
  /** Runs a block, and returns what it printed. Rejects with what it complained of where it fails. One block runs at a time. */
  run(language: "python" | "ts", pasted: Pasted): Promise<string>;
  close(): Promise<void>;
}

const programs = {
  python: ["python3", join(import.meta.dirname, "python-host.py")],
  ts: [process.execPath, join(import.meta.dirname, "node-host.ts")],
} as const;

interface Interpreter {
  readonly child: ChildProcess;
  readonly lines: AsyncIterator<string>;
}

export function openInterpreters(): Interpreters {
  const started = new Map<string, Interpreter>();
  function start(language: keyof typeof programs): Interpreter {
    const [program, file] = programs[language];
    const child = spawn(program, [file], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
    const interpreter = { child, lines };
    started.set(language, interpreter);
    return interpreter;
  }
  return {
    async run(language, pasted) {
      const { child, lines } = started.get(language) ?? start(language);
      child.stdin?.write(`${JSON.stringify(pasted)}\n`);
      const { value, done } = await lines.next();
      if (done) {
        started.delete(language);
        throw new Error(`what runs ${language} has ended amid:\n${pasted.code}`);
      }
      const { code, stdout, stderr } = JSON.parse(value) as PastedOutput;
      if (code !== 0) throw new Error(`it ended with ${code}:\n${stderr}`);
      return stdout;
    },
    async close() {
      for (const { child } of started.values()) {
        const ended = child.exitCode === null && child.signalCode === null ? once(child, "exit") : undefined;
        child.stdin?.end();
        await ended;
      }
      started.clear();
    },
  };
}
