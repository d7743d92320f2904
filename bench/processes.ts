/**
 * The programs that take part: started on their core, measured by the kernel's own accounts, and ended by their id,
 * whichever way the bench ends.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** The core of what is measured, and the one of all else. */
export const targetCore = 0;
export const otherCore = 1;

export interface Program {
  /** Nanoseconds of CPU that it has used, with all its threads and children. */
  cpu(): number;
  /** Bytes of memory, each page shared with others by its part. */
  memory(): number;
  /** Has it stand still with all its threads, or go on. */
  pause(): void;
  resume(): void;
  /** Ends it, and resolves when it is gone. */
  stop(): Promise<void>;
}

export interface ProgramInit {
  readonly command: readonly [string, ...string[]];
  readonly core: number;
  /** It has started once something listens here. */
  readonly port: number;
  /** Where what it says is kept. */
  readonly log: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

const alive = new Set<ChildProcess>();
let isOver = false;

/** Ends what still runs: for the end of the bench, however it comes. */
export async function stopAll(): Promise<void> {
  isOver = true;
  await Promise.all([...alive].map(stopChild));
}

/** Why programs are not held to cores of their own; undefined where they are. */
export const unpinned = ((): string | undefined => {
  if (availableParallelism() < 2) return "the machine has one core";
  return has("taskset") ? undefined : "there is no taskset (`apt-get install util-linux`)";
})();

/** Whether a program is installed. */
export function has(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `PATH="$PATH:/usr/sbin:/sbin" command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** Holds the bench itself, which is a part of the load, to the core of the load. */
export function pinSelf(): void {
  if (!unpinned) execFileSync("taskset", ["-acp", String(otherCore), String(process.pid)], { stdio: "ignore" });
}

/**
 * Begins to watch the machine. What it returns tells which part of all cores' time has been used by others since: by other
 * machines on the same host.
 */
export function watchStolen(): () => number {
  const read = () => {
    const [, ...ticks] = (/^cpu +(.*)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[0] ?? "").split(/ +/).map(Number);
    return { stolen: ticks[7] ?? 0, all: ticks.slice(0, 8).reduce((total, count) => total + count, 0) };
  };
  const before = read();
  return () => {
    const { stolen, all } = read();
    return (stolen - before.stolen) / Math.max(1, all - before.all);
  };
}

/** How many files a program may have open: a socket is one. */
export function openFiles(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max open files +\S+ +(\d+)/m.exec(limits)?.[1] ?? Number.MAX_SAFE_INTEGER);
}

/** Starts a program on a core, with as many open files as it may have. */
export function launch(command: readonly string[], core: number, env = {}, options = {}): ChildProcess {
  if (isOver) throw new Error("the bench is over");
  const pinned = unpinned ? command : ["taskset", "-c", String(core), ...command];
  const child = spawn("sh", ["-c", 'ulimit -n "$(ulimit -Hn)"; exec "$@"', "sh", ...pinned], {
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: process.env.HOME, ...env },
    ...options,
  });
  alive.add(child);
  child.once("exit", () => alive.delete(child));
  return child;
}

/** Starts a server, and resolves when it listens. */
export async function start({ command, core, port, log, env, cwd }: ProgramInit): Promise<Program> {
  const output = openSync(log, "a");
  const child = launch(command, core, env, { stdio: ["ignore", output, output], ...(cwd ? { cwd } : {}) });
  closeSync(output);
  while (!(await listens(port))) {
    if (child.exitCode !== null) {
      throw new Error(`${command.join(" ")} ended before it listened:\n${readFileSync(log, "utf8").slice(-2000)}`);
    }
    await sleep(20);
  }
  const pids = [child.pid as number, ...childrenOf(child.pid as number)];
  return {
    cpu: () => sum(pids, cpuOf),
    memory: () => sum(pids, memoryOf),
    pause: () => signalAll(pids, "SIGSTOP"),
    resume: () => signalAll(pids, "SIGCONT"),
    stop: () => stopChild(child),
  };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGTERM");
  // Who stands still takes no signal.
  signalAll([child.pid as number, ...childrenOf(child.pid as number)], "SIGCONT");
  const hard = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(hard);
}

function signalAll(pids: readonly number[], signal: "SIGSTOP" | "SIGCONT"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has just ended: whoever asks it next says so.
    }
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const answer = (yes: boolean) => {
      socket.destroy();
      resolve(yes);
    };
    socket.once("connect", () => answer(true)).once("error", () => answer(false));
  });
}

function childrenOf(parent: number): number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const [, ppid] = statOf(pid) ?? [];
    return Number(ppid) === parent;
  });
}

/** The fields of /proc/PID/stat from the state on: names of programs may hold anything. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined; // It has just ended.
  }
}

const nanosecondsPerTick = 1e9 / 100;

/** By the scheduler's nanoseconds where the kernel tells them, else by ticks of a hundredth of a second. */
function cpuOf(pid: number): number {
  try {
    const threads = readdirSync(`/proc/${pid}/task`);
    return sum(threads, (id) => Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, "utf8").split(" ")[0]));
  } catch {
    const stat = statOf(pid) ?? [];
    return (Number(stat[11]) + Number(stat[12])) * nanosecondsPerTick;
  }
}

function memoryOf(pid: number): number {
  try {
    return kilobytes(`/proc/${pid}/smaps_rollup`, "Pss");
  } catch {
    return kilobytes(`/proc/${pid}/status`, "VmRSS");
  }
}

function kilobytes(file: string, name: string): number {
  return Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(readFileSync(file, "utf8"))?.[1]) * 1024;
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
