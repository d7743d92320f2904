/**
 * What is changed while calls run holds at once, in every process on a database: a lowered limit, a refund, a key that is revoked. No sum
 * goes beyond any of them at any moment, and all sums are proved afterwards.
 */
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hear } from "../support/clients/hear.ts";
import { openAccount, openBooks, type Payer } from "../support/payer.ts";
import { besideProcesses, configOf, type Stage } from "../support/run/processes-on-database.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { chatAnswer } from "../support/vendors.ts";

/** What a call is held for at most, in millionths. It costs some part of that. */
const most = 500;
const clients = 24;
const recharge = 400_000;
const creditLimit = 300_000;
const operatorKey = "operator-of-the-test-0123456789-0123456789";
const lastsMs = 2000;

let upstream: ScriptedUpstream;

beforeAll(async () => {
  let number = 0;
  upstream = await startScriptedUpstream((exchange) => {
    const used = 1 + ((number++ * 17) % 50);
    const usage = { prompt_tokens: 5, completion_tokens: used, total_tokens: used + 5 };
    const answer = () => exchange.json(200, chatAnswer({ content: "Hello" }, "stop", { usage }));
    setTimeout(answer, number % 30);
  });
});

afterAll(() => upstream.close());

/** Runs `work` beside gateways on one database, as these arguments start them. */
function onStage(starts: readonly (readonly string[])[], work: (stage: Stage) => Promise<void>): Promise<void> {
  return besideProcesses(starts, configOf(upstream.baseUrl, settings), work);
}

const settings = `
operator_key: ${operatorKey}
tiers:
  - { name: Fast, recharge: "0", requests_per_minute: 100000 }`;

const ask = async (port: number, path: string, apiKey: string, body: unknown) => {
  const { status, text } = await hear({ port }, { path, apiKey, body }).answer;
  return { status, json: JSON.parse(text) as unknown };
};

/** Calls until it is told to stop. Returns the statuses with the moments at which the calls began. */
function load({ ports }: Stage, apiKey: string, until: AbortSignal) {
  const made: { readonly status: number; readonly at: number }[] = [];
  const client = async (_: unknown, i: number) => {
    for (let n = i; !until.aborted; n++) {
      const at = performance.now();
      const body = { model: "gpt", messages: [{ role: "user", content: "Hi" }], max_tokens: 50 };
      const { status } = await ask(ports[n % ports.length] as number, "/v1/chat/completions", apiKey, body);
      made.push({ status, at });
      if (status !== 200) await delay(5);
    }
  };
  return { made, ended: Promise.all(Array.from({ length: clients }, client)) };
}

interface Sums {
  readonly spent: number;
  readonly keyHeld: number;
  readonly balance: number;
  readonly held: number;
}

const upTo = (most: number) => Math.floor(Math.random() * most);

/** Operator changes an account and its key while calls run, and remembers what must hold from then on. */
class Operator {
  readonly #stage: Stage;
  readonly #payer: Payer;
  #limit = creditLimit;
  refunded = 0;
  lowered = 0;

  constructor(stage: Stage, payer: Payer) {
    this.#stage = stage;
    this.#payer = payer;
  }

  /** The sums as any other process reads them at this moment. */
  async look(): Promise<Sums> {
    const [sums] = await this.#stage.database.query<Sums>(
      `SELECT k.spent, k.held AS "keyHeld", a.balance, a.held FROM accounts_now a
       JOIN api_keys_now k ON k.account_id = a.id WHERE k.id = ?`,
      this.#payer.keyId,
    );
    if (!sums) throw new Error("the key is gone");
    expect(sums.spent + sums.keyHeld).toBeLessThanOrEqual(this.#limit);
    expect(sums.balance).toBeGreaterThanOrEqual(sums.held);
    return sums;
  }

  /** Lowers the limit to little more than is spent and held, and raises it where hardly any call would be answered. */
  async limit({ spent, keyHeld }: Sums): Promise<void> {
    const { accountId, keyId } = this.#payer;
    const isShort = this.#limit - spent < 10 * most;
    const limit = isShort ? spent + 200 * most : spent + keyHeld + upTo(40 * most);
    if (limit >= this.#limit && !isShort) return;
    if (isShort) this.#limit = limit;
    const { kind } = await this.#stage.storage.keys.update(accountId, keyId, { credit_limit: limit });
    if (kind !== "updated") return;
    this.#limit = limit;
    this.lowered++;
  }

  async refund(): Promise<void> {
    const port = this.#stage.ports[upTo(this.#stage.ports.length)] as number;
    const amount = 1 + upTo(3000);
    const body = { account: this.#payer.accountId, kind: "ENTRY_KIND_REFUND", amount: String(amount) };
    const { status } = await ask(port, "/modelgateway.v1.OperatorService/RecordEntry", operatorKey, body);
    if (status === 200) this.refunded += amount;
  }
}

describe.each([
  ["two processes", [[], []]],
  ["two workers", [["--workers", "2"]]],
])("of %s", (_, starts) => {
  test("a limit that is lowered, refunds, and a key that is revoked hold against calls that run", async () => {
    await onStage(starts, async (stage) => {
      const payer = await openAccount(stage, { recharge, creditLimit });
      const operator = new Operator(stage, payer);
      const stop = new AbortController();
      const { made, ended } = load(stage, payer.apiKey, stop.signal);
      // On a slow machine each has to happen once all the same.
      const isMade = () => operator.lowered > 0 && operator.refunded > 0 && made.some(({ status }) => status === 200);
      for (const until = performance.now() + lastsMs; performance.now() < until || !isMade(); await delay(10)) {
        await operator.limit(await operator.look());
        await operator.refund();
      }
      await stage.storage.keys.revoke(payer.keyId, Date.now(), payer.accountId);
      const knownAt = performance.now() + 1000;
      await delay(1200);
      stop.abort();
      await ended;
      const answered = made.filter(({ status }) => status === 200);
      expect(answered.filter(({ at }) => at > knownAt)).toEqual([]);
      const { requests, balance, spent, held, keyHeld } = await openBooks(stage.database, stage.storage).of(payer);
      const cost = requests.reduce((sum, one) => sum + one.cost, 0);
      const left = recharge - operator.refunded - cost;
      expect({ balance, spent, held, keyHeld }).toEqual({ balance: left, spent: cost, held: 0, keyHeld: 0 });
      expect(requests.map(({ outcome, waived }) => [outcome, waived])).toEqual(answered.map(() => [1, 0]));
    });
  });
});
