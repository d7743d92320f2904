/**
 * Another process holds the lock of the database, as a backup does: who must write waits for it, and nobody else does. Who has
 * waited for long is refused, and probes are told that writes fail.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Health, HealthCheckResponse_ServingStatus as Status } from "../../../../gen/grpc/health/v1/health_pb.ts";
import { whenUnlocked } from "../../../../src/storage/engines/lock-retry.ts";
import { maxWaitMs } from "../../../../src/storage/money/books.ts";
import { createLeasingLedger, withLeases } from "../../../support/accelerators.ts";
import { hear } from "../../../support/clients/hear.ts";
import { root } from "../../../support/command.ts";
import { makeUser, minutes, signedIn, stoppedClock } from "../../../support/dashboard/sign-in.ts";
import { eventually } from "../../../support/eventually.ts";
import { now, startTestGateway, type TestGateway } from "../../../support/gateway.ts";
import {
  endedCall,
  holdRequest,
  ledgersOfTests,
  type TestLedger,
  unlimitedRequest,
} from "../../../support/money/sqlite-ledger.ts";
import { openAccount, openBooks, type Payer } from "../../../support/payer.ts";
import { type ScriptedUpstream, startScriptedUpstream } from "../../../support/scripted-upstream.ts";
import { scrape } from "../../../support/telemetry/scrape.ts";
import { paidModels } from "../../../support/upstreams/paid-models.ts";
import { answerAsOpenAi } from "../../../support/vendors.ts";

const lockers: ChildProcess[] = [];

/** Has another process take the lock. Returns what has it let go, and resolves when it has. */
async function lock(path: string): Promise<() => Promise<void>> {
  const locker = fork(join(root, "test/hostile/lock-process.ts"), [path, "60000"]);
  lockers.push(locker);
  await once(locker, "message");
  return async () => {
    const gone = once(locker, "exit");
    locker.send("free");
    await gone;
  };
}

afterEach(() => {
  vi.useRealTimers();
  for (const locker of lockers.splice(0)) locker.kill("SIGKILL");
});

