/**
 * Keys through the doors of a gateway: the same cases over HTTP and gRPC, who may do it, how often, and from when on.
 */
import type { DescMessage, MessageShape } from "@bufbuild/protobuf";
import { type Client, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ErrorDetailSchema, ReasonSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { WireFault } from "../../../src/wire/fault.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { accepted, type Body, caseModels, caseTime, type KeyCase, pathOf, type Rpc, refused } from "./key-cases.ts";

const rpcs = Object.keys(pathOf) as Rpc[];

let at: TestGateway;
let time = caseTime;
/** ordinary is a key without privilege. */
let ordinary: string;
/** there is the id of the cases' key. */
let there = "";
let client: Client<typeof KeyService>;

beforeAll(async () => {
  at = await startTestGateway({ models: caseModels, embeddedModels: false }, { admin: true, clock: () => time });
  ordinary = (await issueKey(at.storage.keys, { accountId: at.accountId, name: "ordinary", admin: false, now: time }))
    .secret;
  client = createClient(KeyService, createGrpcTransport({ baseUrl: at.rootUrl }));
});

afterAll(() => at.close());

/** Advances the clock, so that no call exceeds its rate limit. */
beforeEach(() => {
  time += 1000;
});

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: JsonObject;
}

async function post(rpc: Rpc, body: Body, secret = at.apiKey, headers: Record<string, string> = {}): Promise<Reply> {
  const type = typeof body === "string" ? undefined : "form" in body ? "x-www-form-urlencoded" : "json";
  const text = typeof body === "string" ? undefined : "form" in body ? body.form : JSON.stringify(body.json);
  const response = await fetch(`${at.rootUrl}/api/v1/user/admin/${pathOf[rpc]}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${secret}`,
      ...(type ? { "content-type": `application/${type}` } : {}),
      ...headers,
    },
    body: text ?? null,
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as JsonObject };
}

/** Asks over gRPC what the JSON asks. Returns the answer as JSON, or how it was refused. */
async function call(rpc: Rpc, json: JsonObject, secret = at.apiKey): Promise<JsonObject> {
  const { input, output } = KeyService.method[rpc];
  const request = Wire.ofJson<DescMessage>(input, json).message();
  const send = client[rpc] as (message: unknown, options: object) => Promise<MessageShape<DescMessage>>;
  try {
    const answer = await send(request, { headers: { authorization: `Bearer ${secret}` } });
    return Wire.ofMessage<DescMessage>(output, answer).json();
  } catch (error) {
    const [detail] = ConnectError.from(error).findDetails(ErrorDetailSchema);
    if (!detail) throw error;
    return {
      status: detail.httpStatus,
      reason: ReasonSchema.value[detail.reason]?.localName ?? "",
      param: detail.param,
    };
  }
}

/** caseKey creates the cases' key in place of the one before. */
async function caseKey(): Promise<string> {
  const { keys } = at.storage;
  await keys.revoke(there, time);
  const limits = { creditLimit: 5_000_000, models: '["small"]', expiresAt: caseTime + 86_400_000 };
  there = (await issueKey(keys, { accountId: at.accountId, name: "there", admin: false, now: caseTime, ...limits })).key
    .id;
  return there;
}

/** kept returns what is stored of the account's keys, except when they were used. */
async function kept(): Promise<unknown> {
  return (await at.storage.keys.list(at.accountId)).map(({ last_used_at: _, ...key }) => key);
}

async function eachBody({ bodies }: KeyCase, check: (body: Body) => Promise<void>): Promise<void> {
  for (let i = 0; i < bodies("").length; i++) {
    time += 1000;
    const body = bodies(await caseKey())[i] as Body;
    await check(body).catch((error: Error) => {
      throw new Error(`for ${JSON.stringify(body).slice(0, 200)}: ${error.message}`);
    });
  }
}

function expectKey(key: JsonObject, { expected }: KeyCase): void {
  const { key: wanted } = expected as { key: JsonObject };
  for (const [name, value] of Object.entries(wanted)) expect(key[name], name).toEqual(value);
}

