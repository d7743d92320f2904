/**
 * `npm run bench:start`: measures how soon a process answers, after `npm run build`. Each form takes its turn in every round, so that
 * what else the machine does falls on all of them. Prints medians, and their ratios to `node -e 0` and to `npm start` of the round.
 * `--rounds N` takes more of them; default 7.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { parseArgs } from "node:util";
import { startAskedServer } from "../../packaging/asked-server.ts";
import { type CommandLine, commandLines, writeInputs } from "../../packaging/command-lines.ts";
import { Running, root, temporaryFolder } from "../../test/support/command.ts";
import { helpFirst } from "../../tools/program-help.ts";
import { freePort } from "../free-port.ts";
import { median } from "../statistics.ts";

helpFirst(import.meta.filename);

const { values } = parseArgs({ options: { rounds: { type: "string", default: "7" } } });
const executable = join(root, "dist/model-gateway");
if (!existsSync(executable)) throw new Error("dist/model-gateway is missing: npm run build makes it");
const folder = await temporaryFolder();
const env = { DATA_DIR: folder.path, LOG_LEVEL: "warn" };

const asked = await startAskedServer();

interface Taken {
  readonly ms: number;
  /** The resident memory after the first answer, in MB; unknown of a command that has ended, and of npm, which starts another process. */
  readonly megabytes?: number;
}

const forms = new Map<string, (round: number) => Promise<Taken>>([
  ["node -e 0", () => ends(process.execPath, ["-e", "0"])],
  ["npm start: first answer", async () => ({ ms: (await answers("npm", ["start"])).ms })],
  ["executable: first answer", () => answers(executable, ["serve"])],
  ...commandLines.map((line) => [`executable: ${line.name}`, (round: number) => commandEnds(line, round)] as const),
]);

/** printed holds the output of each command, by its name; a later round replaces it. */
const printed = new Map<string, string>();

async function commandEnds({ name, args, code, dataFolder }: CommandLine, round: number): Promise<Taken> {
  const data = dataFolder ? join(folder.path, dataFolder(round)) : env.DATA_DIR;
  const { ms, stdout } = await ends(executable, args(round, printed, asked.address), { data, code });
  printed.set(name, stdout);
  return { ms };
}

interface Expected {
  readonly data?: string | undefined;
  readonly code?: number | undefined;
}

async function ends(program: string, args: readonly string[], { data = env.DATA_DIR, code = 0 }: Expected = {}) {
  const begun = performance.now();
  const child = spawn(program, args, {
    cwd: folder.path,
    env: { ...process.env, ...env, DATA_DIR: data },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [[ended], stdout, stderr] = await Promise.all([once(child, "exit"), text(child.stdout), text(child.stderr)]);
  const ms = performance.now() - begun;
  if (ended !== code) throw new Error(`${program} ${args.join(" ")} ended with code ${ended}: ${stderr}`);
  return { ms, stdout };
}

/** From the start of the process until it has answered a request, asked again as long as nobody listens. */
async function answers(program: string, args: readonly string[]): Promise<Taken> {
  const port = await freePort();
  const begun = performance.now();
  const gateway = new Running(program, args, { ...env, PORT: String(port) });
  try {
    while (!(await isAnswered(port))) if (!gateway.isAlive()) throw new Error((await gateway.ended).stderr);
    const ms = performance.now() - begun;
    return { ms, megabytes: residentMegabytes(gateway.child.pid as number) };
  } finally {
    await gateway.stop();
  }
}

/** Asks once. A refused connection costs a tenth of a millisecond, so that nothing is waited for but the gateway. */
function isAnswered(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => socket.write("GET /v1/models HTTP/1.1\r\nhost: bench\r\nconnection: close\r\n\r\n"));
    socket.once("data", (head) => {
      resolve(head.toString("latin1").startsWith("HTTP/1.1 401"));
      socket.destroy();
    });
    socket.once("error", () => setTimeout(() => resolve(false), 2));
  });
}

function residentMegabytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "latin1");
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024;
}

try {
  writeInputs(folder.path, asked.address);
  // The server answers at once only when its own code is compiled.
  for (let i = 0; i < 300; i++) await (await fetch(asked.address, { method: "POST", body: "{}" })).arrayBuffer();
  const seen = new Map<string, Taken[]>([...forms.keys()].map((name) => [name, []]));
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [name, form] of forms) seen.get(name)?.push(await form(round));
  }
  report(seen);
} finally {
  asked.close();
  await folder.remove();
}

function report(seen: ReadonlyMap<string, readonly Taken[]>): void {
  const times = (name: string) => (seen.get(name) ?? []).map(({ ms }) => ms);
  const ratio = (name: string, to: string) => {
    const base = times(to);
    return median(times(name).map((ms, round) => ms / (base[round] as number))).toFixed(2);
  };
  console.log("| what | ms, median (least) | × `node -e 0` | × `npm start` | MB resident |\n|---|--:|--:|--:|--:|");
  for (const [name, taken] of seen) {
    const all = times(name);
    const megabytes = taken.flatMap((one) => one.megabytes ?? []);
    const cells = [
      `${median(all).toFixed(0)} (${Math.min(...all).toFixed(0)})`,
      ratio(name, "node -e 0"),
      name.includes("first answer") ? ratio(name, "npm start: first answer") : "–",
      megabytes.length > 0 ? median(megabytes).toFixed(0) : "–",
    ];
    console.log(`| ${name} | ${cells.join(" | ")} |`);
  }
}
