/**
 * The operator's RPCs for the configuration, over a socket: changes make versions, whole or not at all; what is wrong is told with its
 * place; of two who save at once the second is told what the first has done; and nothing that comes out holds a secret.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { askRpc, bearer, signIn } from "../../support/dashboard/session.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { onSqlite } from "../../support/storage/test-database.ts";

const operatorKey = "operator-key-of-the-test-for-configurations";
const canary = "sk-canary-51f0c9d2e7-never-shown";
let gateway: TestGateway;
let time = Date.UTC(2026, 0, 2, 3, 4, 5);
/** All that was answered. */
const told: string[] = [];

beforeAll(async () => {
  gateway = await startTestGateway({ operatorKey }, { clock: () => (time += 10) });
});
afterAll(() => gateway.close());

const service = "OperatorService";

async function ask(name: string, request: JsonObject = {}, headers = bearer(operatorKey)): Promise<JsonObject> {
  const answer = await askRpc(gateway, `${service}.${name}`, request, headers);
  told.push(JSON.stringify(answer.json));
  expect(answer.status, JSON.stringify(answer.json)).toBe(200);
  return answer.json;
}

interface Refused {
  readonly status: number;
  readonly reason: string | undefined;
  readonly message: string;
  readonly param: string | undefined;
  readonly faults: readonly { readonly path?: string; readonly message: string }[];
}

async function refused(name: string, request: JsonObject): Promise<Refused> {
  const { status, reason, json } = await askRpc(gateway, `${service}.${name}`, request, bearer(operatorKey));
  told.push(JSON.stringify(json));
  const [detail] = json.details as unknown as { debug: { param?: string; faults?: Refused["faults"] } }[];
  const { param, faults = [] } = detail?.debug ?? {};
  return { status, reason, message: String(json.message), param, faults };
}

async function highest(): Promise<number> {
  return ((await ask("GetConfiguration")).configuration as { version?: number }).version ?? 0;
}

async function change(...changes: JsonObject[]): Promise<JsonObject> {
  return ask("ChangeConfiguration", { baseVersion: await highest(), changes });
}

async function refuse(...changes: JsonObject[]): Promise<Refused> {
  return refused("ChangeConfiguration", { baseVersion: await highest(), changes });
}

const local = (more: JsonObject = {}): JsonObject => ({
  upstream: { name: "local", kind: "openai", base_url: "http://127.0.0.1:9/v1", ...more },
});
const model = (id: string, more: JsonObject = {}): JsonObject => ({
  model: { id, family: "f", kind: "chat", targets: [{ upstream: "local", model: id }], ...more },
});

test("an empty one has no version, and says that it is in force", async () => {
  expect((await ask("GetConfiguration")).configuration).toMatchObject({ document: {}, effective: {}, inForce: true });
});

test("a change makes a version: masked, told, and audited without its secret", async () => {
  const { headers, email } = await signIn(gateway, time, { operator: true });
  const request = { baseVersion: 0, note: "the first", changes: [local({ api_key: canary }), model("one")] };
  const { configuration, differences, changed } = await ask("ChangeConfiguration", request, headers);
  expect(configuration).toMatchObject({ version: 1, note: "the first", inForce: true });
  expect(configuration).toMatchObject({ author: { kind: "user", name: email } });
  expect(configuration).toMatchObject({ document: { upstreams: [{ name: "local", api_key: "…hown" }] } });
  expect(changed).toEqual(["upstreams[local]", "models[one]"]);
  expect(differences).toMatchObject([
    { path: "upstreams[local]", kind: "DIFFERENCE_KIND_ADDED" },
    { path: "models[one]", kind: "DIFFERENCE_KIND_ADDED" },
  ]);
  expect(((await ask("ListConfigurations")).versions as JsonObject[])[0]).toMatchObject({
    ...{ version: 1, note: "the first", changed: ["upstreams[local]", "models[one]"] },
  });
  const { acts } = await ask("ListAudit", { action: "OperatorService.ChangeConfiguration" });
  expect(acts as JsonObject[]).toHaveLength(1);
  const [act] = acts as { details: string }[];
  expect(JSON.parse(act?.details ?? "")).toEqual({
    ...{ base_version: 0, note: "the first", version: 1, changed: ["upstreams[local]", "models[one]"] },
  });
});