describe("over HTTP", () => {
  for (const one of accepted) {
    test(one.title, () =>
      eachBody(one, async (body) => {
        const { status, headers, body: answer } = await post(one.rpc, body);
        expect(answer).toMatchObject({ statusCode: 200, message: expect.stringMatching(/\.$/) });
        expect([status, headers.get("content-type")]).toEqual([200, "application/json"]);
        expectKey(answer.data as JsonObject, one);
      }),
    );
  }
  for (const one of refused) {
    test(`${one.title}, and changes nothing`, () =>
      eachBody(one, async (body) => {
        const before = await kept();
        const { status, body: answer } = await post(one.rpc, body);
        const { reason, param, says = /./, ...wanted } = one.expected as Exclude<KeyCase["expected"], { key: unknown }>;
        expect(answer).toEqual({
          ...{ statusCode: wanted.status, message: expect.stringMatching(says), data: null },
          ...{ code: reason.toLowerCase(), param },
        });
        expect(status).toBe(wanted.status);
        expect(await kept()).toEqual(before);
      }));
  }

  test("lists, rotates and deletes, with what was asked as `data`", async () => {
    const id = await caseKey();
    const list = await post("listKeys", "empty");
    expect(list.body.data).toContainEqual(expect.objectContaining({ id, name: "there" }));
    expect(JSON.stringify(list.body)).not.toContain('"secret"');
    time += 1000;
    const page = await post("listKeys", { form: "page_size=1" });
    expect(page.body).toMatchObject({ data: [expect.anything()], next_page_token: expect.any(String) });
    const rotated = (await post("rotateKey", { form: `id=${id}` })).body.data as JsonObject;
    expect(rotated).toMatchObject({ id, secret: expect.stringMatching(/^sk-/) });
    expect((await post("deleteKey", { json: { id } })).body).toMatchObject({ statusCode: 200, data: id });
  });

  test("makes one key of a request that is repeated", async () => {
    const headers = { "idempotency-key": "once" };
    const first = await post("createKey", { json: { name: "k" } }, at.apiKey, headers);
    const again = await post("createKey", { form: "name=k" }, at.apiKey, headers);
    const { secret, ...rest } = first.body.data as JsonObject;
    expect(secret).toBeTypeOf("string");
    expect(again.body.data).toEqual(rest);
    expect([first, again].map((reply) => reply.headers.get("x-gateway-replayed"))).toEqual([null, "true"]);
    const other = await post("createKey", { json: { name: "other" } }, at.apiKey, headers);
    expect(other).toMatchObject({ status: 409, body: { statusCode: 409, code: "idempotency_conflict" } });
  });
});

describe("over gRPC", () => {
  const fits = (rpc: Rpc, json: JsonObject) => {
    try {
      Wire.ofJson<DescMessage>(KeyService.method[rpc].input, json).message();
      return true;
    } catch (fault) {
      if (fault instanceof WireFault) return false;
      throw fault;
    }
  };
  /** sayable returns whether a message can express the request. */
  const sayable = ({ rpc, bodies }: KeyCase) =>
    bodies("").every((body) => typeof body === "string" || "form" in body || fits(rpc, body.json));
  for (const one of [...accepted, ...refused].filter(sayable)) {
    test(one.title, () =>
      eachBody(one, async (body) => {
        if (typeof body !== "string" && "form" in body) return;
        const before = await kept();
        const answer = await call(one.rpc, body === "empty" ? {} : body.json);
        if ("key" in one.expected) return expectKey(answer.key as JsonObject, one);
        const { says: _, ...wanted } = one.expected;
        expect(answer).toEqual({ param: "", ...wanted });
        expect(await kept()).toEqual(before);
      }),
    );
  }
});

