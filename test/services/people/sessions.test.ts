/**
 * Sessions: a person signs in to the dashboard, stays signed in for a while, and ends it from wherever.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newId } from "../../../src/runtime/ids.ts";
import { hashToken } from "../../../src/runtime/secrets.ts";
import {
  days,
  makeUser,
  minutes,
  openBrowser,
  password,
  refusalOf,
  signedIn,
  stoppedClock,
} from "../../support/dashboard/sign-in.ts";
import { eventually } from "../../support/eventually.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;
let clock: ReturnType<typeof stoppedClock>;
let userId: string;

beforeEach(async () => {
  clock = stoppedClock(now);
  gateway = await startTestGateway({ trustedProxies: ["127.0.0.1"] }, { clock: clock.read });
  userId = (await makeUser(gateway)).id;
});

afterEach(() => gateway.close());

/** use asks by a session, and waits until its use is written, which no answer waits for. */
async function use({ account }: Awaited<ReturnType<typeof signedIn>>): Promise<void> {
  await account.getAccount({});
  const seen = async () => (await gateway.storage.sessions.list(userId, clock.read()))[0]?.last_seen_at;
  await eventually(async () => expect(await seen()).toBe(clock.read()));
}

function tokenOf(cookie: string): string {
  return cookie.split("=")[1] as string;
}

describe("who signs in", () => {
  test("is told who they are, and keeps it by a cookie that no script reads and no other site sends", async () => {
    const browser = openBrowser(gateway);
    expect((await browser.session.getSession({})).user).toBeUndefined();
    const { user } = await browser.session.signIn({ email: " Ann@Example.com", password });
    expect(user).toMatchObject({ id: userId, email: "ann@example.com", accountId: gateway.accountId });
    expect(user).toMatchObject({ accountName: "test", operator: false, secondFactor: false });
    expect(browser.setCookies).toEqual([
      expect.stringMatching(/^gateway_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/),
    ]);
    expect((await browser.session.getSession({})).user?.id).toBe(userId);
    expect((await browser.account.getAccount({})).account?.id).toBe(gateway.accountId);
  });

  test("has a cookie for https alone where the gateway is reached by https", async () => {
    const browser = await signedIn(gateway, undefined, { "x-forwarded-proto": "https" });
    // By its name browsers take it from this very host alone.
    expect(browser.setCookies[0]).toMatch(/^__Host-gateway_session=.*; Path=\/; .*; Max-Age=2592000; Secure$/);
    expect((await browser.session.getSession({})).user?.id).toBe(userId);
    browser.cookie = browser.cookie.replace("__Host-", "");
    expect((await browser.session.getSession({})).user).toBeUndefined();
    browser.cookie = `__Host-${browser.cookie}`;
    await browser.session.signOut({});
    expect(browser.setCookies[1]).toMatch(/^__Host-gateway_session=; .*; Max-Age=0; Secure$/);
  });

  test("leaves neither password nor cookie in the log, and of the cookie only its hash in the database", async () => {
    const browser = await signedIn(gateway);
    await refusalOf(browser.session.signIn({ email: "ann@example.com", password: "a wrong password" }));
    await browser.session.changePassword({ current: password, password: "another password" });
    const token = tokenOf(browser.cookie);
    expect(gateway.logged()).toContain('"rpc":"SignIn"');
    for (const secret of [password, "a wrong password", "another password", token, hashToken(token)]) {
      expect(gateway.logged()).not.toContain(secret);
    }
    const [row] = await gateway.storage.sessions.list(userId, now);
    expect(row?.token_hash).toBe(hashToken(token));
    expect(JSON.stringify(row)).not.toContain(token);
  });

  test("again in the same browser has one session, the new one", async () => {
    const browser = await signedIn(gateway);
    const before = browser.cookie;
    await browser.session.signIn({ email: "ann@example.com", password });
    expect(browser.cookie).not.toBe(before);
    expect((await browser.session.listSessions({})).sessions).toHaveLength(1);
    browser.cookie = before;
    expect(await refusalOf(browser.account.getAccount({}))).toMatchObject({ reason: "SESSION_ENDED" });
  });
});