// Without leases every call that costs anything waits for the lock.
describe("a gateway that serves by leases", () => {
  let upstream: ScriptedUpstream;
  let gateway: TestGateway;
  let ample: Payer;
  let scarce: Payer;

  let clock: ReturnType<typeof stoppedClock>;

  beforeEach(async () => {
    clock = stoppedClock(now);
    upstream = await startScriptedUpstream(answerAsOpenAi);
    gateway = await startTestGateway(
      { ...paidModels(upstream.baseUrl), ...withLeases, failedCredentials: { perMinute: 3 } },
      { clock: clock.read },
    );
    ample = await openAccount(gateway, { recharge: 1_000_000_000, admin: true });
    // Enough for a call, and too little to be leased.
    scarce = await openAccount(gateway, { recharge: 5_000, admin: true });
    expect((await call(ample)).status).toBe(200);
  });

  afterEach(async () => {
    await gateway.close();
    await upstream.close();
  });

  const body = { model: "gpt", max_tokens: 50, messages: [{ role: "user", content: "Hello" }] };
  const call = ({ apiKey }: Payer) => hear(gateway, { path: "/v1/chat/completions", apiKey, body }).answer;
  const ask = (method: string, apiKey: string, request: object = {}) =>
    hear(gateway, { path: `/modelgateway.v1.${method}`, apiKey, body: request }).answer;
  const ready = async () => {
    const answer = await fetch(`${gateway.rootUrl}/readyz`);
    return { status: answer.status, connection: answer.headers.get("connection"), body: await answer.json() };
  };

  test("answers accounts with ample credit, and reads, while one with scarce credit waits", async () => {
    const free = await lock(gateway.database.path);
    let isOver = false;
    const waiting = call(scarce).finally(() => (isOver = true));
    const statuses: number[] = [];
    for (let i = 0; i < 25; i++) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => call(ample)));
      statuses.push(...answers.map(({ status }) => status));
      statuses.push((await ask("AccountService/GetAccount", ample.apiKey)).status);
    }
    expect(statuses).toEqual(Array(225).fill(200));
    expect(isOver).toBe(false);
    await free();
    expect((await waiting).status).toBe(200);
    const books = openBooks(gateway.database, gateway.storage);
    expect((await books.of(ample)).requests).toHaveLength(201);
    expect(await books.of(scarce)).toMatchObject({ requests: [{ outcome: 1 }], held: 0 });
  });

  test("takes what is to be changed when the lock is free, and writes what was done into the audit log", async () => {
    const free = await lock(gateway.database.path);
    const isDone: string[] = [];
    const created = ask("KeyService/CreateKey", ample.apiKey, { name: "new" }).finally(() => isDone.push("created"));
    // Who guesses is refused at once; that it was is written behind the answer.
    const guesses = await Promise.all(["a", "b", "c", "d"].map((key) => ask("KeyService/ListKeys", `sk-${key}`)));
    expect(guesses.map(({ status }) => status)).toContain(429);
    const repeated = hear(gateway, {
      ...{ path: "/v1/chat/completions", apiKey: ample.apiKey, body, headers: { "idempotency-key": "one" } },
    }).answer.finally(() => isDone.push("repeated"));
    for (let i = 0; i < 20; i++) await call(ample);
    expect(isDone).toEqual([]);
    await free();
    expect((await created).status).toBe(200);
    expect((await repeated).status).toBe(200);
    await eventually(async () => {
      const acts = await gateway.storage.auditEvents.page({ limit: 10 });
      expect(acts.map(({ action }) => action).sort()).toEqual(["Credentials.Throttled", "KeyService.CreateKey"]);
    });
  });

  test("knows who is signed in, and remembers when the session was used once the lock is free", async () => {
    await makeUser(gateway);
    const browser = await signedIn(gateway);
    clock.pass(5 * minutes);
    const free = await lock(gateway.database.path);
    expect((await browser.session.listSessions({})).sessions).toMatchObject([{ current: true }]);
    await free();
    await eventually(async () => {
      const [session] = (await browser.session.listSessions({})).sessions;
      expect(session?.lastSeenAt && timestampMs(session.lastSeenAt)).toBe(clock.read());
    });
  });

  test("refuses callers that have waited for seconds, is not ready meanwhile, and is again by itself", async () => {
    expect(await ready()).toMatchObject({ status: 200, body: { status: "ok" } });
    const watched: Status[] = [];
    const watching = new AbortController();
    const health = createClient(Health, createGrpcTransport({ baseUrl: gateway.rootUrl }));
    const watch = (async () => {
      for await (const { status } of health.watch({}, { signal: watching.signal })) watched.push(status);
    })().catch(() => {});
    const free = await lock(gateway.database.path);
    const refused = Promise.all([
      call(scarce),
      ask("KeyService/CreateKey", ample.apiKey, { name: "new" }),
      hear(gateway, { path: "/v1/messages", apiKey: scarce.apiKey, body: { ...body, model: "gpt" } }).answer,
    ]);
    await eventually(async () =>
      expect(await ready()).toMatchObject({ status: 503, body: { status: "storage_unavailable" } }),
    );
    const told = await ready();
    expect(told.body).toEqual({
      status: "storage_unavailable",
      message: expect.stringMatching(/^the database cannot be written: another process holds its lock, for \d+ s$/),
    });
    expect(told.connection).not.toBe("close");
    expect((await health.check({})).status).toBe(Status.NOT_SERVING);
    expect((await scrape(gateway.metricsPort)).value("model_gateway_storage_writable")).toBe(0);
    expect((await call(ample)).status).toBe(200);
    const [chat, key, message] = await refused;
    // Anthropic's clients know the trouble by another status.
    expect([chat, key, message].map(({ status }) => status)).toEqual([503, 503, 529]);
    for (const { headers } of [chat, key, message]) expect(headers["retry-after"]).toBe("1");
    expect(chat.text).toContain("cannot write to its storage");
    await free();
    await eventually(async () => expect(await ready()).toMatchObject({ status: 200, body: { status: "ok" } }));
    await eventually(() => expect(watched).toEqual([Status.SERVING, Status.NOT_SERVING, Status.SERVING]));
    watching.abort();
    await watch;
    expect((await call(scarce)).status).toBe(200);
    expect((await scrape(gateway.metricsPort)).value("model_gateway_storage_writable")).toBe(1);
    expect(gateway.logged()).toContain("the storage cannot be written");
    expect(gateway.logged()).toContain("the storage can be written again");
  });
});

describe("a ledger", () => {
  const ledgerOf = ledgersOfTests();

  test("holds for waiting calls as soon as the lock is free, in the order in which they came", async () => {
    const t = await ledgerOf({ balance: 100 });
    const free = await lock(t.path);
    const holds = [holdRequest("r1", 60, 60, t.now()), holdRequest("r2", 60, 60, t.now())].map((one) =>
      t.ledger.hold(one),
    );
    await new Promise(setImmediate);
    const later = t.ledger.hold(holdRequest("r3", 40, 40, t.now()));
    await free();
    expect((await Promise.all([...holds, later])).map(({ kind }) => kind)).toEqual(["held", "short", "held"]);
    expect(t.account().held).toBe(100);
  });

  test("refuses a call that has waited for the longest time, and holds nothing for it", async () => {
    const t = await ledgerOf({ balance: 100 });
    const free = await lock(t.path);
    vi.useFakeTimers({ toFake: ["setTimeout"] });
    const held = Promise.resolve(t.ledger.hold(holdRequest("r1", 60, 60, t.now()))).catch((error: unknown) => error);
    await new Promise(setImmediate);
    vi.advanceTimersByTime(maxWaitMs / 2);
    const later = t.ledger.hold(holdRequest("r2", 50, 50, t.now()));
    await new Promise(setImmediate);
    vi.advanceTimersByTime(maxWaitMs / 2 + 100);
    expect(await held).toMatchObject({ code: "SQLITE_BUSY" });
    await free();
    vi.advanceTimersByTime(100);
    await later;
    expect(t.account().held).toBe(50);
  });

  test("closes when waiting calls have been served", async () => {
    const t = await ledgerOf({ balance: 100 });
    const free = await lock(t.path);
    const held = t.ledger.hold(unlimitedRequest("r1", 60, t.now()));
    await new Promise(setImmediate);
    const closing = t.ledger.close();
    await free();
    await closing;
    expect(await held).toMatchObject({ kind: "held" });
  });
});

