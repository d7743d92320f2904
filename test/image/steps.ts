/**
 * Runs a Dockerfile's steps without an engine: each stage is a folder, into which files are copied and in which commands run by
 * chroot, with mounts of their own. It needs root, debootstrap and Linux.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, matchesGlob } from "node:path";
import { root } from "../support/command.ts";
import { type Instruction, pairsOf, replaced, type Stage } from "./dockerfile.ts";

const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

export interface StepsOptions {
  /** The folder below which stages are made. Debian's root is kept in it for the next time. */
  readonly folder: string;
  /** Values of ARG. */
  readonly given: Readonly<Record<string, string>>;
  /** Files that a stage would have made, by stage and path: such a stage is not run. */
  readonly made: ReadonlyMap<string, ReadonlyMap<string, string>>;
  readonly onStep: (text: string) => void;
}

/** Runs the stages, and returns the folder of the last. Throws the first error of a step. */
export function runStages(stages: readonly Stage[], options: StepsOptions): string {
  const done = new Map<string, string>();
  let last = "";
  for (const [i, stage] of stages.entries()) {
    last = join(options.folder, stage.name ?? `stage-${i}`);
    remove(last);
    const made = stage.name === undefined ? undefined : options.made.get(stage.name);
    if (made) for (const [path, file] of made) copy(file, join(last, path));
    else runStage(stage, last, done, options);
    done.set(stage.name ?? `${i}`, last);
  }
  for (const at of done.values()) if (at !== last) remove(at);
  return last;
}

/** Removes a root, which may have a hundred thousand files. */
function remove(at: string): void {
  execFileSync("rm", ["-rf", at]);
}

function runStage(stage: Stage, at: string, done: ReadonlyMap<string, string>, options: StepsOptions): void {
  options.onStep(`FROM ${stage.base}`);
  makeBase(stage.base, at, options.folder);
  const variables = new Map([["PATH", systemPath]]);
  let workdir = "/";
  for (const instruction of stage.instructions) {
    const { name, text } = instruction;
    if (name === "ARG" || name === "ENV") {
      for (const [key, value] of pairsOf(text)) {
        variables.set(key, (name === "ARG" ? options.given[key] : undefined) ?? replaced(value, variables));
      }
    }
    if (name === "WORKDIR") {
      workdir = text;
      mkdirSync(join(at, workdir), { recursive: true });
    }
    if (name !== "COPY" && name !== "RUN") continue;
    options.onStep(`${name} ${text.replace(/\s+/g, " ")}`);
    if (name === "COPY") copyStep(instruction, at, workdir, done);
    else runStep(text, at, workdir, variables);
  }
}

function copyStep({ text, flags }: Instruction, at: string, workdir: string, done: ReadonlyMap<string, string>): void {
  const words = text.split(/\s+/);
  const target = words.at(-1) as string;
  const to = join(at, target.startsWith("/") ? "" : workdir, target);
  const isFolder = target.endsWith("/") || words.length > 2;
  const stage = flags.get("from");
  for (const source of words.slice(0, -1)) {
    if (stage !== undefined) copy(join(done.get(stage) as string, source), isFolder ? join(to, basename(source)) : to);
    else
      for (const path of contextFiles(source)) copy(join(root, path), join(to, source === "." ? path : basename(path)));
  }
}

function copy(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { verbatimSymlinks: true });
  if (!lstatSync(from).isSymbolicLink()) chmodSync(to, statSync(from).mode & 0o777);
}

/** Returns the files of the work tree that a build would be sent, or the one that is named. Ignored by git is never committed. */
function contextFiles(source: string): string[] {
  const listed = execFileSync("git", ["ls-files", "-z", "--cached", "--others", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
  });
  const patterns = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");
  const ignored = patterns.filter((line) => line !== "" && !line.startsWith("#"));
  const isIgnored = (path: string) =>
    ignored.some((pattern) => matchesGlob(path, pattern) || matchesGlob(path, `${pattern}/**`));
  const files = listed.split("\0").filter((path) => path !== "" && existsSync(join(root, path)) && !isIgnored(path));
  const found = files.filter((path) => source === "." || path === source);
  if (found.length === 0) throw new Error(`COPY ${source}: there is no such file, or .dockerignore leaves it out`);
  return found;
}

/** Runs a shell's line in a root, as its root, with the network's settings and certificates of this machine. */
function runStep(line: string, at: string, workdir: string, variables: ReadonlyMap<string, string>): void {
  const mounts = `
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    touch "$1/etc/resolv.conf" && mount --bind /etc/resolv.conf "$1/etc/resolv.conf"
    mkdir -p "$1/run/certificates" && mount --bind /etc/ssl/certs "$1/run/certificates"
    at=$1 line=$2 workdir=$3; shift 3
    exec chroot "$at" /usr/bin/env -i "$@" /bin/sh -c "cd $workdir && $line"`;
  const certificates = "/run/certificates/ca-certificates.crt";
  const env = [
    ...variables,
    ["HOME", "/root"],
    ["DEBIAN_FRONTEND", "noninteractive"],
    ["NODE_EXTRA_CA_CERTS", certificates],
  ];
  const given = env.map(([key, value]) => `${key}=${value}`);
  execFileSync("unshare", ["--mount", "sh", "-e", "-c", mounts, "sh", at, line, workdir, ...given], {
    stdio: ["ignore", "pipe", "inherit"],
    timeout: 600_000,
  });
  rmSync(join(at, "run/certificates"), { recursive: true, force: true });
}

/** Makes the root that a stage begins with: Debian by debootstrap, and Node's image of it with this machine's npm. */
function makeBase(image: string, at: string, folder: string): void {
  const suite = /^(?:debian:|node:\d+-)(?<suite>\w+)-slim$/.exec(image)?.groups?.suite;
  if (suite === undefined) throw new Error(`there is nothing in the place of the image ${image} here`);
  const archive = join(folder, `${suite}.tar`);
  if (!existsSync(archive)) makeDebian(suite, archive);
  mkdirSync(at, { recursive: true });
  execFileSync("tar", ["--extract", "--file", archive, "--directory", at, "--numeric-owner"]);
  if (!image.startsWith("node:")) return;
  const { npm_execpath: npm } = process.env;
  if (npm === undefined)
    throw new Error("which npm the image is to have is not known: run this by `npm run test:image`");
  cpSync(process.execPath, join(at, "usr/local/bin/node"));
  cpSync(join(dirname(npm), ".."), join(at, "usr/local/lib/node_modules/npm"), { recursive: true });
  symlinkSync("../lib/node_modules/npm/bin/npm-cli.js", join(at, "usr/local/bin/npm"));
}

function makeDebian(suite: string, archive: string): void {
  const fresh = `${archive}.root`;
  remove(fresh);
  execFileSync("debootstrap", ["--variant=minbase", suite, fresh], {
    stdio: ["ignore", "ignore", "inherit"],
    timeout: 300_000,
  });
  writeFileSync(join(fresh, "etc/apt/apt.conf.d/99quiet"), 'APT::Install-Suggests "0";\n');
  rmSync(join(fresh, "var/cache/apt"), { recursive: true, force: true });
  execFileSync("tar", ["--create", "--file", archive, "--directory", fresh, "--numeric-owner", "."]);
  remove(fresh);
}
