/**
 * wrk loads a target as fast as possible. A signal ends it after its time, which may be a fraction of a second, and a
 * script prints its figures.
 */
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { launch, otherCore } from "../processes.ts";

export const wrkMissing = "wrk is not installed: `apt-get install wrk`";

export interface WrkRun {
  readonly port: number;
  readonly path: string;
  /** requests are sent in turn, by whichever connection is free. */
  readonly requests: readonly { readonly headers: Readonly<Record<string, string>>; readonly body: string }[];
  readonly connections: number;
  /** isOneEach is whether each connection keeps to one request, as clients do: then each has a thread of its own. */
  readonly isOneEach?: boolean;
  readonly seconds: number;
  /** folder is where the script is written. */
  readonly folder: string;
}

export interface WrkResult {
  readonly requests: number;
  readonly seconds: number;
}

const longestSeconds = 20;

/** wrk runs the load, longer if wrk has not begun in time on a busy machine. Throws if any answer failed. */
export async function wrk(run: WrkRun): Promise<WrkResult> {
  const result = await runOnce(run);
  if (result.requests > 0) return result;
  if (run.seconds > longestSeconds) throw new Error(`port ${run.port} does not answer ${run.path}`);
  return wrk({ ...run, seconds: 2 * run.seconds });
}

async function runOnce(run: WrkRun): Promise<WrkResult> {
  const script = join(run.folder, "wrk.lua");
  writeFileSync(script, lua(run));
  const url = `http://127.0.0.1:${run.port}${run.path}`;
  const threads = run.isOneEach ? run.connections : 1;
  const command = ["wrk", `-t${threads}`, `-c${run.connections}`, "-d1h", "--timeout", "30s", "-s", script, url];
  const child = launch(command, otherCore, {}, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => (output += text));
  const ended = once(child, "close");
  await sleep(run.seconds * 1000);
  child.kill("SIGINT");
  // wrk ignores a signal at a bad moment and would sleep on for its hour.
  const again = setInterval(() => child.kill("SIGINT"), 300);
  await ended;
  clearInterval(again);
  if (child.signalCode !== null) return { requests: 0, seconds: 0 }; // The signal came before it could take one.
  const told = /^BENCH (.*)$/m.exec(output)?.[1];
  if (!told) throw new Error(`wrk ended with ${child.exitCode} and told nothing of ${url}:\n${output}`);
  const [requests = 0, micros = 0, ...faults] = told.split(" ").map(Number);
  if (faults.some((count) => count > 0)) {
    const [connect, read, write, timeout, status] = faults;
    const words = `${status} with another status, ${timeout} too late, ${connect}/${read}/${write} broken`;
    throw new Error(`${url} was answered ${requests} times, ${words}`);
  }
  return { requests, seconds: micros / 1e6 };
}

function lua({ requests, path, isOneEach = false }: WrkRun): string {
  const list = requests.map(({ headers, body }) => {
    const named = Object.entries({ "content-type": "application/json", ...headers });
    const pairs = named.map(([name, value]) => `[${JSON.stringify(name)}]=${JSON.stringify(value)}`).join(",");
    return `{h={${pairs}},b=[==[${body}]==]}`;
  });
  const [first] = list;
  const several = `
    local all = { ${list.join(",\n")} }
    local made, at = {}, 0
    function init() for i, r in ipairs(all) do made[i] = wrk.format("POST", ${JSON.stringify(path)}, r.h, r.b) end end
    local threads = 0
    function setup(thread) thread:set("place", threads) threads = threads + 1 end
    function request() at = ${isOneEach ? "place" : "at"} % #made + 1 return made[at] end`;
  const one = `
    local only = ${first}
    wrk.method, wrk.headers, wrk.body = "POST", only.h, only.b`;
  return `${requests.length > 1 ? several : one}
    function done(summary)
      local e = summary.errors
      print("BENCH " .. table.concat({ summary.requests, summary.duration, e.connect, e.read, e.write, e.timeout, e.status }, " "))
    end`;
}
