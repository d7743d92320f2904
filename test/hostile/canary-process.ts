/**
 * The canary, in a process of its own so that neither the attackers' work nor the gateway's distorts its clock: a quiet
 * caller that makes a small call every so often, whether the one before has been answered or not. Each call has a word of
 * its own, which its answer must repeat. One in five comes on a new connection, and one in five over HTTP/2.
 *
 * Told by messages: where to call, to pause, and to tell what it saw since it was last asked. Beside each call it makes the same one of
 * the upstream itself: what that takes is the machine's, and no fault of the gateway's, as is the time that the gateway waits for a core, or
 * the canary itself.
 */
import { Agent, request } from "node:http";
import { type ClientHttp2Session, connect } from "node:http2";
import { connect as connectSocket } from "node:net";
import type { Called, CanaryOrder, CanaryReport } from "./canary.ts";
import { waitedBy } from "./measure.ts";

const everyMs = 25;
const kinds = ["new", "kept", "http2", "kept", "kept"] as const;
/** A call that takes longer counts as an error, and for as long. */
const patienceMs = 10_000;

/** Without a time-out of its own an agent does not heed `keep-alive`, and calls on connections that the server is closing. */
const newAgent = () => new Agent({ keepAlive: true, timeout: patienceMs });

let agent = newAgent();
let session: ClientHttp2Session | undefined;
let timer: NodeJS.Timeout | undefined;
let samples: number[] = [];
let own: number[] = [];
let direct: number[] = [];
let errors: string[] = [];
let lateMs = 0;
/** When the next call is due, by `performance.now()`. */
let nextAt = 0;
/** Whether no call is made, while those that run are waited for: whether this process is let run matters to them still. */
let isPaused = false;
/** For how long this process was not let run until the last call, in milliseconds: as often as it was late by more than a call's distance. */
let stoppedMs = 0;
let number = 0;
const running = new Set<Promise<void>>();

/** Returns for how long this process was not let run until now. */
function notRun(): number {
  const late = performance.now() - nextAt;
  return stoppedMs + (late > everyMs ? late + everyMs : 0);
}

function begin({ pid, port, upstream, key }: Called): void {
  nextAt = performance.now();
  isPaused = false;
  const tick = () => {
    const now = performance.now();
    lateMs = Math.max(lateMs, now - nextAt);
    stoppedMs = notRun();
    // A process that was not let run makes no flood of what it missed.
    nextAt = (now - nextAt > everyMs ? now : nextAt) + everyMs;
    timer = setTimeout(tick, Math.max(0, nextAt - performance.now()));
    if (isPaused) return;
    const [waitedBefore, stoppedBefore] = [waitedBy(pid), stoppedMs];
    const tell = (ms: number, error?: string) => {
      samples.push(ms);
      own.push(ms - Math.max(0, waitedBy(pid) - waitedBefore, notRun() - stoppedBefore));
      if (error !== undefined) errors.push(error);
    };
    const kind = kinds[number % kinds.length];
    run(kind === "http2" ? callOverHttp2(port, key, tell) : call(port, key, tell, kind === "new"));
    run(call(upstream, key, (ms) => direct.push(ms)));
    number++;
  };
  timer = setTimeout(tick, 0);
}

function run(made: Promise<void>): void {
  const ended = made.then(() => void running.delete(ended));
  running.add(ended);
}

async function pause(): Promise<void> {
  isPaused = true;
  await Promise.all(running);
  clearTimeout(timer);
  agent.destroy();
  agent = newAgent();
  session?.close();
  session = undefined;
}

type Tell = (ms: number, error?: string) => void;

/** asked returns a call: its word, its body and its fields. */
function asked(key: string) {
  const word = `canary-${process.pid}-${number}`;
  const body = JSON.stringify({ model: "calm", max_tokens: 5, messages: [{ role: "user", content: word }] });
  const fields = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": body.length };
  return { word, body, fields };
}

/** once returns a function that tells how long a call took, the first time that it is called. */
function once(tell: Tell, cut: () => void, resolve: () => void): (error?: string) => void {
  const begunAt = performance.now();
  let isOver = false;
  const over = (error?: string) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(late);
    tell(performance.now() - begunAt, error);
    resolve();
  };
  const late = setTimeout(() => {
    over("no answer");
    cut();
  }, patienceMs);
  return over;
}

function faultOf(status: number | undefined, text: string, word: string): string | undefined {
  if (status !== 200) return `status ${status}`;
  return text.includes(word) ? undefined : "another's answer";
}

function call(port: number, key: string, tell: Tell, isAlone = false): Promise<void> {
  const { word, body, fields } = asked(key);
  return new Promise((resolve) => {
    const over = once(tell, () => sent.destroy(), resolve);
    const options = { port, host: "127.0.0.1", path: "/v1/chat/completions", method: "POST", headers: fields };
    const sent = request({ ...options, agent: isAlone ? false : agent }, (res) => {
      let text = "";
      res.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      res.on("end", () => over(faultOf(res.statusCode, text, word)));
      res.on("error", () => over("broken answer"));
    });
    sent.on("error", (error: NodeJS.ErrnoException) => over(error.code ?? error.message));
    sent.end(body);
  });
}

/** Attackers come from 127.0.0.1, and networks that flood are refused HTTP/2 for a while. */
const localAddress = "127.0.0.2";

function connected(port: number): ClientHttp2Session {
  const createConnection = () => connectSocket({ port, host: "127.0.0.1", localAddress });
  return connect(`http://127.0.0.1:${port}`, { createConnection }).on("error", () => {});
}

function callOverHttp2(port: number, key: string, tell: Tell): Promise<void> {
  const { word, body, fields } = asked(key);
  return new Promise((resolve) => {
    const over = once(tell, () => sent.destroy(), resolve);
    if (!session || session.closed || session.destroyed) session = connected(port);
    const sent = session.request({ ":method": "POST", ":path": "/v1/chat/completions", ...fields });
    let status: number | undefined;
    let text = "";
    sent.on("response", (head) => (status = head[":status"]));
    sent.setEncoding("utf8").on("data", (piece: string) => (text += piece));
    sent.on("end", () => over(faultOf(status, text, word)));
    sent.on("error", (error: NodeJS.ErrnoException) => over(error.code ?? error.message));
    sent.end(body);
  });
}

process.on("message", async (order: CanaryOrder) => {
  if (order.what === "call") begin(order);
  if (order.what === "pause") await pause();
  const report: CanaryReport = { samples, own, direct, errors, lateMs };
  if (order.what !== "call") [samples, own, direct, errors, lateMs] = [[], [], [], [], 0];
  process.send?.(report);
});
process.on("disconnect", () => process.exit());
// A terminal interrupts the harness and its children together: this one serves until the harness ends.
process.on("SIGINT", () => {});
