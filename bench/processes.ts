/**
 * Starts programs on their cores, measures them by the kernel's accounting, and stops them by their id, however the
 * bench ends.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { availableParallelism } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

/** targetCore is the core of the measured program; the other core is for everything else. */
export const targetCore = 0;
export const otherCore = 1;

export interface Program {
  /** cpu returns the nanoseconds of CPU used by all its threads and children. */
  cpu(): number;
  /** cpus returns the same of each process, by its id. */
  cpus(): ReadonlyMap<number, number>;
  /** memory returns the memory in bytes; shared pages count in part (PSS). */
  memory(): number;
  /** pause stops all its threads until `resume`. */
  pause(): void;
  resume(): void;
  /** stop ends it, and resolves when it is gone. */
  stop(): Promise<void>;
}

export interface ProgramInit {
  readonly command: readonly [string, ...string[]];
  readonly core: number;
  /** port is where it listens once it has started. */
  readonly port: number;
  /** isReady is whether it serves; that it listens is enough where it is omitted. */
  readonly isReady?: () => Promise<boolean>;
  /** log is the file of its output. */
  readonly log: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** user is who runs it, where that is not who runs the bench. */
  readonly user?: { readonly uid?: number; readonly gid?: number };
  /** stopSignal ends it; SIGTERM where it is omitted. */
  readonly stopSignal?: NodeJS.Signals;
}

/** alive are the programs that run, with the signals that stop them. */
const alive = new Map<ChildProcess, NodeJS.Signals>();
let isOver = false;

/** stopAll stops all running programs, however the bench ends. */
export async function stopAll(): Promise<void> {
  isOver = true;
  await Promise.all([...alive.keys()].map(stopChild));
}

/** unpinned is why programs are not bound to cores; undefined if they are. */
export const unpinned = ((): string | undefined => {
  if (availableParallelism() < 2) return "the machine has one core";
  return has("taskset") ? undefined : "there is no taskset (`apt-get install util-linux`)";
})();

/** has returns whether a program is installed. */
export function has(program: string): boolean {
  try {
    execFileSync("sh", ["-c", `PATH="$PATH:/usr/sbin:/sbin" command -v ${program}`], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** pinSelf binds the bench itself, which is part of the load, to the load's core. */
export function pinSelf(): void {
  if (!unpinned) execFileSync("taskset", ["-acp", String(otherCore), String(process.pid)], { stdio: "ignore" });
}

/**
 * watchStolen starts watching the machine. The returned function returns the share of all cores' time used by others
 * since: by other machines on the same host.
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

/** openFiles returns how many files a program may have open, sockets included. */
export function openFiles(): number {
  const limits = readFileSync("/proc/self/limits", "utf8");
  return Number(/^Max open files +\S+ +(\d+)/m.exec(limits)?.[1] ?? Number.MAX_SAFE_INTEGER);
}

/** launch starts a program on a core, with the highest limit of open files. */
export function launch(command: readonly string[], core: number, env = {}, options = {}): ChildProcess {
  if (isOver) throw new Error("the bench is over");
  const pinned = unpinned ? command : ["taskset", "-c", String(core), ...command];
  const child = spawn("sh", ["-c", 'ulimit -n "$(ulimit -Hn)"; exec "$@"', "sh", ...pinned], {
    env: { PATH: `${process.env.PATH}:/usr/sbin:/sbin`, HOME: process.env.HOME, ...env },
    ...options,
  });
  alive.set(child, "SIGTERM");
  child.once("exit", () => alive.delete(child));
  return child;
}

/** start starts a server, and resolves when it serves. */
export async function start(init: ProgramInit): Promise<Program> {
  const { command, core, port, isReady = () => listens(port), log, env, cwd, user, stopSignal = "SIGTERM" } = init;
  const output = openSync(log, "a");
  const child = launch(command, core, env, { stdio: ["ignore", output, output], ...(cwd ? { cwd } : {}), ...user });
  alive.set(child, stopSignal);
  closeSync(output);
  while (!(await isReady())) {
    if (child.exitCode !== null) {
      throw new Error(`${command.join(" ")} ended before it served:\n${readFileSync(log, "utf8").slice(-2000)}`);
    }
    await sleep(20);
  }
  // Children may come later, and be replaced.
  const pids = () => familyOf(child.pid as number);
  return {
    cpu: () => sum(pids(), cpuOf),
    cpus: () => new Map(pids().map((pid) => [pid, cpuOf(pid)])),
    memory: () => sum(pids(), memoryOf),
    pause: () => signalAll(pids(), "SIGSTOP"),
    resume: () => signalAll(pids(), "SIGCONT"),
    stop: () => stopChild(child),
  };
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill(alive.get(child) ?? "SIGTERM");
  // A stopped process takes no signal.
  signalAll(familyOf(child.pid as number), "SIGCONT");
  const hard = setTimeout(() => child.kill("SIGKILL"), 10_000);
  await ended;
  clearTimeout(hard);
}

function signalAll(pids: readonly number[], signal: "SIGSTOP" | "SIGCONT"): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // It has just ended: the next request will show that.
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

/** familyOf returns a process with its children, and theirs. */
function familyOf(pid: number): number[] {
  const all = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const children = Map.groupBy(all.map(Number), (one) => Number(statOf(one)?.[1]));
  const below = (parent: number): number[] => [parent, ...(children.get(parent) ?? []).flatMap(below)];
  return below(pid);
}

/** statOf returns the fields of /proc/PID/stat from the state on: names of programs may contain anything. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined; // It has just ended.
  }
}

const nanosecondsPerTick = 1e9 / 100;

/** cpuOf uses the scheduler's nanoseconds if the kernel has them, else ticks of a hundredth of a second. */
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
