/** Money: clients that leave before the bill, upstreams that tell too much, and a database that another process holds. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { billed, billedAfterMs } from "../behaviours.ts";
import { endChild } from "../canary.ts";
import { readCounts, scrape } from "../measure.ts";
import { ask, inTurns, open, post, tally } from "../raw.ts";
import { chat, chatPath, faultsOf, type Row, type Stage, scaled } from "../row.ts";

/** What an account has, in millionths of the unit, once nothing is held any more. */
async function balance({ gateway: { port, metricsUrl, keys }, patienceMs }: Stage): Promise<number> {
  for (const end = performance.now() + Math.max(7_000, patienceMs); performance.now() < end; await delay(100)) {
    const running = [...(await readCounts(metricsUrl))].filter(([name]) =>
      name.startsWith('requests_running{form="stream"'),
    );
    if (running.every(([, value]) => value === 0)) break;
  }
  const path = "/modelgateway.v1.AccountService/GetAccount";
  const { status, body } = await ask(port, { path, key: keys.billed, body: "{}" });
  if (status !== 200) throw new Error(`the account is not told: ${status} ${body.slice(0, 100)}`);
  return Number((JSON.parse(body) as { account: { balance?: string } }).account.balance ?? 0);
}

/** Units a million tokens are millionths a token: 1 of input, 10 of output. */
const costOf = ({ prompt_tokens, completion_tokens }: typeof billed) => prompt_tokens + completion_tokens * 10;

const leaving: Row = {
  ...{ name: "leaving-before-the-bill", item: 7, short: true, warm: 0 },
  attack: "120 streams with 20,000 reasoning tokens, left 30 ms before their usage is told",
  holds: "the upstream is read on to its usage: each is charged in full",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const before = await balance(stage);
    const body = chat("bill", "x", { stream: true, max_tokens: 30_000 });
    const left = await inTurns(120, 30, stage.signal, async () => {
      const socket = await open(port);
      const begun = once(socket, "data", { signal: AbortSignal.timeout(stage.patienceMs) });
      socket.write(post(chatPath, keys.billed, body));
      await begun;
      await delay(billedAfterMs / 2);
      socket.destroy();
    });
    const charged = before - (await balance(stage));
    const full = 120 * costOf(billed);
    const told = `${left} streams: ${charged} charged of ${full}`;
    return {
      told,
      faults: faultsOf({ "less is charged than was used": charged < full, "more is charged": charged > full }),
    };
  },
};

/** A call of these holds no more: some hundred bytes of input, and 50 tokens of output. */
const mostHeld = 1_500;

const telling: Row = {
  ...{ name: "upstream-tells-too-much", item: 7, short: true, warm: 0 },
  attack: "an upstream that tells a usage of 9e15 tokens, 1e308, negative and broken ones",
  holds: "no call is charged more than its hold",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const before = await balance(stage);
    const told = ["9000000000000000", "1e308", "9007199254740993", "-5", "1.5", '"7"', "1e20"];
    const statuses: number[] = [];
    for (const text of told) {
      for (const stream of [false, true]) {
        const body = chat("greedy", text, { stream });
        statuses.push((await ask(port, { path: chatPath, key: keys.billed, body })).status);
      }
    }
    const charged = before - (await balance(stage));
    const most = statuses.length * mostHeld;
    const faults = faultsOf({
      [`${charged} charged, ${most} held at most`]: charged > most,
      "money came back": charged < 0,
    });
    return { told: `${statuses.length} calls: ${tally(statuses)}; ${charged} millionths charged`, faults };
  },
};

const locked: Row = {
  ...{ name: "locked-database", item: 8, warm: 0 },
  attack: "another process holds the database for 3 s while an account with scarce credit calls",
  holds: "it waits asynchronously; others go on",
  async run(stage) {
    const { port, database, keys } = stage.gateway;
    const { metricsUrl } = stage.gateway;
    // Reading it begins it anew.
    await scrape(metricsUrl);
    const child = fork(join(import.meta.dirname, "../lock-process.ts"), [database, "3000"]);
    await once(child, "message", { signal: stage.signal });
    const statuses: number[] = [];
    await inTurns(scaled(stage, 20), 5, stage.signal, async () => {
      statuses.push((await ask(port, { path: chatPath, key: keys.scarce, body: chat("sink", "x") })).status);
    });
    const longest = (await scrape(metricsUrl)).get("nodejs_eventloop_lag_max_seconds") ?? Number.NaN;
    const isOver =
      child.exitCode !== null || (await Promise.race([once(child, "exit").then(() => true), delay(5_000, false)]));
    if (!isOver) await endChild(child);
    const faults = faultsOf({ "a 500": statuses.includes(500), "no answer": statuses.includes(0) });
    return { told: `${tally(statuses)}; longest wait of the event loop ${Math.round(longest * 1000)} ms`, faults };
  },
};

export const money: readonly Row[] = [leaving, telling, locked];
