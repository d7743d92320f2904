/** Limits, tags and owners of keys through the key-management interface: what is stored, told back, filtered by, and refused. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hurriedClock, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({}, { admin: true, clock: hurriedClock() });
});
afterAll(() => gateway.close());

interface Reply {
  readonly status: number;
  readonly data: Record<string, unknown>;
  readonly message: string;
}

async function send(path: string, body: object): Promise<Reply> {
  const answer = await fetch(`${gateway.rootUrl}/api/v1/user/admin/${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const { data, message } = (await answer.json()) as Reply;
  return { status: answer.status, data, message };
}

const all = {
  requests_per_minute: 60,
  tokens_per_minute: 100_000,
  model_rates: [
    { model: "embedded-chat", requests_per_minute: 5, tokens_per_minute: 900 },
    { model: "family:embedded", tokens_per_minute: 5000 },
  ],
  max_concurrent: 4,
  allowed_ips: ["192.0.2.7", "198.51.100.0/24", "2001:db8::/32"],
  tags: ["team search", "prod"],
  owner: "Ada Lovelace",
};
const nothing = { model_rates: [], allowed_ips: [], tags: [] };

describe("a key", () => {
  test("is created with all of them, and told with them", async () => {
    const made = await send("create-api-token", { name: "all", ...all });
    expect(made).toMatchObject({ status: 200, data: all });
    const list = (await send("get-api-tokens", {})).data as unknown as readonly object[];
    expect(list.find((key) => (key as { id: string }).id === made.data.id)).toMatchObject(all);
  });

  test("without any is told without", async () => {
    const { data } = await send("create-api-token", { name: "none" });
    expect(data).toMatchObject(nothing);
    for (const name of ["requests_per_minute", "tokens_per_minute", "max_concurrent", "owner"])
      expect(data).not.toHaveProperty(name);
  });

  test("keeps what an update leaves out, and loses what it names empty", async () => {
    const { id } = (await send("create-api-token", { name: "changed", ...all })).data;
    expect((await send("update-api-token", { id, name: "renamed" })).data).toMatchObject({ name: "renamed", ...all });
    const lower = { requests_per_minute: 1, tags: ["one"] };
    expect((await send("update-api-token", { id, ...lower })).data).toMatchObject({ ...all, ...lower });
    const cleared = await send("update-api-token", {
      ...{ id, requests_per_minute: "", tokens_per_minute: null, model_rates: [], max_concurrent: "" },
      ...{ allowed_ips: [], tags: [], owner: "" },
    });
    expect(cleared).toMatchObject({ status: 200, data: nothing });
    for (const name of ["requests_per_minute", "tokens_per_minute", "max_concurrent", "owner"])
      expect(cleared.data).not.toHaveProperty(name);
  });

  test("has each tag and address once, without what stands around them, and IPv4 addresses as such", async () => {
    const made = await send("create-api-token", {
      name: "trimmed",
      tags: [" a ", "a", "b"],
      allowed_ips: ["192.0.2.7", "::FFFF:192.0.2.7", "::ffff:198.51.100.0/120", "2001:DB8::1"],
      owner: "  Ada ",
    });
    const allowed_ips = ["192.0.2.7", "198.51.100.0/24", "2001:db8::1"];
    expect(made.data).toMatchObject({ tags: ["a", "b"], allowed_ips, owner: "Ada" });
  });

  test("may be used from a network of mapped IPv4 addresses, which is that of IPv4", async () => {
    const made = await send("create-api-token", {
      name: "mapped",
      allowed_ips: ["::ffff:127.0.0.1/120", "::ffff:198.51.100.7/96"],
    });
    expect(made.data).toMatchObject({ allowed_ips: ["127.0.0.1/24", "198.51.100.7/0"] });
    const { secret } = made.data as { secret: string };
    const called = await fetch(`${gateway.baseUrl}/models`, { headers: { authorization: `Bearer ${secret}` } });
    expect(called.status).toBe(200);
  });

  test("is found by its tag and its owner, page by page", async () => {
    const ids = [];
    for (let i = 0; i < 5; i++)
      ids.push(
        (await send("create-api-token", { name: `t${i}`, tags: ["paged"], owner: i < 2 ? "Bo" : "Cy" })).data.id,
      );
    const found = async (body: object) =>
      ((await send("get-api-tokens", body)).data as unknown as readonly { id: string }[]).map(({ id }) => id);
    expect(await found({ tag: "paged" })).toEqual(ids);
    expect(await found({ tag: "paged", owner: "Bo" })).toEqual(ids.slice(0, 2));
    expect(await found({ tag: "page" })).toEqual([]);
    expect(await found({ tag: "paged", page_size: 3 })).toEqual(ids.slice(0, 3));
  });
});

describe("is refused, with the field at fault:", () => {
  const refusals: Readonly<Record<string, readonly [object, RegExp]>> = {
    "a rate of 0": [{ requests_per_minute: 0 }, /requests_per_minute/],
    "a rate below 0": [{ tokens_per_minute: -1 }, /tokens_per_minute/],
    "a rate that is no whole number": [{ requests_per_minute: 1.5 }, /requests_per_minute/],
    "a rate beyond all": [{ tokens_per_minute: 1_000_000_001 }, /tokens_per_minute/],
    "no call at a time": [{ max_concurrent: 0 }, /max_concurrent/],
    "a rate of a model that is not served": [
      { model_rates: [{ model: "gone", requests_per_minute: 1 }] },
      /model_rates\[0\]\.model.*`gone`/,
    ],
    "a rate of a model without a number": [{ model_rates: [{ model: "embedded-chat" }] }, /model_rates\[0\]/],
    "a rate without a model": [{ model_rates: [{ requests_per_minute: 1 }] }, /model_rates\[0\]\.model/],
    "two rates of one model": [
      { model_rates: [1, 2].map((requests_per_minute) => ({ model: "embedded-chat", requests_per_minute })) },
      /model_rates\[1\]\.model/,
    ],
    "an unknown field of a rate": [
      { model_rates: [{ model: "embedded-chat", requests_per_minute: 1, rpm: 2 }] },
      /rpm/,
    ],
    "an address that is none": [{ allowed_ips: ["192.0.2.7", "192.0.2.256"] }, /allowed_ips\[1\]/],
    "a network that is too narrow": [{ allowed_ips: ["192.0.2.0/33"] }, /allowed_ips\[0\]/],
    "a network without a number": [{ allowed_ips: ["2001:db8::/"] }, /allowed_ips\[0\]/],
    "a host's name": [{ allowed_ips: ["example.com"] }, /allowed_ips\[0\]/],
    "an address with a zone": [{ allowed_ips: ["fe80::1%eth0"] }, /allowed_ips\[0\]/],
    "too many addresses": [{ allowed_ips: Array.from({ length: 101 }, (_, i) => `192.0.2.${i}`) }, /allowed_ips/],
    "a blank tag": [{ tags: ["a", " "] }, /tags\[1\]/],
    "a tag that is too long": [{ tags: ["x".repeat(65)] }, /tags\[0\]/],
    "a tag with a line break": [{ tags: ["a\nb"] }, /tags\[0\]/],
    "too many tags": [{ tags: Array.from({ length: 21 }, (_, i) => `t${i}`) }, /tags/],
    "tags that are no list": [{ tags: "a" }, /tags/],
    "an owner that is too long": [{ owner: "x".repeat(201) }, /owner/],
    "an owner with a control character": [{ owner: "a\u0007" }, /owner/],
  };
  test.each(Object.entries(refusals))("%s", async (_, [body, words]) => {
    for (const [path, more] of [
      ["create-api-token", { name: "refused" }],
      ["update-api-token", { id: gateway.keyId }],
    ] as const) {
      const { status, message } = await send(path, { ...more, ...body });
      expect([status, message]).toEqual([400, expect.stringMatching(words)]);
    }
  });
});

test("the audit log tells what was set", async () => {
  const { id } = (await send("create-api-token", { name: "audited", ...all })).data;
  await send("update-api-token", { id, tags: ["new"], requests_per_minute: "" });
  const [change, creation] = await gateway.storage.auditEvents.page({ accountId: gateway.accountId, limit: 2 });
  expect(JSON.parse(change?.details ?? "")).toEqual({ tags: ["new"], requests_per_minute: null });
  expect(JSON.parse(creation?.details ?? "")).toMatchObject({ ...all, name: "audited" });
});