describe("an ordinary key", () => {
  test("manages no keys, through any door", async () => {
    const id = await caseKey();
    const before = await kept();
    for (const rpc of rpcs) {
      const json: JsonObject = rpc === "listKeys" ? {} : rpc === "createKey" ? { name: "k" } : { id };
      const { status, body } = await post(rpc, { json }, ordinary);
      expect([status, body.statusCode, body.code, body.data], rpc).toEqual([403, 403, "permission_denied", null]);
      time += 1000;
      expect(await call(rpc, json, ordinary), rpc).toMatchObject({ status: 403, reason: "PERMISSION_DENIED" });
    }
    expect(await kept()).toEqual(before);
  });

  test("is what administrators make, whatever they ask", async () => {
    const { secret } = (await post("createKey", { json: { name: "k" } })).body.data as { secret: string };
    expect(await post("createKey", { json: { name: "k" } }, secret)).toMatchObject({ status: 403 });
  });

  test("reads its own limits, spend and rates", async () => {
    for (const path of ["/v1/key", "/key"]) {
      const response = await fetch(at.rootUrl + path, { headers: { "x-api-key": ordinary } });
      expect(response.status).toBe(200);
      const { requests_remaining, ...told } = (await response.json()) as JsonObject;
      expect(told).toMatchObject({
        ...{ tier: "Premium", requests_per_minute: 10_000, unit: "JPY" },
        key: { name: "ordinary", spent: "0.00", held: "0.00", is_admin: false },
      });
      expect(String(requests_remaining)).toBe(response.headers.get("x-ratelimit-remaining-requests"));
      expect(JSON.stringify(told)).not.toContain(ordinary);
    }
  });

  test("reads where it stands in Anthropic's way if it says so", async () => {
    const headers = { "x-api-key": ordinary, "anthropic-version": "2023-06-01" };
    const told = await fetch(`${at.baseUrl}/key`, { headers });
    expect(told.headers.get("anthropic-ratelimit-requests-limit")).toBe("10000");
    const refused = await fetch(`${at.baseUrl}/key`, { headers: { ...headers, "x-api-key": "sk-none" } });
    expect(await refused.json()).toMatchObject({ type: "error", error: { type: "authentication_error" } });
  });
});

