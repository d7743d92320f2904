/**
 * The canary, in a process of its own so that neither the attackers' work nor the gateway's distorts its clock: a quiet
 * caller that makes a small call every so often, whether the one before has been answered or not. Each call has a word of
 * its own, which its answer must repeat. One in ten comes on a new connection.
 *
 * Told by messages: where to call, to pause, and to tell what it saw since it was last asked. Beside each call it makes the same one of
 * the upstream itself: what that takes is the machine's, and no fault of the gateway's, as is the time that the gateway waits for a core.
 */
import { Agent, request } from "node:http";
import type { Called, CanaryOrder, CanaryReport } from "./canary.ts";
import { waitedBy } from "./measure.ts";

const everyMs = 25;
const newConnectionOneIn = 10;
/** A call that takes longer counts as an error, and for as long. */
const patienceMs = 10_000;

let agent = new Agent({ keepAlive: true });
let timer: NodeJS.Timeout | undefined;
let samples: number[] = [];
let own: number[] = [];
let direct: number[] = [];
let errors: string[] = [];
let lateMs = 0;
let number = 0;
const running = new Set<Promise<void>>();

function begin({ pid, port, upstream, key }: Called): void {
  let dueAt = performance.now();
  const tick = () => {
    dueAt += everyMs;
    const now = performance.now();
    lateMs = Math.max(lateMs, now - dueAt);
    // A process that was not let run makes no flood of what it missed.
    if (now - dueAt > everyMs) dueAt = now;
    const waitedBefore = waitedBy(pid);
    run(
      call(port, key, (ms, error) => {
        samples.push(ms);
        own.push(ms - Math.max(0, waitedBy(pid) - waitedBefore));
        if (error !== undefined) errors.push(error);
      }),
    );
    run(call(upstream, key, (ms) => direct.push(ms)));
    timer = setTimeout(tick, Math.max(0, dueAt - performance.now()));
  };
  timer = setTimeout(tick, 0);
}

function run(made: Promise<void>): void {
  const ended = made.then(() => void running.delete(ended));
  running.add(ended);
}

async function pause(): Promise<void> {
  clearTimeout(timer);
  await Promise.all(running);
  agent.destroy();
  agent = new Agent({ keepAlive: true });
}

function call(port: number, key: string, tell: (ms: number, error?: string) => void): Promise<void> {
  const word = `canary-${process.pid}-${number}`;
  const isAlone = number++ % newConnectionOneIn === 0;
  const body = JSON.stringify({ model: "calm", max_tokens: 5, messages: [{ role: "user", content: word }] });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", "content-length": body.length };
  const begunAt = performance.now();
  return new Promise((resolve) => {
    let isOver = false;
    const over = (error?: string) => {
      if (isOver) return;
      isOver = true;
      clearTimeout(late);
      tell(performance.now() - begunAt, error);
      resolve();
    };
    const options = { port, host: "127.0.0.1", path: "/v1/chat/completions", method: "POST", headers };
    const sent = request({ ...options, agent: isAlone ? false : agent }, (res) => {
      let text = "";
      res.setEncoding("utf8").on("data", (piece: string) => (text += piece));
      res.on("end", () => {
        if (res.statusCode !== 200) over(`status ${res.statusCode}`);
        else over(text.includes(word) ? undefined : "another's answer");
      });
      res.on("error", () => over("broken answer"));
    });
    const late = setTimeout(() => {
      over("no answer");
      sent.destroy();
    }, patienceMs);
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