test("who has as many sessions as may be signs in, also where the clock was ahead when they began", async () => {
  const { sessions } = gateway.storage;
  const at = now + days;
  const begun = { user_id: userId, address: "", user_agent: "", created_at: at, last_seen_at: at, expires_at: at + 1 };
  for (let i = 0; i < 50; i++) await sessions.insert({ ...begun, id: newId("ses", at), token_hash: `hash ${i}` });
  const browser = await signedIn(gateway);
  expect((await browser.session.getSession({})).user?.id).toBe(userId);
  expect(await sessions.list(userId, now)).toHaveLength(50);
});

test("anybody is told who may register, what money is counted in, and where the gateway is", async () => {
  const told = await openBrowser(gateway).session.getSession({});
  expect(told).toMatchObject({ registration: 2, awaitsSetUp: true, unit: { code: "JPY", symbol: "¥" } });
  expect(told.addresses).toMatchObject({ root: gateway.rootUrl, direct: "", cdn: "", cn: "" });
  await gateway.storage.users.setOperator(userId, true);
  expect((await openBrowser(gateway).session.getSession({})).awaitsSetUp).toBe(false);
});

test("a cookie that is nearly that of a session is none", async () => {
  const { cookie } = await signedIn(gateway);
  const [name = "", value = ""] = cookie.split("=");
  const near = [`${value}=`, `${value}=x`, `"${value}"`, value.slice(1), `${value}x`, value.toLowerCase()];
  const cookies = [...near.map((one) => `${name}=${one}`), `${name.toUpperCase()}=${value}`, `__Host-${cookie}`];
  for (const one of cookies) {
    const browser = openBrowser(gateway);
    browser.cookie = one;
    expect(await refusalOf(browser.session.listSessions({})), one).toMatchObject({ status: 401 });
  }
});

