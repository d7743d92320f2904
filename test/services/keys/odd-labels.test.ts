/**
 * Tags and owners of odd characters come back as they were given, through every door: JSON, RPC, the command line, the CSV of calls and its
 * spreadsheets. No metric and no label of one has them.
 */
import { create as createMessage } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { totalsCsv } from "../../../dashboard/src/pages/usage/totals-csv.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { RequestTotalsSchema } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { mostOfKey, ownerBounds, tagBounds } from "../../../src/call/key-bounds.ts";
import { UsageError } from "../../../src/commands/line/errors.ts";
import { readKeyLimits } from "../../../src/commands/line/key-options.ts";
import { csvLines } from "../../../src/services/usage/requests-csv.ts";
import type { CallRow } from "../../../src/storage/columns.ts";
import { hurriedClock, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({}, { admin: true, clock: hurriedClock() });
});
afterAll(() => gateway.close());

const odd = [
  "=1+1",
  "@SUM(A1)",
  "\u{ff1d}1+1",
  "\u{fe62}1",
  'quoted "twice"',
  "comma, semicolon; and 'apostrophe'",
  'back\\slash {label="x"}',
  "日本語",
  "é",
  "👩‍👩‍👧‍👦 family",
  "\u202Eright to left",
  "__proto__",
  "constructor",
  "null",
  "%00%0A",
  "<script>",
  "👍".repeat(64),
];
const owner = 'O\'Brien "Bo", =cmd, 山田 👍';

