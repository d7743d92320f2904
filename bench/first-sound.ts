/**
 * `npm run bench:first-sound`: measures how soon speech is heard. Starts a fresh gateway several times. A second after
 * it listens, asks for speech for the first time, which starts its thread, then a few times more. Prints the time to the
 * first byte of audio, and the memory before and after.
 *
 * Other load counts: run something beside it to see its effect.
 */
import { execFileSync } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { bin, modelGateway, Running, temporaryFolder } from "../test/support/command.ts";
import { helpFirst } from "../tools/program-help.ts";

helpFirst(import.meta.filename);

const starts = 5;
const warmRequests = 5;
/** pause is the time from listening to the first request, in milliseconds. */
const pause = 1000;
const text = "It was the best of times, it was the worst of times, it was the age of wisdom. ".repeat(2);

interface Start {
  /** listening is the time from the start of the process until it listens, in milliseconds. */
  readonly listening: number;
  /** cold is the time from the first request to its first byte, in milliseconds. */
  readonly cold: number;
  readonly warm: readonly number[];
  /** memory is the resident memory in MB: when listening, after the pause, and after all requests. */
  readonly memory: readonly [listening: number, idle: number, used: number];
}

const folder = await temporaryFolder();
try {
  const env = { DATA_DIR: folder.path, LOG_LEVEL: "warn" };
  await modelGateway(["accounts", "create", "--name", "bench"], env);
  const key = (await modelGateway(["keys", "create", "--account", "bench", "--name", "bench"], env)).stdout.trim();
  const seen: Start[] = [];
  for (let i = 0; i < starts; i++) seen.push(await measure(key, env));
  report(seen);
} finally {
  await folder.remove();
}

async function measure(key: string, env: { readonly DATA_DIR: string }): Promise<Start> {
  const begin = performance.now();
  const gateway = new Running(process.execPath, [bin, "serve"], { PORT: "0", ...env });
  try {
    const [, rootUrl = ""] = await gateway.shows(/serves at (\S+)/);
    const listening = performance.now() - begin;
    const memory = () => residentMegabytes(gateway.child.pid as number);
    const atListening = memory();
    await sleep(pause);
    const idle = memory();
    const cold = await firstSound(rootUrl, key);
    const warm: number[] = [];
    for (let i = 0; i < warmRequests; i++) warm.push(await firstSound(rootUrl, key));
    return { listening, cold, warm, memory: [atListening, idle, memory()] };
  } finally {
    await gateway.stop();
  }
}

/**
 * firstSound asks for MP3, the default, and reads it to the end, so that one request's work does not count for the
 * next.
 */
async function firstSound(rootUrl: string, key: string): Promise<number> {
  const begin = performance.now();
  const response = await fetch(`${rootUrl}/v1/audio/speech`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "tts-1", voice: "nova", input: text }),
  });
  if (!response.ok || !response.body) throw new Error(`status ${response.status}: ${await response.text()}`);
  let taken: number | undefined;
  for await (const bytes of response.body) if (bytes.length > 0) taken ??= performance.now() - begin;
  if (taken === undefined) throw new Error("the answer ended without a sound");
  return taken;
}

function residentMegabytes(pid: number): number {
  return Number(execFileSync("ps", ["-o", "rss=", "-p", String(pid)], { encoding: "utf8" })) / 1024;
}

function report(seen: readonly Start[]): void {
  const line = (what: string, values: readonly number[], unit: string) => {
    const sorted = [...values].sort((a, b) => a - b);
    const [median = 0, most = 0] = [sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
    console.log(
      `${what.padEnd(44)}median ${median.toFixed(0).padStart(5)}   max ${most.toFixed(0).padStart(5)} ${unit}`,
    );
  };
  line(
    "from start to listening",
    seen.map(({ listening }) => listening),
    "ms",
  );
  line(
    `first sound, cold, ${pause} ms after listening`,
    seen.map(({ cold }) => cold),
    "ms",
  );
  line(
    "first sound, warm",
    seen.flatMap(({ warm }) => warm),
    "ms",
  );
  line(
    "memory, listening",
    seen.map(({ memory }) => memory[0]),
    "MB",
  );
  line(
    `memory, ${pause} ms later`,
    seen.map(({ memory }) => memory[1]),
    "MB",
  );
  line(
    "memory, after the requests",
    seen.map(({ memory }) => memory[2]),
    "MB",
  );
}
