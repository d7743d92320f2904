/** Starts this program again as another process of the same machine, and connects a process with the one that started it. */
import { type ChildProcess, spawn } from "node:child_process";
import { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { deserialize, serialize } from "node:v8";
import type { Config } from "../../config/config.ts";
import { processEnvironment } from "../../config/process-environment.ts";
import { type Channel, createChannel } from "../../runtime/ipc/channel.ts";
import { sameArguments } from "../engine/restart.ts";

/** The channel to the parent is behind the three of every process, and the bound sockets behind it. */
const channelFd = 3;
const firstSocketFd = channelFd + 1;

/** socketFd returns the descriptor that a bound socket, counted from 0, has in a child. */
export function socketFd(index: number): number {
  return firstSocketFd + index;
}

export interface Child {
  readonly process: ChildProcess;
  readonly channel: Channel;
  /** Resolves to how it has ended. */
  readonly ended: Promise<Ending>;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** startChild starts a command of this program. The file is looked up anew: it may be another version's by now. */
export function startChild(command: "owner" | "worker", sockets: readonly number[]): Child {
  const child = spawn(process.execPath, [...sameArguments(), command], {
    stdio: ["ignore", "inherit", "inherit", "pipe", ...sockets],
    env: processEnvironment() as NodeJS.ProcessEnv,
  });
  const ended = new Promise<Ending>((resolve) => {
    child.once("error", () => resolve({ code: 1, signal: null }));
    child.once("exit", (code, signal) => resolve({ code, signal }));
  });
  return { process: child, channel: createChannel(child.stdio[channelFd] as Duplex), ended };
}

/** channelToParent returns the channel to the process that started this one. */
export function channelToParent(): Channel {
  return createChannel(new Socket({ fd: channelFd, readable: true, writable: true }));
}

export function packConfig(config: Config): string {
  return serialize(config).toString("base64");
}

export function unpackConfig(text: string): Config {
  return deserialize(Buffer.from(text, "base64")) as Config;
}

/**
 * ignoreSignals leaves signals to the parent: a terminal and a supervisor send theirs to all processes at once, and a child that ended by
 * itself would leave its parent's work half done.
 */
export function ignoreSignals(): void {
  for (const signal of ["SIGINT", "SIGHUP", "SIGTERM"] as const) process.on(signal, () => {});
}
