/** What an installed gateway must do, asked from outside. Each check throws what it misses. */
import { deepStrictEqual, ok, strictEqual } from "node:assert";
import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import type { Running } from "../support/command.ts";
import type { Way } from "./ways.ts";

/** A demo that runs. */
export interface Demo {
  readonly way: Way;
  readonly running: Running;
  readonly url: string;
  readonly key: string;
  readonly email: string;
  readonly password: string;
}

export async function startDemo(way: Way): Promise<Demo> {
  const running = way.start(["demo"], { PORT: "0" });
  const [, url = ""] = await running.shows(/serves at (\S+)\. Keys/);
  await running.shows(/Serving until/);
  const { api_key: key, email, password } = JSON.parse(readFileSync(join(way.data, "demo.json"), "utf8"));
  return { way, running, url, key, email, password };
}

function post({ url, key }: Demo, path: string, body: unknown, bearer = key): Promise<Response> {
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  return fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

const messages = [{ role: "user" as const, content: "Hello!" }];
const chat = { model: "embedded-chat", messages };

export async function serves(demo: Demo): Promise<void> {
  const whole = await post(demo, "/v1/chat/completions", chat);
  strictEqual(whole.status, 200);
  const answer = JSON.parse(await whole.text());
  strictEqual(answer.choices[0].finish_reason, "stop");
  const stream = await (await post(demo, "/v1/chat/completions", { ...chat, stream: true })).text();
  ok(stream.endsWith("data: [DONE]\n\n"), "a stream ends with [DONE]");
  for (const [path, body] of [
    ["/v1/messages", { ...chat, max_tokens: 20 }],
    ["/v1/responses", { model: "embedded-chat", input: "Hello!" }],
    ["/v1/completions", { model: "embedded-chat", prompt: "Hello!" }],
    ["/v1/embeddings", { model: "embedded-embedding", input: "Hello!" }],
  ] as const) {
    const { status } = await post(demo, path, body);
    strictEqual(status, 200, path);
  }
  const transport = createGrpcTransport({ baseUrl: demo.url });
  const headers = { authorization: `Bearer ${demo.key}` };
  const typed = await createClient(InferenceService, transport).listModels({}, { headers });
  ok(typed.data.some(({ id }) => id === "embedded-chat"));
}

export async function countsMoney(demo: Demo): Promise<void> {
  const { way } = demo;
  const made = way.start(
    ["keys", "create", "--account", "demo", "--name", "bounded", "--credit-limit", "0.000001"],
    {},
  );
  const { stdout, stderr, code } = await made.ended;
  strictEqual(code, 0, stderr);
  const refused = await post(demo, "/v1/chat/completions", chat, stdout.trim());
  strictEqual(refused.status, 402);
  const proof = await way.start(["reconcile"], {}).ended;
  strictEqual(proof.code, 0, proof.stdout + proof.stderr);
}

export async function showsDashboard({ url, email, password }: Demo): Promise<void> {
  const page = await (await fetch(`${url}/dashboard`)).text();
  const assets = [...page.matchAll(/(?:src|href)="(\/dashboard\/[^"]+)"/g)].map(([, path]) => path as string);
  ok(assets.length >= 2, "the page has a script and a style");
  for (const path of assets) strictEqual((await fetch(`${url}${path}`)).status, 200, path);
  const signIn = await fetch(`${url}/modelgateway.v1.SessionService/SignIn`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ email, password }),
  });
  strictEqual(signIn.status, 200);
  for (const path of ["/docs/", "/openapi.json"]) strictEqual((await fetch(`${url}${path}`)).status, 200, path);
}

const formats = ["mp3", "opus", "aac", "flac", "wav", "pcm"] as const;

export async function speaks(demo: Demo): Promise<void> {
  for (const format of formats) {
    const body = { model: "tts-1", voice: "nova", input: "It is 7 o'clock, and all is well.", response_format: format };
    const answer = await post(demo, "/v1/audio/speech", body);
    strictEqual(answer.status, 200, format);
    const seconds = secondsOf(Buffer.from(await answer.arrayBuffer()), format);
    ok(seconds > 1.2 && seconds < 5, `${format}: ${seconds} s`);
  }
}

/** Returns the length of a sound: by ffmpeg; without ffmpeg a plausible one, if the sound is large enough. */
function secondsOf(sound: Buffer, format: (typeof formats)[number]): number {
  if (format === "pcm") return sound.length / 2 / 24_000;
  try {
    const probed = execFileSync("ffmpeg", ["-v", "error", "-i", "-", "-f", "s16le", "-ar", "24000", "-ac", "1", "-"], {
      input: sound,
      maxBuffer: 2 ** 26,
    });
    return probed.length / 2 / 24_000;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return sound.length > 5_000 ? 2 : 0;
  }
}

/** A stream that is open when the signal comes is sent to its end. Ends the demo. */
export async function endsWell(demo: Demo): Promise<void> {
  const metadata = { simulate_token_delay_ms: "20" };
  const open = await post(demo, "/v1/chat/completions", { ...chat, stream: true, metadata });
  strictEqual(open.status, 200);
  const rest = open.text();
  const { code } = await demo.running.stop("SIGTERM");
  ok((await rest).endsWith("data: [DONE]\n\n"), "the stream is whole");
  strictEqual(code, 0);
}

/** accountsIn returns what every version lists of each account: id, time, tier, balance and state. */
function accountsIn(list: string): string[][] {
  return list.split("\n").map((line) => line.split(/ {2,}/).slice(0, 5));
}

/** Opens the data of the version before: keys go on working, and every sum is right. */
export async function takesOver(way: Way, previous: Way): Promise<void> {
  rmSync(way.data, { recursive: true, force: true });
  cpSync(previous.data, way.data, { recursive: true });
  const before = await previous.start(["accounts", "list"], {}).ended;
  const after = await way.start(["accounts", "list"], {}).ended;
  deepStrictEqual([after.code, accountsIn(after.stdout)], [0, accountsIn(before.stdout)], after.stderr);
  const demo = await startDemo(way);
  try {
    const kept = JSON.parse(readFileSync(join(previous.data, "demo.json"), "utf8"));
    strictEqual((await post(demo, "/v1/chat/completions", chat, kept.api_key)).status, 200);
  } finally {
    await demo.running.stop();
  }
  const proof = await way.start(["reconcile"], {}).ended;
  strictEqual(proof.code, 0, proof.stdout + proof.stderr);
  ok(existsSync(join(way.data, "gateway.db")));
}
