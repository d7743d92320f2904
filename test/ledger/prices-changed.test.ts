/**
 * A price that changes while calls run, in every process on a database: each call is held and charged by the price of the configuration
 * that it began with, whatever is in force when it ends, and its row can be priced again by that.
 */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hear } from "../support/clients/hear.ts";
import { eventually } from "../support/eventually.ts";
import { repricedRows } from "../support/money/repriced.ts";
import { openAccount, openBooks } from "../support/payer.ts";
import { besideProcesses, type Stage } from "../support/run/processes-on-database.ts";
import {
  eventStream,
  type ScriptedExchange,
  type ScriptedUpstream,
  startScriptedUpstream,
} from "../support/scripted-upstream.ts";
import { chatAnswer } from "../support/vendors.ts";

const clients = 8;
const prompt = 5;

/** The model in one version after another: as it is written, and what a call costs that wrote so many tokens, in millionths. */
const versions: readonly {
  readonly price?: string;
  readonly isGone?: true;
  readonly costOf?: (output: number) => number;
}[] = [
  { price: '{ input: "1", output: "10" }', costOf: (output) => prompt + 10 * output },
  { price: '{ input: "2", output: "20000" }', costOf: (output) => 2 * prompt + 20_000 * output },
  // Without a price the calls of the first account cost nothing.
  { costOf: () => 0 },
  { price: '{ input: "0", output: "0" }', costOf: () => 0 },
  { isGone: true },
  { price: '{ input: "1", output: "3", request: "0.5" }', costOf: (output) => prompt + 3 * output + 500_000 },
  {
    price: '{ input: "1", output: "7", long: [{ above: 4, input: "100", output: "700" }] }',
    costOf: (output) => 100 * prompt + 700 * output,
  },
  { price: '{ input: "1", output: "10" }', costOf: (output) => prompt + 10 * output },
];

/** Its name at the upstream says of which version it is. */
function configOf(baseUrl: string, version: number): string {
  const { price, isGone } = versions[version] ?? {};
  const priced = price === undefined ? "" : `price: ${price}, `;
  const model = `{ id: gpt, family: gpt, kind: chat, ${priced}targets: [{ upstream: openai, model: v-${version} }] }`;
  return `
tiers:
  - { name: Fast, recharge: "0", requests_per_minute: 100000 }
upstreams:
  - { name: openai, kind: openai, base_url: "${baseUrl}", api_key: k }
models:
  - { id: other, family: gpt, kind: chat, price: { input: "1", output: "1" }, targets: [{ upstream: openai, model: o }] }
${isGone ? "" : `  - ${model}`}
`;
}

let upstream: ScriptedUpstream;
/** Calls that have begun and are not answered until a later version is in force. */
let waiting: { readonly version: number; readonly end: () => void }[] = [];
/** Calls of earlier versions do not wait. */
let heldFrom = 0;
let number = 0;

/** Ends the calls that began before a version, by whichever process. */
function endBefore(version: number): void {
  heldFrom = version;
  for (const one of waiting.filter((one) => one.version < version)) one.end();
  waiting = waiting.filter((one) => one.version >= version);
}

function endOrWait(version: number, end: () => void): void {
  if (number % 3 === 0 && version >= heldFrom && waiting.length < clients / 2) waiting.push({ version, end });
  else end();
}

/** Some calls wait; the answer says what it is of. */
async function answer(exchange: ScriptedExchange): Promise<void> {
  const version = Number(exchange.asked.model.slice(2));
  const output = 1 + ((number * 17) % 50);
  number++;
  const usage = { prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output };
  const text = `${version} ${output}`;
  if (!exchange.asked.stream) {
    const end = () => exchange.json(200, chatAnswer({ content: text }, "stop", { usage }));
    endOrWait(version, end);
    return;
  }
  const chunk = (choices: unknown[], more: object = {}) =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices, ...more })}\n\n`;
  exchange.head(200, eventStream);
  await exchange.write(chunk([{ index: 0, delta: { role: "assistant", content: text }, finish_reason: null }]));
  const end = () =>
    exchange.end(`${chunk([{ index: 0, delta: {}, finish_reason: "stop" }])}${chunk([], { usage })}data: [DONE]\n\n`);
  endOrWait(version, end);
}

beforeAll(async () => {
  upstream = await startScriptedUpstream((exchange) => void answer(exchange));
});

afterAll(() => upstream.close());

interface Told {
  readonly id: string;
  readonly status: number;
  readonly version: number;
  readonly output: number;
  /** In millionths of the unit. */
  readonly cost: number;
}

/** Calls until it is told to stop. Returns what was told of each call. */
function load({ ports }: Stage, apiKey: string, until: AbortSignal) {
  const told: Told[] = [];
  const client = async (_: unknown, i: number) => {
    for (let n = i; !until.aborted; n++) {
      const messages = [{ role: "user", content: "Hi" }];
      const body = { model: "gpt", messages, max_tokens: 50, stream: n % 2 === 0 };
      const port = ports[n % ports.length] as number;
      const { status, headers, trailers, text } = await hear({ port }, { path: "/v1/chat/completions", apiKey, body })
        .answer;
      const [, version = -1, output = 0] = /"content":"(\d+) (\d+)"/.exec(text) ?? [];
      const cost = Math.round(
        Number(headers["x-gateway-cost"] ?? trailers["x-gateway-cost"] ?? Number.NaN) * 1_000_000,
      );
      told.push({
        id: String(headers["x-request-id"]),
        status,
        version: Number(version),
        output: Number(output),
        cost,
      });
      if (status !== 200) await delay(5);
    }
  };
  return { told, ended: Promise.all(Array.from({ length: clients }, client)) };
}

describe.each([
  ["two processes", [[], []]],
  ["two workers", [["--workers", "2"]]],
])("of %s", (_, starts) => {
  test("a price that is raised, lowered, left out and given again charges the calls that began with it", async () => {
    heldFrom = 0;
    await besideProcesses(starts, configOf(upstream.baseUrl, 0), async (stage) => {
      const payer = await openAccount(stage, { recharge: 100_000_000_000 });
      const stop = new AbortController();
      const { told, ended } = load(stage, payer.apiKey, stop.signal);
      for (const [version, { costOf }] of versions.entries()) {
        await writeFile(join(stage.database.dataDir, "gateway.yaml"), configOf(upstream.baseUrl, version));
        const begun = told.length;
        const isOf = (one: Told) => (costOf ? one.version === version : one.status === 404);
        await eventually(() =>
          expect(
            told.slice(begun).filter(isOf).length,
            `version ${version}: ${JSON.stringify(told.at(-1))}`,
          ).toBeGreaterThan(clients),
        );
        endBefore(version);
      }
      stop.abort();
      endBefore(versions.length);
      await ended;
      const answered = told.filter(({ status }) => status === 200);
      const due = answered.map(({ id, version, output }) => ({ id, cost: versions[version]?.costOf?.(output) }));
      expect(answered.map(({ id, cost }) => ({ id, cost }))).toEqual(due);
      const books = openBooks(stage.database, stage.storage);
      const rows = async () => {
        const { requests, held } = await books.of(payer);
        const byId = new Map(requests.map((row) => [row.id, row.cost]));
        return { held, calls: requests.length, due: answered.map(({ id }) => ({ id, cost: byId.get(id) })) };
      };
      // Other processes write them in a moment, and give back what they lease.
      await eventually(async () => expect(await rows()).toEqual({ held: 0, calls: answered.length, due }));
      expect(await repricedRows(stage.database)).toMatchObject({ withoutPrice: 0, differing: [] });
    });
  });
});