test("a dry run tells the difference, makes no version, and is no event", async () => {
  const before = await highest();
  const changes = [{ settings: { retries: { attempts: 2 } } }];
  const answer = await ask("ChangeConfiguration", { baseVersion: before, changes, dryRun: true });
  expect(answer).toMatchObject({
    differences: [{ path: "retries.attempts", before: "3", after: "2" }],
    changed: ["retries"],
  });
  expect(answer).toMatchObject({ configuration: { version: before, document: { retries: { attempts: 2 } } } });
  expect(await highest()).toBe(before);
  const { acts } = await ask("ListAudit", { action: "OperatorService.ChangeConfiguration" });
  expect(acts as JsonObject[]).toHaveLength(1);
});

test("a change that changes nothing makes no version", async () => {
  const before = await highest();
  expect(await change(local({ api_key: "…hown" }))).not.toHaveProperty("differences");
  expect(await highest()).toBe(before);
});

test("a mask that is sent back leaves the secret, which is sealed where it is stored", async () => {
  const before = await highest();
  await change(local({ api_key: "…hown", headers: { "x-team": canary } }));
  const { differences } = await ask("CompareConfigurations", { from: before, to: before + 1 });
  expect(differences).toEqual([
    { path: "upstreams[local].headers", kind: "DIFFERENCE_KIND_ADDED", after: '{"x-team":"…hown"}' },
  ]);
  const row = await gateway.storage.configurations.find();
  expect(row?.document).not.toContain(canary);
  expect(row?.document).toMatch(/"api_key":"sealed:1:/);
});

onSqlite(() =>
  test("the key lies beside the database, for its owner alone", () => {
    const { mode } = statSync(join(gateway.database.dataDir, "configuration.key"));
    expect(mode & 0o777).toBe(0o600);
  }),
);

describe("what is wrong", () => {
  test("is told with each place, and nothing is stored", async () => {
    const before = await highest();
    const { status, reason, faults } = await refuse(
      local({ base_url: "ftp://x", retry: 1 }),
      model("two", { kind: "image", targets: [{ upstream: "far", model: "m" }] }),
      { settings: { registration: "all" } },
    );
    expect([status, reason]).toEqual([400, "INVALID_VALUE"]);
    expect(faults).toEqual([
      {
        ...{ path: "registration", message: "expected one of open, invitation, closed" },
        ...{ reason: "FAULT_REASON_ONE_OF_EXPECTED", parameters: { values: "open, invitation, closed" } },
      },
      {
        ...{ path: "upstreams[local].base_url", message: "expected an http(s) address" },
        reason: "FAULT_REASON_ADDRESS_EXPECTED",
      },
      {
        ...{ path: "upstreams[local].retry", message: "there is no such key" },
        reason: "FAULT_REASON_KEY_UNKNOWN",
      },
      {
        ...{ path: "models[two].kind", message: "expected one of chat, embedding, speech" },
        ...{ reason: "FAULT_REASON_ONE_OF_EXPECTED", parameters: { values: "chat, embedding, speech" } },
      },
      {
        ...{ path: "models[two].targets[0].upstream", message: 'there is no upstream "far"' },
        ...{ reason: "FAULT_REASON_UPSTREAM_UNKNOWN", parameters: { name: "far" } },
      },
    ]);
    expect(await highest()).toBe(before);
  });

  test.each<[what: string, change: JsonObject, path: string, words: RegExp]>([
    [
      "weights of 0 everywhere",
      model("one", { targets: [{ upstream: "local", model: "m", weight: 0 }] }),
      "models[one].targets",
      /give one a weight/,
    ],
    [
      "a rate of 0",
      { settings: { catalogue_prices: { dollar: "0" } } },
      "catalogue_prices.dollar",
      /more than 0: a factor of 0 would/,
    ],
    ["a key that is bound to the process", { settings: { port: 1 } }, "port", /only gateway\.yaml may have it/],
    ["a document with such a key", { document: { data_dir: "/tmp" } }, "data_dir", /only gateway\.yaml may have it/],
    [
      "a reference to a variable",
      local({ api_key: `\${PATH}` }),
      "upstreams[local].api_key",
      /only gateway\.yaml may refer to a variable/,
    ],
    [
      "a model that loses its only upstream",
      { removeUpstream: "local" },
      "models[one].targets[0].upstream",
      /Remove the model too, give it another target, or disable/,
    ],
    ["an upstream that is not there", { removeUpstream: "far" }, "upstreams[far]", /there is none of this name/],
    ["lists among settings", { settings: { models: [] } }, "models", /one by one/],
    ["a second model of a name", model("two", { aliases: ["one"] }), "models[two].aliases[0]", /a second model "one"/],
    [
      "a stored secret for another address",
      local({ base_url: "http://thief.example/v1", api_key: "…hown" }),
      "upstreams[local].api_key",
      /the address has changed/,
    ],
    [
      "a price that is a number",
      model("one", { price: { input: 1.5 } }),
      "models[one].price.input",
      /decimal in quotes/,
    ],
  ])("%s", async (_, asked, path, words) => {
    const { reason, faults } = await refuse(asked);
    expect(reason).toBe("INVALID_VALUE");
    expect(faults).toEqual([expect.objectContaining({ path, message: expect.stringMatching(words) as string })]);
  });

  test("is a change that is none, or two at once", async () => {
    for (const asked of [{}, { removeModel: "a", removeUpstream: "b" }]) {
      expect(await refuse(asked)).toMatchObject({ reason: "INVALID_VALUE", param: "changes[0]" });
    }
  });

  test("an upstream goes together with its model", async () => {
    await change({ removeUpstream: "local" }, { removeModel: "one" });
    expect((await ask("GetConfiguration")).configuration).toMatchObject({ document: {} });
    const { differences } = await ask("RollBackConfiguration", {
      version: (await highest()) - 1,
      baseVersion: await highest(),
    });
    expect(differences as JsonObject[]).toHaveLength(2);
  });
});

describe("versions", () => {
  test("of two who save at once the second is told what the first has changed", async () => {
    const base = await highest();
    const asked = (attempts: number) => ({ baseVersion: base, changes: [{ settings: { retries: { attempts } } }] });
    const answers = await Promise.all(
      [2, 3, 4].map((attempts) =>
        askRpc(gateway, `${service}.ChangeConfiguration`, asked(attempts), bearer(operatorKey)),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409]);
    const late = await refused("ChangeConfiguration", asked(5));
    expect(late).toMatchObject({ status: 409, reason: "CONFLICT", param: "base_version" });
    expect(late.message).toMatch(new RegExp(`to version ${base + 1}: retries\\.attempts\\.`));
    expect(await highest()).toBe(base + 1);
  });

  test("are rolled back as a new one, with their secrets, and listed in pages", async () => {
    await change(local({ api_key: "another-secret-of-its-own" }));
    const base = await highest();
    await ask("RollBackConfiguration", { version: 2, baseVersion: base, note: "back" });
    const { differences = [] } = await ask("CompareConfigurations", { from: 2 });
    expect(differences).toEqual([]);
    const { configuration } = await ask("GetConfiguration", { version: 2 });
    expect(configuration).toMatchObject({ version: 2, document: { upstreams: [{ api_key: "…hown" }] } });
    expect(configuration).not.toHaveProperty("inForce", true);
    const versions: number[] = [];
    for (let pageToken: string | undefined; ; ) {
      const page = await ask("ListConfigurations", { pageSize: 2, ...(pageToken === undefined ? {} : { pageToken }) });
      versions.push(...(page.versions as { version: number }[]).map(({ version }) => version));
      pageToken = page.nextPageToken as string | undefined;
      if (pageToken === undefined) break;
    }
    expect(versions).toEqual(Array.from({ length: base + 1 }, (_, i) => base + 1 - i));
  });

  test("that are not there are refused", async () => {
    expect(await refused("GetConfiguration", { version: 999 })).toMatchObject({ status: 404, param: "version" });
    expect(await refused("CompareConfigurations", { from: 1, to: 999 })).toMatchObject({ status: 404 });
    expect(await refused("RollBackConfiguration", { version: 999, baseVersion: await highest() })).toMatchObject({
      status: 404,
    });
    expect(await refused("ChangeConfiguration", { baseVersion: 999, changes: [{ settings: {} }] })).toMatchObject({
      status: 404,
    });
  });
});

test("keys that open no account cannot read or change any of it", async () => {
  for (const name of ["GetConfiguration", "ChangeConfiguration", "ListConfigurations", "TestUpstream"]) {
    const { status } = await askRpc(
      gateway,
      `${service}.${name}`,
      { baseVersion: 0, changes: [{ settings: {} }] },
      bearer(gateway.apiKey),
    );
    expect([401, 403], name).toContain(status);
  }
});

test("nothing that came out holds a secret: answers, errors, differences, audit events, the log, the database", async () => {
  const { acts } = await ask("ListAudit", { pageSize: 1000 });
  const rows = await gateway.database.query("SELECT document FROM configurations");
  const all = [...told, JSON.stringify(acts), gateway.logged(), JSON.stringify(rows)].join("\n");
  expect(all).toContain("…hown");
  expect(all).not.toContain(canary);
  expect(all).not.toContain("another-secret-of-its-own");
});
