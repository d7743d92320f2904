/**
 * Guessing fails at every door: wrong credentials are counted by network address, answered with a growing delay, and beyond the limit
 * not answered at all. A right credential works at once all the same.
 */
import { connect as connectHttp2 } from "node:http2";
import { createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { defaultTiers } from "../../../src/call/tiers.ts";
import type { Ledger } from "../../../src/ledger/contract.ts";
import { createGuesses } from "../../../src/limits/guesses.ts";
import { createMemoryLimiter } from "../../../src/limits/memory.ts";
import { createKnownKeys } from "../../../src/pipeline/admit/known-keys.ts";
import { CallerAbort } from "../../../src/runtime/caller-abort.ts";
import { neighbourhoodOf, networkOf } from "../../../src/runtime/net/networks.ts";
import { issueRedeemCodes } from "../../../src/services/accounts/redeem-codes.ts";
import { makeUser, minutes, openBrowser, refusalOf, signedIn, stoppedClock } from "../../support/dashboard/sign-in.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { timed } from "../../support/run/running-time.ts";

const settings = { tiers: defaultTiers };

const operatorKey = "an-operator-key-of-more-than-32-letters";
const perMinute = 6;

let gateway: TestGateway;
let clock: ReturnType<typeof stoppedClock>;

beforeEach(async () => {
  clock = stoppedClock(now);
  const failedCredentials = { perMinute };
  const config = { trustedProxies: ["127.0.0.1"], operatorKey, failedCredentials };
  gateway = await startTestGateway(config, { clock: clock.read });
});

afterEach(() => gateway.close());

const home = "203.0.113.100";

interface Told {
  readonly status: number;
  readonly retryAfter: string | null;
}

type Door = (credential: string, from: string) => Promise<Told>;

function headersOf(credential: string, from: string): Record<string, string> {
  return { "x-forwarded-for": from, ...(credential === "" ? {} : { authorization: `Bearer ${credential}` }) };
}

const rest: Door = async (credential, from) => {
  const response = await fetch(`${gateway.baseUrl}/models`, { headers: headersOf(credential, from) });
  await response.arrayBuffer();
  return { status: response.status, retryAfter: response.headers.get("retry-after") };
};

/** A POST whose body comes along: read by the gateway's own server. */
const plainRest: Door = async (credential, from) => {
  const headers = { ...headersOf(credential, from), "content-type": "application/json" };
  const body = JSON.stringify({ model: "embedded-embedding", input: "Hi" });
  const response = await fetch(`${gateway.baseUrl}/embeddings`, { method: "POST", headers, body });
  await response.arrayBuffer();
  return { status: response.status, retryAfter: response.headers.get("retry-after") };
};

const statuses = new Map([
  [8, 429],
  [16, 401],
]);

function rpc(transportTo: (baseUrl: string) => Transport): Door {
  return async (credential, from) => {
    const client = createClient(KeyService, transportTo(gateway.rootUrl));
    try {
      await client.describeKey({}, { headers: headersOf(credential, from) });
      return { status: 200, retryAfter: null };
    } catch (error) {
      const { code, metadata } = error as { code: number; metadata: Headers };
      return { status: statuses.get(code) ?? code, retryAfter: metadata.get("retry-after") };
    }
  };
}

const grpcStream: Door = (credential, from) =>
  new Promise((resolve, reject) => {
    const session = connectHttp2(gateway.rootUrl).once("error", reject);
    const path = "/modelgateway.v1.InferenceService/StreamChatCompletion";
    const headers = { ":method": "POST", ":path": path, te: "trailers", "content-type": "application/grpc" };
    const stream = session.request({ ...headers, ...headersOf(credential, from) });
    const told: Record<string, unknown> = {};
    stream
      .on("response", (fields) => Object.assign(told, fields))
      .on("trailers", (fields) => Object.assign(told, fields));
    stream.resume().once("close", () => {
      session.close();
      const code = Number(told["grpc-status"]);
      const after = told["retry-after"];
      // The request is empty, and an authorized caller is told so.
      const status = statuses.get(code) ?? 200;
      resolve({ status, retryAfter: typeof after === "string" ? after : null });
    });
    stream.end();
  });

const doors: Readonly<Record<string, Door>> = {
  REST: rest,
  "REST, read by our own server": plainRest,
  Connect: rpc((baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" })),
  gRPC: rpc((baseUrl) => createGrpcTransport({ baseUrl })),
  "gRPC, streamed": grpcStream,
  "gRPC-Web": rpc((baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" })),
};

let guesses = 0;

/** Fails so many times in turn, each time by another credential, and returns the statuses. */
async function fail(
  times: number,
  door: Door = rest,
  from: string | ((i: number) => string) = home,
): Promise<number[]> {
  const told: number[] = [];
  for (let i = 0; i < times; i++) {
    told.push(
      (await door(`sk-wrong-${guesses++}-key-of-some-length`, typeof from === "string" ? from : from(i))).status,
    );
  }
  return told;
}

const wrong = (times: number) => Array<number>(times).fill(401);

describe("through each door", () => {
  test.each(Object.entries(doors))(
    "wrong keys are told so up to a bound, and then only when to come back: %s",
    async (_, door) => {
      expect(await fail(perMinute, door)).toEqual(wrong(perMinute));
      expect(await door("sk-another-wrong-key", home)).toEqual({ status: 429, retryAfter: "10" });
      expect(await door(gateway.apiKey, home), "the right key").toMatchObject({ status: 200 });
      expect(await door("sk-another-wrong-key", "198.51.100.7"), "another address").toMatchObject({ status: 401 });
      clock.pass(10_000);
      expect(await door("sk-another-wrong-key", home), "ten seconds later").toMatchObject({ status: 401 });
      expect(await door("sk-another-wrong-key", home)).toMatchObject({ status: 429 });
    },
  );

  test("what fails at one door counts at all", async () => {
    const all = Object.values(doors);
    for (let i = 0; i < perMinute; i++)
      expect((await (all[i % all.length] as Door)(`wrong-key-${i}`, home)).status).toBe(401);
    for (const [i, door] of all.entries()) expect((await door(`wrong-key-more-${i}`, home)).status).toBe(429);
  });
});

describe("by address", () => {
  test("the neighbours of a network have a bound together", async () => {
    const told = await fail(4 * perMinute + 3, rest, (i) => `203.0.113.${i}`);
    expect(told).toEqual([...wrong(4 * perMinute), 429, 429, 429]);
    expect((await rest("sk-wrong-elsewhere", "203.0.114.1")).status).toBe(401);
  });

  test("all addresses of a client's own part of IPv6 count as one", async () => {
    const told = await fail(perMinute + 1, rest, (i) => `2001:db8:1:2::${i}`);
    expect(told).toEqual([...wrong(perMinute), 429]);
    expect((await rest("sk-wrong-elsewhere", "2001:db8:1:3::1")).status).toBe(401);
  });

  test("whoever may not speak for others is counted itself", async () => {
    await gateway.close();
    gateway = await startTestGateway({ operatorKey, failedCredentials: { perMinute } }, { clock: clock.read });
    expect(await fail(perMinute + 1, rest, (i) => `198.51.${i}.1`)).toEqual([...wrong(perMinute), 429]);
  });

  test.each([
    ["203.0.113.9", "203.0.113.9", "203.0.113"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2", "2001:db8:1"],
    ["2001:db8::1", "2001:db8:0:0", "2001:db8:0"],
    ["::1", "0:0:0:0", "0:0:0"],
    ["", "", ""],
  ])("%s is of the network %s, near %s", (address, network, near) => {
    expect([networkOf(address), neighbourhoodOf(networkOf(address))]).toEqual([network, near]);
  });
});

describe("the operator key", () => {
  const operator: Door = async (credential, from) => {
    const transport = createConnectTransport({ baseUrl: gateway.rootUrl, httpVersion: "1.1" });
    try {
      await createClient(OperatorService, transport).listAccounts({}, { headers: headersOf(credential, from) });
      return { status: 200, retryAfter: null };
    } catch (error) {
      const { code, metadata } = error as { code: number; metadata: Headers };
      return { status: statuses.get(code) ?? code, retryAfter: metadata.get("retry-after") };
    }
  };

  test("is guessed no more often, and the right one always works", async () => {
    expect(await fail(perMinute + 2, operator)).toEqual([...wrong(perMinute), 429, 429]);
    expect((await operator(operatorKey, home)).status).toBe(200);
    expect((await operator(`${operatorKey}x`, home)).status).toBe(429);
  });
});

describe("what a session shows", () => {
  const from = { "x-forwarded-for": home };

  test("is counted where there is no such session", async () => {
    const browser = openBrowser(gateway, from);
    const ask = (i: number) => {
      browser.cookie = `gateway_session=wrong-${i}`;
      return refusalOf(browser.account.getAccount({}));
    };
    for (let i = 0; i < perMinute; i++) expect(await ask(i)).toMatchObject({ reason: "SESSION_ENDED", status: 401 });
    expect(await ask(perMinute)).toMatchObject({ reason: "RATE_LIMITED", status: 429, retryAfter: "10" });
  });

  test("is counted where it calls by a key that it has not", async () => {
    await makeUser(gateway);
    const { cookie } = await signedIn(gateway, undefined, from);
    const ask = async (key: string) => {
      const headers = {
        ...from,
        cookie,
        "x-gateway-session": "1",
        "x-gateway-key": key,
        "content-type": "application/json",
      };
      const body = JSON.stringify({ model: "embedded-embedding", input: "Hi" });
      const response = await fetch(`${gateway.baseUrl}/embeddings`, { method: "POST", headers, body });
      await response.arrayBuffer();
      return response.status;
    };
    for (let i = 0; i < perMinute; i++) expect(await ask(`key_${i}`)).toBe(404);
    expect(await ask("key_more")).toBe(429);
    expect(await ask(gateway.keyId), "its own").toBe(200);
  });

  test("is counted where it is no redeem code, and the right one is worth what it is", async () => {
    await makeUser(gateway);
    const browser = await signedIn(gateway, undefined, from);
    const { codes } = await issueRedeemCodes(gateway.storage.redeemCodes, {
      ...{ amount: 5_000_000, count: 1, expiresAt: null, note: null, now },
    });
    const redeem = (code: string) => browser.account.redeemCode({ code });
    for (let i = 0; i < perMinute; i++) {
      expect((await refusalOf(redeem(`WRONG-WRONG-WRONG-0000${i}`))).reason).toBe("RESOURCE_NOT_FOUND");
    }
    expect((await refusalOf(redeem("WRONG-WRONG-WRONG-00009"))).reason).toBe("RATE_LIMITED");
    expect((await redeem(codes[0] as string)).entry?.amount).toBe(5_000_000n);
  });
});

describe("what is not counted", () => {
  test("is a call without a credential, a right key, and a key that is disabled", async () => {
    for (let i = 0; i < 2 * perMinute; i++) {
      expect((await rest("", home)).status).toBe(401);
      expect((await rest(gateway.apiKey, home)).status).toBe(200);
    }
    await gateway.storage.keys.update(gateway.accountId, gateway.keyId, { disabled: 1 });
    for (let i = 0; i < 2 * perMinute; i++) expect((await rest(gateway.apiKey, home)).status).toBe(401);
    expect(await fail(perMinute)).toEqual(wrong(perMinute));
  });
});

describe("an operator sees", () => {
  const acts = () => gateway.storage.auditEvents.page({ action: "Credentials.Throttled", limit: 100 });

  test("an address beyond its bound in the audit log, once a minute, and nothing of what was guessed", async () => {
    await fail(perMinute);
    expect(await acts()).toEqual([]);
    await fail(5);
    expect(await acts()).toMatchObject([
      {
        actor_kind: "nobody",
        address: home,
        refused: "RATE_LIMITED",
        details: `{"credential":"api_key","failures":7}`,
      },
    ]);
    clock.pass(minutes);
    await fail(perMinute + 3);
    expect((await acts()).map(({ details }) => details)).toEqual([
      `{"credential":"api_key","failures":11}`,
      `{"credential":"api_key","failures":7}`,
    ]);
    expect(JSON.stringify(await acts())).not.toContain("sk-wrong");
  });

  test("how many failed, by their kind, in the metrics", async () => {
    await fail(perMinute + 2);
    const text = await (await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`)).text();
    expect(text).toContain(`model_gateway_failed_credentials_total{kind="api_key",throttled="false"} ${perMinute}`);
    expect(text).toContain('model_gateway_failed_credentials_total{kind="api_key",throttled="true"} 2');
  });
});

describe("a failed credential", () => {
  const waits: number[] = [];
  const end: (() => void)[] = [];
  const guessesOf = () => {
    waits.length = end.length = 0;
    return createGuesses({
      limiter: createMemoryLimiter(() => 0),
      settings: () => ({ failedCredentials: { perMinute: 60 } }),
      wait: (ms) => {
        waits.push(ms);
        return new Promise((resolve) => end.push(resolve));
      },
    });
  };

  test("is told later each time, up to two seconds", async () => {
    const guesses = guessesOf();
    for (let i = 0; i < 60; i++) {
      const told = guesses.failed(home, `${i}`, undefined);
      while (i >= 5 && end.length === 0) await Promise.resolve();
      end.pop()?.();
      expect(await told).toBe(0);
    }
    expect(waits.slice(0, 3)).toEqual([50, 100, 150]);
    expect(waits.at(-1)).toBe(2000);
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(await guesses.failed(home, "more", undefined)).toBe(1000);
  });

  test("that is the same again is told at once, and counts a quarter", async () => {
    const guesses = guessesOf();
    for (let i = 0; i < 4 * 60 - 3; i++) expect(await guesses.failed(home, "the same", undefined)).toBe(0);
    expect(waits).toEqual([]);
    expect(await guesses.failed(home, "the same", undefined)).toBe(250);
    expect(await guesses.failed("198.51.100.7", "the same", undefined), "from elsewhere").toBe(0);
  });

  test("waits no longer than its caller", async () => {
    const guesses = createGuesses({
      limiter: createMemoryLimiter(() => 0),
      settings: () => ({ failedCredentials: { perMinute: 100 } }),
    });
    const gone = new CallerAbort();
    const told = Promise.all(Array.from({ length: 50 }, (_, i) => guesses.failed(home, `${i}`, gone)));
    const [, { runningMs }] = await timed(async () => {
      setImmediate(() => gone.abort());
      await told;
    });
    expect(runningMs).toBeLessThan(1000);
  });
});

describe("a flood", () => {
  test("of addresses makes the bounds forget, and not grow", () => {
    const limiter = createMemoryLimiter(() => 0, 10);
    const rate = { capacity: 1, windowMs: 60_000 };
    const take = (id: string) => limiter.take(id, rate, 1).allowed;
    expect([take("first"), take("first")]).toEqual([true, false]);
    for (let i = 0; i < 9; i++) take(`other ${i}`);
    expect(take("first"), "it is among the last ten").toBe(false);
    for (let i = 0; i < 25; i++) take(`another ${i}`);
    expect(take("first"), "it was forgotten").toBe(true);
  });

  test("of the same wrong key costs one look at the database, until something is written there", async () => {
    let [looks, version] = [0, 1];
    const known = createKnownKeys({
      keys: {
        findBySecretHash: async () => {
          looks++;
          return undefined;
        },
      },
      settings: () => settings,
      ledger: { flushCallsOf: () => false } as unknown as Ledger,
      changes: { version: () => version, changedSince: () => true },
    });
    for (let i = 0; i < 10; i++) expect(await known.find("hash", now)).toBeUndefined();
    expect(looks).toBe(1);
    version++;
    expect(await known.find("hash", now)).toBeUndefined();
    expect(looks).toBe(2);
  });
});

test("a key whose account's sums cannot be looked at is not known, and nothing fails beside that", async () => {
  const failing = async () => {
    throw new Error("the database does not answer");
  };
  const known = createKnownKeys({
    keys: { findBySecretHash: async () => ({ id: "key_1", account_id: "acc_1" }) as never },
    settings: () => settings,
    ledger: { flushCallsOf: failing } as unknown as Ledger,
    changes: { version: () => 1, changedSince: () => true },
  });
  // A rejection that nobody handles would end the run.
  await expect(known.find("hash", now)).rejects.toThrow("does not answer");
});