describe("a page of another site", () => {
  async function call(rpc: string, headers: Record<string, string>, body = {}) {
    const response = await fetch(`${gateway.rootUrl}/modelgateway.v1.${rpc}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    const { message } = (await response.json()) as { message?: string };
    return { status: response.status, message, cookie: response.headers.get("set-cookie") };
  }

  test("cannot use a session, whose cookie comes without the dashboard's header", async () => {
    const { cookie } = await signedIn(gateway);
    const read = "AccountService/GetAccount";
    expect(await call(read, { cookie })).toMatchObject({
      status: 403,
      message: expect.stringContaining("with the header `x-gateway-session: 1`"),
    });
    expect(await call(read, { cookie, "x-gateway-session": "1" })).toMatchObject({ status: 200 });
    for (const site of ["cross-site", "same-site"]) {
      const headers = { cookie, "x-gateway-session": "1", "sec-fetch-site": site };
      expect(await call(read, headers), site).toMatchObject({ status: 403 });
      expect(await call("SessionService/SignOut", headers), site).toMatchObject({ status: 403 });
    }
    expect(await call(read, { cookie, "x-gateway-session": "1", "sec-fetch-site": "same-origin" })).toMatchObject({
      status: 200,
    });
  });

  test("cannot sign anybody in", async () => {
    const signIn = { email: "ann@example.com", password };
    const foreign = await call("SessionService/SignIn", { "sec-fetch-site": "cross-site" }, signIn);
    expect(foreign).toMatchObject({ status: 403, cookie: null });
    const own = await call("SessionService/SignIn", { "sec-fetch-site": "same-origin" }, signIn);
    expect(own).toMatchObject({ status: 200, cookie: expect.stringMatching(/^gateway_session=/) });
  });

  test("is told why", async () => {
    const browser = await signedIn(gateway);
    const foreign = openBrowser(gateway, { "sec-fetch-site": "cross-site" });
    foreign.cookie = browser.cookie;
    expect(await refusalOf(foreign.account.getAccount({}))).toMatchObject({ reason: "CROSS_SITE", status: 403 });
  });
});

describe("a session ends", () => {
  test("when its user signs out, and its cookie is cleared", async () => {
    const browser = await signedIn(gateway);
    const { cookie } = browser;
    await browser.session.signOut({});
    expect(browser.setCookies[1]).toBe("gateway_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0");
    browser.cookie = cookie;
    expect(await refusalOf(browser.account.getAccount({}))).toMatchObject({ reason: "SESSION_ENDED", status: 401 });
    expect((await browser.session.getSession({})).user).toBeUndefined();
  });

  test("seven days after it was last used", async () => {
    const browser = await signedIn(gateway);
    for (const _ of Array(2)) {
      clock.pass(7 * days - 1);
      await use(browser);
    }
    clock.pass(7 * days);
    expect(await refusalOf(browser.account.getAccount({}))).toMatchObject({ reason: "SESSION_ENDED" });
  });

  test("thirty days after it began, however much it is used", async () => {
    const browser = await signedIn(gateway);
    for (const _ of Array(5)) {
      clock.pass(6 * days - 1);
      await use(browser);
    }
    clock.pass(5);
    expect(await refusalOf(browser.account.getAccount({}))).toMatchObject({ reason: "SESSION_ENDED" });
  });

  test("with its user, and is forgotten when the next one begins", async () => {
    const browser = await signedIn(gateway);
    await gateway.storage.users.remove(userId);
    expect(await refusalOf(browser.account.getAccount({}))).toMatchObject({ reason: "SESSION_ENDED" });
    const next = (await makeUser(gateway)).id;
    await signedIn(gateway);
    clock.pass(8 * days);
    await signedIn(gateway);
    expect(await gateway.storage.sessions.sweep(clock.read())).toBe(0);
    expect(await gateway.storage.sessions.list(next, clock.read())).toHaveLength(1);
  });

  test("from another browser of its user", async () => {
    const [here, there, elsewhere] = [await signedIn(gateway), await signedIn(gateway), await signedIn(gateway)];
    const { sessions } = await here.session.listSessions({});
    expect(sessions.map(({ current }) => current)).toEqual([false, false, true]);
    await here.session.revokeSession({ id: sessions[0]?.id ?? "" });
    expect(await refusalOf(elsewhere.account.getAccount({}))).toMatchObject({ reason: "SESSION_ENDED" });
    await there.account.getAccount({});
    expect((await here.session.revokeOtherSessions({})).revoked).toBe(1);
    expect(await refusalOf(there.account.getAccount({}))).toMatchObject({ reason: "SESSION_ENDED" });
    expect(here.setCookies).toHaveLength(1);
    await here.session.revokeSession({ id: sessions[2]?.id ?? "" });
    expect(here.setCookies[1]).toContain("Max-Age=0");
    expect(here.cookie).toBe("");
  });

  test("by nobody else's hand", async () => {
    await makeUser(gateway, { email: "bob@example.com" });
    const [ann, bob] = [await signedIn(gateway), await signedIn(gateway, "bob@example.com")];
    const [{ id = "" } = {}] = (await ann.session.listSessions({})).sessions;
    expect(await refusalOf(bob.session.revokeSession({ id }))).toMatchObject({
      reason: "RESOURCE_NOT_FOUND",
      status: 404,
    });
    expect((await bob.session.revokeOtherSessions({})).revoked).toBe(0);
    const pasted = await refusalOf(bob.session.revokeSession({ id: tokenOf(bob.cookie) }));
    expect(pasted.message).not.toContain(tokenOf(bob.cookie));
    await ann.account.getAccount({});
  });
});

test("a list of sessions tells where each began, by what, and when it was last used", async () => {
  const far = { "x-forwarded-for": "203.0.113.7", "user-agent": "x".repeat(400) };
  const browser = await signedIn(gateway, undefined, far);
  clock.pass(5 * minutes);
  await browser.account.getAccount({});
  const [session] = (await browser.session.listSessions({})).sessions;
  expect(session).toMatchObject({ current: true, address: "203.0.113.7", userAgent: "x".repeat(300) });
  const seconds = (at: { seconds: bigint } | undefined) => Number(at?.seconds) * 1000;
  expect([session?.createdAt, session?.lastSeenAt, session?.expiresAt].map(seconds)).toEqual([
    now,
    now + 5 * minutes,
    now + 30 * days,
  ]);
  expect(JSON.stringify(session, (_, value) => (typeof value === "bigint" ? Number(value) : value))).not.toContain(
    tokenOf(browser.cookie),
  );
});

test("a session of a suspended account is refused at once, and good again when that is over", async () => {
  const browser = await signedIn(gateway);
  await gateway.storage.accounts.update(gateway.accountId, { suspended_at: now });
  expect(await refusalOf(browser.account.getAccount({}))).toMatchObject({ reason: "ACCOUNT_SUSPENDED", status: 403 });
  expect(await refusalOf(browser.session.listSessions({}))).toMatchObject({ reason: "ACCOUNT_SUSPENDED" });
  expect(await refusalOf(signedIn(gateway))).toMatchObject({ reason: "ACCOUNT_SUSPENDED" });
  await gateway.storage.accounts.update(gateway.accountId, { suspended_at: null });
  await browser.account.getAccount({});
});

describe("a new password", () => {
  test("ends all other sessions, and is the only one from then on", async () => {
    const [here, there] = [await signedIn(gateway), await signedIn(gateway)];
    await here.session.changePassword({ current: password, password: "another password" });
    await here.account.getAccount({});
    expect(await refusalOf(there.account.getAccount({}))).toMatchObject({ reason: "SESSION_ENDED" });
    expect(await refusalOf(signedIn(gateway))).toMatchObject({ reason: "SIGN_IN_FAILED", status: 401 });
    await openBrowser(gateway).session.signIn({ email: "ann@example.com", password: "another password" });
  });

  test("needs the current one, and ten characters", async () => {
    const [here, there] = [await signedIn(gateway), await signedIn(gateway)];
    const wrong = { current: "not the password", password: "another password" };
    expect(await refusalOf(here.session.changePassword(wrong))).toMatchObject({ reason: "SIGN_IN_FAILED" });
    const short = { current: password, password: "too short" };
    expect(await refusalOf(here.session.changePassword(short))).toMatchObject({ status: 400 });
    await there.account.getAccount({});
    await signedIn(gateway);
  });

  test("is set once, of two that are asked for at the same time by the one before", async () => {
    const [here, there] = [await signedIn(gateway), await signedIn(gateway)];
    const asked = [here, there].map(({ session }, i) =>
      session.changePassword({ current: password, password: `another password ${i}` }),
    );
    const ended = await Promise.allSettled(asked);
    expect(ended.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });
});

test("who shows no key has no large message read", async () => {
  const body = JSON.stringify({ email: "a".repeat(100_000) });
  const headers = { "content-type": "application/json" };
  const answer = await fetch(`${gateway.rootUrl}/modelgateway.v1.SessionService/GetSession`, {
    ...{ method: "POST", headers, body },
  });
  expect(await answer.json()).toMatchObject({ code: "resource_exhausted" });
});

test("what stands in the place of a key's id and may be its secret is not repeated", async () => {
  const { cookie } = await signedIn(gateway);
  const headers = { cookie, "x-gateway-session": "1", "x-gateway-key": gateway.apiKey };
  const answer = await fetch(`${gateway.baseUrl}/key`, { headers });
  expect(answer.status).toBe(404);
  expect(await answer.text()).not.toContain(gateway.apiKey.slice(8));
});

test("a page is told its keys as often as it asks, and the table of all calls no oftener than a key is", async () => {
  const { cookie } = await signedIn(gateway);
  const ask = async (path: string, method: string) =>
    (await fetch(`${gateway.rootUrl}${path}`, { method, headers: { cookie, "x-gateway-session": "1" } })).status;
  const keys = () => ask("/api/v1/user/admin/get-api-tokens", "POST");
  expect([await keys(), await keys(), await keys()]).toEqual([200, 200, 200]);
  const table = () => ask("/api/v1/usage/requests.csv", "GET");
  expect([await table(), await table()]).toEqual([200, 429]);
  clock.pass(1000);
  expect(await table()).toBe(200);
});
