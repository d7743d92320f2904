/**
 * The package `@model-gateway/client` as a team gets it: packed, installed into an empty folder without a network, and compiled
 * with the program of `test/clients/packed`, which sees nothing of the project's source.
 */
import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildClient } from "../../../clients/typescript/build.ts";
import { root } from "../pages.ts";

/** needed is what the package needs, copied from where the project has it. */
const needed = [
  ...["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-web", "@connectrpc/connect-node"],
  ...["@types/node", "undici-types"],
];

export interface PackedClient {
  readonly folder: string;
  /** The files of the package that were installed, as paths below it. */
  readonly installed: string;
  remove(): void;
}

export function installPackedClient(): PackedClient {
  const folder = mkdtempSync(join(tmpdir(), "packed-client-"));
  const packed = buildClient(join(folder, "packed"));
  const modules = needed.map((name) => [name, `file:${join(root, "node_modules", name)}`]);
  const dependencies = Object.fromEntries([["@model-gateway/client", `file:${packed}`], ...modules]);
  writeJson(folder, "package.json", { name: "team", private: true, type: "module", dependencies });
  const npm = ["install", "--offline", "--install-links", "--no-audit", "--no-fund", "--ignore-scripts"];
  execFileSync("npm", [...npm, "--cache", join(folder, "npm-cache")], { cwd: folder, stdio: "pipe" });
  cpSync(join(root, "test/clients/packed"), join(folder, "src"), { recursive: true });
  return {
    folder,
    installed: join(folder, "node_modules/@model-gateway/client"),
    remove: () => rmSync(folder, { recursive: true }),
  };
}

/** settings is how a team compiles: a service for Node, or a page for a bundler, without types of Node. */
const settings = {
  node: { types: ["node"], module: "nodenext", moduleResolution: "nodenext" },
  page: { types: [], module: "esnext", moduleResolution: "bundler" },
};

/** Compiles the program, as strictly as can be, into `node` or `page`. Throws with what the compiler says. */
export function compile({ folder }: PackedClient, place: keyof typeof settings): void {
  const compilerOptions = {
    ...{ strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, skipLibCheck: false },
    ...{ target: "es2022", lib: ["es2022", "dom", "dom.iterable"], rootDir: "src", outDir: place, ...settings[place] },
  };
  const exclude = place === "page" ? ["src/in-node.ts"] : [];
  writeJson(folder, `tsconfig.${place}.json`, { compilerOptions, include: ["src"], exclude });
  try {
    const tsc = join(root, "node_modules/.bin/tsc");
    execFileSync(tsc, ["-p", `tsconfig.${place}.json`], { cwd: folder, encoding: "utf8", stdio: "pipe" });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout);
  }
}

function writeJson(folder: string, name: string, value: unknown): void {
  writeFileSync(join(folder, name), JSON.stringify(value, undefined, 2));
}

/** Program runs the scenarios of `test/clients/packed/scenarios.ts` by their names. */
export interface Program {
  run(name: string, target: object): Promise<unknown>;
  /** Lets the program end by itself, which it must do at once: a client that is done holds nothing. */
  close(): Promise<void>;
}

export function startProgram({ folder }: PackedClient, node: string, protocol: "Connect" | "gRPC"): Program {
  const child = fork(join(folder, "node/in-node.js"), [protocol], {
    execPath: node,
    cwd: folder,
    execArgv: [],
  });
  const crashed = once(child, "exit").then(([code]) => ({
    result: undefined,
    error: `the program ended with ${code}`,
  }));
  return {
    async run(name, target) {
      child.send({ name, target });
      const answered = once(child, "message").then(([answer]) => answer as { result?: unknown; error?: string });
      const answer = await Promise.race([answered, crashed]);
      if (answer.error !== undefined) throw new Error(answer.error);
      return answer.result;
    },
    async close() {
      const late = setTimeout(() => child.kill("SIGKILL"), 10_000);
      const ended = once(child, "exit");
      child.disconnect();
      const [code, signal] = await ended;
      clearTimeout(late);
      if (code !== 0) throw new Error(`the program did not end by itself: ${signal ?? code}`);
    },
  };
}

/** A Node of the oldest version that the package runs on; undefined where the machine has none. */
export const oldestNode: string | undefined = [process.env.NODE_20, "/usr/bin/node"].find((path) => {
  if (path === undefined || !existsSync(path)) return false;
  return execFileSync(path, ["--version"], { encoding: "utf8" }).startsWith("v20.");
});
