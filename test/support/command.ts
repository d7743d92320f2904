/**
 * The command line as people run it: real processes, with an environment of their own. In a run of the tests they are of the bundled
 * gateway, which starts in a third of the time (`run/bundle-gateway.ts`); those of `systemNode` and `bin` are as in a clone.
 */
import { type ChildProcess, fork, type SpawnOptions, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { environment } from "./environment.ts";

export const root = join(import.meta.dirname, "../..");
export const bin = join(root, "bin/model-gateway.js");

/** systemPath is what is searched for programs when nothing of this project has been put in front. */
const systemPath = (process.env.PATH ?? "")
  .split(delimiter)
  .filter((folder) => !folder.includes("node_modules"))
  .join(delimiter);

/** The Node that a user's shell finds: often older than the one that the project pins. */
export const systemNode =
  systemPath
    .split(delimiter)
    .map((folder) => join(folder, "node"))
    .find(existsSync) ?? process.execPath;

/** The program that starts the gateway, and what it is given first: bundled, or from source where nothing was bundled, as out of a test. */
const { TEST_BUNDLE: bundle } = process.env;
export const starter = bundle === undefined ? bin : join(bundle, "bin/model-gateway.js");
const node = bundle === undefined ? systemNode : process.execPath;
/** program is what `starter` becomes. What ends by itself is started so: it begins one process less. */
const program = bundle === undefined ? bin : join(bundle, "dist/server/main.js");

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type Variables = Readonly<Record<string, string | undefined>>;

/** Runs a program to its end. */
export async function run(
  program: string,
  args: readonly string[],
  env: Variables,
  options: SpawnOptions = {},
): Promise<Ended> {
  return new Running(program, args, env, options).ended;
}

/** Runs `model-gateway` to its end. */
export function modelGateway(args: readonly string[], env: Variables, options?: SpawnOptions): Promise<Ended> {
  return run(node, [program, ...args], env, options);
}

export interface Commands {
  /** Runs `model-gateway` to its end. One that is asked for meanwhile comes after it. */
  run(args: readonly string[], env: Variables): Promise<Ended>;
  close(): Promise<void>;
}

/** Starts a process that runs many commands one after another: for tables of them, where what counts is what each says. */
export function startCommands(): Commands {
  const child = fork(join(import.meta.dirname, "command-host.ts"), {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const waiting: PromiseWithResolvers<Ended>[] = [];
  child.on("message", (ended: Ended) => waiting.shift()?.resolve(ended));
  child.once("exit", () => {
    for (const { reject } of waiting) reject(new Error("the process of the commands has ended"));
  });
  return {
    run(args, env) {
      const ended = Promise.withResolvers<Ended>();
      waiting.push(ended);
      const whole = { PATH: systemPath, HOME: process.env.HOME, ...environment, METRICS_PORT: "0", ...env };
      child.send({ args, env: whole });
      return ended.promise;
    },
    async close() {
      const ended = once(child, "exit");
      child.disconnect();
      await ended;
    },
  };
}

/** A program that goes on until it is asked to stop. */
export class Running {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = "";
  stderr = "";

  constructor(program: string, args: readonly string[], env: Variables, options: SpawnOptions = {}) {
    this.child = spawn(program, args, {
      cwd: root,
      // Several run at once: each has its metrics at a free port.
      env: { PATH: systemPath, HOME: process.env.HOME, ...environment, METRICS_PORT: "0", ...env } as NodeJS.ProcessEnv,
      stdio: ["ignore", "pipe", "pipe"],
      ...options,
    });
    this.child.stdout?.setEncoding("utf8").on("data", (text: string) => (this.stdout += text));
    this.child.stderr?.setEncoding("utf8").on("data", (text: string) => (this.stderr += text));
    this.ended = once(this.child, "close").then(([code, signal]) => {
      const { stdout, stderr } = this;
      return { code: code as number | null, signal: signal as NodeJS.Signals | null, stdout, stderr };
    });
  }

  /** Resolves with the first match on standard output. Rejects when the program ends before. */
  async shows(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.stdout);
      if (match) return match;
      const { stdout } = this.child;
      const more = stdout ? once(stdout, "data") : this.ended;
      const what = await Promise.race([more.then(() => "more"), this.ended.then(() => "ended")]);
      if (what === "ended" && !pattern.test(this.stdout)) {
        throw new Error(`ended without ${pattern}:\n${this.stdout}\n${this.stderr}`);
      }
    }
  }

  /** Sends the signal, and resolves when the program has ended. */
  stop(signal: NodeJS.Signals = "SIGTERM"): Promise<Ended> {
    if (this.isAlive()) this.child.kill(signal);
    return this.ended;
  }

  isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }
}

/** Starts `model-gateway serve` on a free port, and resolves with its address. */
export async function startServer(
  args: readonly string[],
  env: Variables,
): Promise<{ server: Running; rootUrl: string }> {
  const server = new Running(node, [starter, "serve", ...args], { PORT: "0", ...env });
  const [, rootUrl = ""] = await server.shows(/serves at (\S+)/);
  return { server, rootUrl };
}

/** A folder of its own, gone afterwards. */
export async function temporaryFolder(): Promise<{ path: string; remove: () => Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), "gateway-test-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Asks for a short chat answer, and returns the status. */
export async function chatStatus(rootUrl: string, apiKey: string, model = "embedded-chat"): Promise<number> {
  const response = await fetch(`${rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model, max_tokens: 2, messages: [{ role: "user", content: "Hi" }] }),
  });
  await response.arrayBuffer();
  return response.status;
}
