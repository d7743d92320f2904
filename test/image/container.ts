/**
 * Runs an image's root as an engine would with `--read-only --cap-drop ALL --security-opt no-new-privileges --tmpfs /tmp`: process 1 of
 * its own, the image's user and variables, and a volume. The network is this machine's.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chownSync, mkdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import type { ImageConfig } from "./dockerfile.ts";

export interface ContainerOptions {
  readonly at: string;
  readonly image: ImageConfig;
  /** The folder that is mounted where the image has its volume. */
  readonly volume: string;
  /** Variables besides the image's own. */
  readonly env: Readonly<Record<string, string>>;
}

export interface Container {
  /** The gateway's process, as this machine numbers it. */
  readonly pid: number;
  /** What it has printed by now. */
  output(): string;
  /** Runs a command inside, as `docker exec` does. */
  exec(command: readonly string[]): { readonly code: number | null; readonly output: string };
  /** Asks it to stop as the image says, and resolves with its exit code and the milliseconds that it took. */
  stop(): Promise<{ readonly code: number | null; readonly ms: number }>;
}

const mounts = `
  at=$1 volume=$2 data=$3; shift 3
  mount --bind "$at" "$at"
  mount --bind "$volume" "$at$data"
  mount -t tmpfs -o noexec,nosuid,nodev,size=64m,mode=1777 tmpfs "$at/tmp"
  mount -t proc proc "$at/proc"
  for device in null zero full random urandom tty; do
    [ -e "$at/dev/$device" ] && mount --bind "/dev/$device" "$at/dev/$device"
  done
  mount -o remount,ro,bind "$at"
  exec chroot "$at" "$@"`;

/** Starts a container, and resolves when it has a process. */
export async function startContainer({ at, image, volume, env }: ContainerOptions): Promise<Container> {
  const [uid = 0, gid = 0] = image.user.split(":").map(Number);
  mkdirSync(volume, { recursive: true });
  chownSync(volume, uid, gid);
  const variables = {
    PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ...Object.fromEntries(image.env),
    ...env,
  };
  const given = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  const lowered = (command: readonly string[]) => [
    ...[
      "/usr/bin/env",
      "-i",
      `--chdir=${image.workdir}`,
      ...given,
      "/usr/bin/setpriv",
      `--reuid=${uid}`,
      `--regid=${gid}`,
      "--clear-groups",
    ],
    ...["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--", ...command],
  ];
  const isolated = ["--mount", "--pid", "--fork", "--kill-child", "sh", "-e", "-c", mounts, "sh"];
  const command = lowered([...image.entrypoint, ...image.command]);
  const child = spawn("unshare", [...isolated, at, volume, image.workdir, ...command], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding("utf8").on("data", (text) => (printed += text));
  const ended = once(child, "exit");
  const pid = await processIn(child, image.entrypoint[0] as string, () => printed);
  return {
    pid,
    output: () => printed,
    exec(words) {
      const inside = ["--target", `${pid}`, "--mount", "--pid", "--root", "--wd"];
      const { status, stdout, stderr } = spawnSync("nsenter", [...inside, ...lowered(words)], {
        encoding: "utf8",
        timeout: 30_000,
      });
      return { code: status, output: stdout + stderr };
    },
    async stop() {
      const begun = performance.now();
      process.kill(pid, image.stopSignal as NodeJS.Signals);
      const timer = setTimeout(() => child.kill("SIGKILL"), 60_000);
      const [code] = await ended;
      clearTimeout(timer);
      return { code: code as number | null, ms: performance.now() - begun };
    },
  };
}

/** Resolves with the process that runs the program, below the one that isolates it. */
async function processIn(child: ChildProcess, program: string, printed: () => string): Promise<number> {
  for (const deadline = performance.now() + 20_000; performance.now() < deadline; ) {
    if (child.exitCode !== null) break;
    const [first] = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").split(" ");
    if (first && basename(readFileSync(`/proc/${first}/cmdline`, "utf8").split("\0", 1)[0] as string) === program)
      return Number(first);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`the container does not start:\n${printed()}`);
}

/** Returns the kilobytes of a root. */
export function kilobytesOf(at: string): number {
  return Number(execFileSync("du", ["--summarize", "--one-file-system", at], { encoding: "utf8" }).split("\t")[0]);
}