describe("what else keeps writes from arriving is reported at once, and when it is over", () => {
  const ledgerOf = ledgersOfTests();
  const leasingLedgerOf = ledgersOfTests(createLeasingLedger);

  /** Returns what is told at each change. */
  function listen({ engine: { writable } }: TestLedger): (string | undefined)[] {
    const told: (string | undefined)[] = [];
    writable.onChange(() => told.push(writable.trouble()));
    return told;
  }

  test("a database that is read-only", async () => {
    const t = await ledgerOf({ balance: 100 });
    const told = listen(t);
    const touch = () => t.engine.books.transact(() => t.parts.statements.touchKey.run(1, "key_1"));
    t.engine.books.prepare<[]>("PRAGMA query_only = ON").run();
    expect(touch).toThrow("readonly");
    expect(told).toEqual(["the database cannot be written: it is read-only, for 0 s"]);
    t.engine.books.prepare<[]>("PRAGMA query_only = OFF").run();
    await eventually(() => expect(told.slice(1)).toEqual([undefined]));
    touch();
  });

  test("a full disk", async () => {
    const t = await ledgerOf({ balance: 100 });
    const told = listen(t);
    const [{ page_count: pages = 0 } = {}] = t.engine.books
      .prepare<[], { page_count: number }>("PRAGMA page_count")
      .all();
    t.engine.books.prepare<[]>(`PRAGMA max_page_count = ${pages}`).all();
    const grow = t.engine.prepare<[number]>("UPDATE accounts SET name = hex(zeroblob(?))");
    expect(() => grow.run(1_000_000)).toThrow("full");
    expect(told[0]).toBe("the database cannot be written: the disk is full, for 0 s");
    t.engine.books.prepare<[]>("PRAGMA max_page_count = 1000000").all();
    grow.run(1_000_000);
    expect(told.at(-1)).toBeUndefined();
  });

  test("a journal that cannot be written, which the charge of a call waits for", async () => {
    const t = await leasingLedgerOf({ balance: 1_000_000 });
    const told = listen(t);
    const reserved = await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    expect(reserved.kind).toBe("held");
    const append = vi.spyOn(t.engine.segments, "append").mockImplementation(() =>
      t.engine.writable.watch("notes", () => {
        throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
      }),
    );
    const charged = t.ledger.capture(endedCall("r1", 4, t.now()));
    await eventually(() =>
      expect(told).toEqual(["the journal beside the database cannot be written: the disk is full, for 0 s"]),
    );
    append.mockRestore();
    // Whoever reads the sums has them posted without the journal.
    expect(t.account().balance).toBe(1_000_000 - 4);
    expect(await charged).toEqual({ cost: 4, waived: 0 });
    // It is tried out until it works again.
    await eventually(() => expect(told.slice(1)).toEqual([undefined]));
  });

  test("a journal that cannot be begun: its records are applied at once", async () => {
    const t = await leasingLedgerOf({ balance: 1_000_000 });
    const told = listen(t);
    writeFileSync(`${t.path}.notes`, "no folder");
    await t.ledger.hold(unlimitedRequest("r1", 10, t.now()));
    expect(told).toEqual(["the journal beside the database cannot be written: the disk fails, for 0 s"]);
    expect(await t.ledger.capture(endedCall("r1", 4, t.now()))).toEqual({ cost: 4, waived: 0 });
    expect(t.engine.books.prepare<[], { cost: number }>("SELECT cost FROM requests").all()).toEqual([{ cost: 4 }]);
    rmSync(`${t.path}.notes`);
    await eventually(() => expect(told.slice(1)).toEqual([undefined]));
  });
});

test("a write is repeated after pauses that grow, and given up when they come to the time-out", async () => {
  const pauses: number[] = [];
  let busyFor = 5;
  const write = () => {
    if (busyFor-- > 0) throw Object.assign(new Error("busy"), { code: "SQLITE_BUSY" });
    return "written";
  };
  const pause = async (ms: number) => void pauses.push(ms);
  expect(await whenUnlocked(write, pause)).toBe("written");
  expect(pauses).toEqual([1, 2, 4, 8, 16]);
  busyFor = Number.POSITIVE_INFINITY;
  pauses.length = 0;
  await expect(whenUnlocked(write, pause)).rejects.toMatchObject({ code: "SQLITE_BUSY" });
  const sum = pauses.reduce((all, ms) => all + ms, 0);
  expect(sum).toBeGreaterThanOrEqual(maxWaitMs);
  expect(sum).toBeLessThan(maxWaitMs + 50);
});