async function send(path: string, body: string) {
  const answer = await fetch(`${gateway.rootUrl}/api/v1/user/admin/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body,
  });
  const { data, message } = (await answer.json()) as { data: { id: string; secret: string }; message: string };
  return { status: answer.status, data, message };
}

const create = (of: object) => send("create-api-token", JSON.stringify({ name: "odd", ...of }));

/** Splits a line of RFC 4180 into its cells. */
function cellsOf(line: string): string[] {
  return [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain = ""]) =>
    quoted === undefined ? plain : quoted.replaceAll('""', '"'),
  );
}

describe("odd tags and owners", () => {
  test("are told as they were given, and found by, over HTTP and RPC", async () => {
    const made = await create({ tags: odd, owner });
    expect(made).toMatchObject({ status: 200, data: { tags: odd, owner } });
    const headers = { authorization: `Bearer ${gateway.apiKey}` };
    for (const transport of [
      createGrpcTransport({ baseUrl: gateway.rootUrl }),
      createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" }),
    ]) {
      const client = createClient(KeyService, transport);
      for (const tag of odd) {
        const { keys } = await client.listKeys({ tag }, { headers });
        expect([tag, keys.map(({ id }) => id)]).toEqual([tag, [made.data.id]]);
        expect(keys[0]).toMatchObject({ tags: odd, owner });
      }
      const again = await client.createKey({ name: "again", tags: { tags: odd }, owner: { name: owner } }, { headers });
      expect(again.key).toMatchObject({ tags: odd, owner });
      await client.deleteKey({ id: again.key?.id ?? "" }, { headers });
    }
  });

  const plain = [..."=+-@\t\r"];
  const alike = [
    ..."\u{ff1d}\u{ff0b}\u{ff0d}\u{ff20}\u{fe66}\u{fe62}\u{fe63}\u{fe6b}\u{207c}\u{207a}\u{207b}\u{208c}\u{208a}\u{208b}",
  ];
  const call = new Proxy({}, { get: () => null }) as CallRow;
  const ofCalls = (owner: string) => csvLines([call], () => ({ id: "", tags: [], owner }));
  const ofTotals = (owner: string) => {
    const at = timestampFromMs(0);
    const groups = [createMessage(RequestTotalsSchema, { group: "own_1" })];
    const csv = totalsCsv({ groups, by: "owner", nameOf: () => owner, from: at, to: at, unit: "" });
    return csv.slice(csv.indexOf("\n") + 1);
  };

  test.each([...plain, ...alike])(
    "that begin with %j are no formulas in the CSV, whatever is passed over before it",
    (sign) => {
      for (const before of [
        "",
        " ",
        "\u{a0} ",
        "\0",
        "\u{feff}",
        "\u{2066}",
        '"',
        "a;",
        'a; "',
        "a\n",
        "a\t\u{3000}",
      ]) {
        const harmless = `${before}'${sign}1+1`;
        expect([before, cellsOf(ofCalls(`${before}${sign}1+1`).slice(0, -2)).at(-1)]).toEqual([before, harmless]);
        expect([before, cellsOf(ofTotals(`${before}${sign}1+1`))[2]]).toEqual([before, harmless]);
      }
    },
  );

  test("that are long and blank are written in one pass", () => {
    const owner = `${"\n".repeat(100_000)}a`;
    expect(ofCalls(owner).endsWith(`"${owner}"\r\n`)).toBe(true);
    expect(ofTotals(owner)).toContain(`"${owner}"`);
  });

  test("stand in the CSV of calls in one cell each, which no spreadsheet evaluates, and in no metric", async () => {
    const { data } = await create({ tags: odd, owner: '=HYPERLINK(1);=HYPERLINK(2);"=HYPERLINK(3)' });
    const called = await fetch(`${gateway.baseUrl}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${data.secret}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "embedded-chat", messages: [{ role: "user", content: "say: yes" }] }),
    });
    expect(called.status).toBe(200);
    await called.text();
    const csv = await fetch(`${gateway.rootUrl}/api/v1/usage/requests.csv`, {
      headers: { authorization: `Bearer ${gateway.apiKey}` },
    });
    const [head = "", line = ""] = (await csv.text()).split("\r\n");
    const cells = cellsOf(line);
    expect(cells).toHaveLength(head.split(",").length);
    const harmless = odd.map((tag) => (/^[=@\u{ff1d}\u{fe62}]/u.test(tag) ? `'${tag}` : tag));
    expect(cells.slice(-2)).toEqual([harmless.join("; "), `'=HYPERLINK(1);'=HYPERLINK(2);"'=HYPERLINK(3)`]);
    // Numbers takes each cell by its plain characters.
    for (const cell of cells) expect(cell.normalize("NFKC")).not.toMatch(/^[\s"]*[=+\-@]/);
    // A spreadsheet of a country that writes decimals with a comma parts cells by semicolons, and drops the quotes before what is in one.
    for (const cell of line.split(";")) expect(cell).not.toMatch(/^[ "]*[=+\-@]/);
    const metrics = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
    expect(metrics).toContain("model_gateway_requests_total");
    for (const text of [...odd.filter((tag) => tag.length > 4 && tag !== "constructor"), "HYPERLINK"])
      expect(metrics).not.toContain(text);
  });

  test.each([
    ["half a character", String.raw`"\ud83d"`],
    ["blank in all its characters", JSON.stringify("\u200b\u2003\u00a0")],
    ["with a control character beyond ASCII", JSON.stringify("a\u0085b")],
    ["one character too long", JSON.stringify("👍".repeat(65))],
    ["that are no text", "7"],
  ])("are refused where one is %s", async (_, tag) => {
    const { status, message } = await send("create-api-token", `{"name":"odd","tags":["fine",${tag}]}`);
    expect([status, message]).toEqual([400, expect.any(String)]);
  });
});

describe("the command line", () => {
  test("takes what the contract takes, and no more", () => {
    expect(readKeyLimits({ tag: odd, owner })).toEqual({ tags: { tags: odd }, owner: { name: owner } });
    for (const tag of ["", "\u200b", "a\u0085b", "👍".repeat(tagBounds.maxLength + 1)])
      expect(() => readKeyLimits({ tag: ["fine", tag] })).toThrow(UsageError);
    expect(() => readKeyLimits({ owner: "x".repeat(ownerBounds.maxLength + 1) })).toThrow(UsageError);
    expect(() => readKeyLimits({ rpm: String(mostOfKey.requestsPerMinute + 1) })).toThrow(/from 1 to 1000000,/);
    expect(() => readKeyLimits({ tpm: "0" })).toThrow(/from 1 to 1000000000,/);
  });

  test("reads its bounds from the contract", () => {
    expect(mostOfKey).toEqual({
      ...{ requestsPerMinute: 1_000_000, tokensPerMinute: 1_000_000_000, maxConcurrent: 1_000_000, creditLimit: 1e15 },
      ...{ modelRates: 100, allowedIps: 100, tags: 20, budgets: 10 },
    });
    expect([tagBounds.maxLength, ownerBounds.maxLength]).toEqual([64, 200]);
  });
});