describe("a request is refused that", () => {
  const connect = (rpc: string, json: JsonObject) =>
    fetch(`${at.rootUrl}/${KeyService.typeName}/${rpc}`, {
      method: "POST",
      headers: { authorization: `Bearer ${at.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify(json),
    });

  test("names over Connect's JSON what this RPC does not know, and makes nothing", async () => {
    const before = await kept();
    const response = await connect("CreateKey", { name: "k", is_admin: true });
    expect([response.status, await response.json()]).toMatchObject([
      400,
      {
        code: "invalid_argument",
        message: expect.stringContaining("is_admin"),
        details: [{ debug: { reason: "REASON_MALFORMED_BODY" } }],
      },
    ]);
    expect(await kept()).toEqual(before);
    time += 1000;
    expect((await connect("CreateKey", { name: "k" })).status).toBe(200);
  });

  test.each(["-1", "1000000000.01"])("limits credit to %s, and is told the bounds in units", async (credit_limit) => {
    const { status, body } = await post("createKey", { form: `name=k&credit_limit=${credit_limit}` });
    expect([status, body.code, body.message]).toEqual([
      ...[400, "invalid_value", "Invalid value for 'credit_limit': must be from 0.00 to 1000000000.00."],
    ]);
  });
});

describe("what an administrator changes of a key", () => {
  const status = async (secret: string) =>
    (await fetch(`${at.baseUrl}/models`, { headers: { authorization: `Bearer ${secret}` } })).status;

  test("holds from its next request on", async () => {
    const { secret, id } = (await post("createKey", { json: { name: "k" } })).body.data as Record<string, string>;
    expect(await status(secret as string)).toBe(200);
    await post("updateKey", { json: { id: id as string, disabled: true } });
    expect(await status(secret as string)).toBe(401);
    await post("updateKey", { json: { id: id as string, disabled: false } });
    expect(await status(secret as string)).toBe(200);
    const rotated = (await post("rotateKey", { json: { id: id as string, overlap_seconds: 10 } })).body
      .data as JsonObject;
    expect([await status(secret as string), await status(rotated.secret as string)]).toEqual([200, 200]);
    time += 10_000;
    expect([await status(secret as string), await status(rotated.secret as string)]).toEqual([401, 200]);
    await post("updateKey", { json: { id: id as string, expires_at: new Date(time + 1000).toISOString() } });
    expect(await status(rotated.secret as string)).toBe(200);
    time += 1000;
    expect(await status(rotated.secret as string)).toBe(401);
    await post("deleteKey", { json: { id: id as string } });
    expect(await status(rotated.secret as string)).toBe(401);
  });
});

describe("an account", () => {
  const second = async () =>
    (await issueKey(at.storage.keys, { accountId: at.accountId, name: "second", admin: true, now: time })).secret;

  test("makes ten keys a second, and no eleventh, whichever key asks", async () => {
    const secrets = [at.apiKey, await second()];
    const replies: Reply[] = [];
    for (let i = 0; i < 11; i++) replies.push(await post("createKey", { form: `name=${i}` }, secrets[i % 2]));
    expect(replies.map(({ status }) => status)).toEqual([...new Array(10).fill(200), 429]);
    const [last] = replies.slice(-1) as [Reply];
    expect(last.body).toMatchObject({ statusCode: 429, code: "rate_limited", data: null });
    expect(Number(last.headers.get("retry-after"))).toBe(1);
    time += 1000;
    expect((await post("createKey", { form: "name=11" })).status).toBe(200);
  });

  test("is refused any number of keys a second, and makes ten all the same", async () => {
    const { length } = await at.storage.keys.list(at.accountId);
    const wrong = [
      "name=",
      "name=+",
      "name=k&models=nobody",
      "name=k&credit_limit=x",
      "name=k&is_admin=true",
      "name=k&x=1",
    ];
    const refused = await Promise.all([...wrong, ...wrong, ...wrong].map((form) => post("createKey", { form })));
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 400));
    const twice = () => post("createKey", { form: "name=once" }, at.apiKey, { "idempotency-key": "made-once" });
    expect([(await twice()).status, (await twice()).status, (await twice()).status]).toEqual([200, 200, 200]);
    const made = await Promise.all(Array.from({ length: 20 }, (_, i) => post("createKey", { form: `name=${i}` })));
    expect(made.filter(({ status }) => status === 200)).toHaveLength(9);
    expect(made.filter(({ status }) => status === 429)).toHaveLength(11);
    expect(await at.storage.keys.list(at.accountId)).toHaveLength(length + 10);
  });

  test("gives no key a name of blanks, in whatever form and at whatever door", async () => {
    const id = await caseKey();
    for (const name of [" ", "   ", "\t", "\u00a0", "\u3000\u2003", "\u200b", "\ufeff \u2028"]) {
      const invalid = { status: 400, body: { code: "invalid_value", param: "name" } };
      expect(await post("createKey", { json: { name } }), JSON.stringify(name)).toMatchObject(invalid);
      expect(await post("updateKey", { json: { id, name } })).toMatchObject(invalid);
      expect(await post("createKey", { form: `name=${encodeURIComponent(name)}` })).toMatchObject(invalid);
      expect(await call("createKey", { name })).toMatchObject({ status: 400, param: "name" });
    }
    for (const name of [" a", "a ", "名 前", "\u200fא", "👩‍👩‍👧", "0"]) {
      expect((await post("updateKey", { json: { id, name } })).status, name).toBe(200);
    }
  });

  test("lists its keys once a second", async () => {
    expect((await post("listKeys", "empty")).status).toBe(200);
    expect(await post("listKeys", "empty", await second())).toMatchObject({ status: 429, body: { statusCode: 429 } });
    time += 1000;
    expect((await post("listKeys", "empty")).status).toBe(200);
  });
});
