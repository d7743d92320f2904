/**
 * How one comes to be a user: by the link of the first start, by an invitation, or freely; and to a new password. Each link
 * is good once, and for a while.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { LinkKind } from "../../../gen/modelgateway/v1/sessions_pb.ts";
import type { Config } from "../../../src/config/config.ts";
import { hashToken } from "../../../src/runtime/secrets.ts";
import { issueLink, issueSetUpLink, type LinkInit, linkUrl } from "../../../src/services/people/links.ts";
import {
  days,
  makeUser,
  minutes,
  openBrowser,
  outcomes,
  password,
  refusalOf,
  signedIn,
  stoppedClock,
} from "../../support/dashboard/sign-in.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;
let clock: ReturnType<typeof stoppedClock>;

async function start(config: Partial<Config> = {}): Promise<void> {
  clock = stoppedClock(now);
  gateway = await startTestGateway(config, { clock: clock.read });
}

beforeEach(() => start());
afterEach(() => gateway.close());

async function restart(config: Partial<Config>): Promise<void> {
  await gateway.close();
  await start(config);
}

const newcomer = { email: "First@Example.com", password };

async function setUpLink(): Promise<string> {
  return (await issueSetUpLink(gateway.storage, clock.read()))?.token ?? "";
}

async function linkOf(init: Omit<LinkInit, "validMs" | "now">): Promise<string> {
  return (await issueLink(gateway.storage.links, { validMs: 3 * days, now: clock.read(), ...init })).token;
}

const invite = (init: Partial<LinkInit> = {}) => linkOf({ kind: LinkKind.INVITATION, ...init });

function session() {
  return openBrowser(gateway).session;
}

describe("the link of the first start", () => {
  test("makes the first user, who operates the gateway, and an account, and signs in", async () => {
    expect((await session().getSession({})).awaitsSetUp).toBe(true);
    const link = await setUpLink();
    expect(linkUrl("https://gateway.test", LinkKind.SET_UP, link)).toBe(
      `https://gateway.test/dashboard/set-up#${link}`,
    );
    const browser = openBrowser(gateway);
    const described = await browser.session.describeLink({ link });
    expect([described.kind, described.email, described.accountName]).toEqual([LinkKind.SET_UP, undefined, undefined]);
    expect(Number(described.expiresAt?.seconds) * 1000).toBe(now + days);
    const { user } = await browser.session.setUp({ link, ...newcomer, accountName: "Acme" });
    expect(user).toMatchObject({ email: "first@example.com", accountName: "Acme", operator: true });
    expect((await browser.session.getSession({})).user?.id).toBe(user?.id);
    expect((await browser.account.getAccount({})).account).toMatchObject({ name: "Acme", balance: 0n });
    expect((await session().getSession({})).awaitsSetUp).toBe(false);
    await session().signIn(newcomer);
    expect(gateway.logged()).not.toContain(link);
    expect(gateway.logged()).not.toContain(hashToken(link));
  });

  test("names the account by the e-mail address where nobody gave it another name", async () => {
    const { user } = await session().setUp({ link: await setUpLink(), ...newcomer });
    expect(user?.accountName).toBe("first@example.com");
  });

  test("is good once, of twenty that use it at the same time", async () => {
    const link = await setUpLink();
    const made = Array.from({ length: 20 }, (_, i) =>
      session().setUp({ link, email: `user-${i}@x.example`, password }),
    );
    const ended = await outcomes(made);
    expect(ended.filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(ended.filter((outcome) => outcome === "LINK_INVALID")).toHaveLength(19);
    const { users, accounts } = gateway.storage;
    expect(await users.page({ limit: 100 })).toHaveLength(1);
    // Its own, and the test's.
    expect(await accounts.list()).toHaveLength(2);
  });

  test("is good for a day", async () => {
    const link = await setUpLink();
    clock.pass(days - 1);
    await session().describeLink({ link });
    clock.pass(1);
    expect(await refusalOf(session().describeLink({ link }))).toMatchObject({ reason: "LINK_INVALID", status: 404 });
    expect((await refusalOf(session().setUp({ link, ...newcomer }))).reason).toBe("LINK_INVALID");
  });

  test("is good no more when another was made, or somebody operates the gateway", async () => {
    const first = await setUpLink();
    const second = await setUpLink();
    expect((await refusalOf(session().setUp({ link: first, ...newcomer }))).reason).toBe("LINK_INVALID");
    const { id } = await makeUser(gateway);
    await gateway.storage.users.setOperator(id, true);
    expect((await refusalOf(session().setUp({ link: second, ...newcomer }))).reason).toBe("LINK_INVALID");
    expect(await issueSetUpLink(gateway.storage, now)).toBeUndefined();
  });

  test("stays good where the e-mail address or the account's name is taken, and nothing is left of the attempt", async () => {
    await makeUser(gateway);
    const link = await setUpLink();
    const taken = { link, email: "ann@example.com", password, accountName: "Acme" };
    expect(await refusalOf(session().setUp(taken))).toMatchObject({ reason: "CONFLICT", status: 409 });
    const named = { link, ...newcomer, accountName: "test" };
    expect((await refusalOf(session().setUp(named))).reason).toBe("CONFLICT");
    await session().setUp({ link, ...newcomer, accountName: "Acme" });
  });

  test("neither registers nor sets a password", async () => {
    const link = await setUpLink();
    expect((await refusalOf(session().register({ link, ...newcomer }))).reason).toBe("LINK_INVALID");
    expect((await refusalOf(session().resetPassword({ link, password }))).reason).toBe("LINK_INVALID");
    expect((await refusalOf(session().setUp({ link: await invite(), ...newcomer }))).reason).toBe("LINK_INVALID");
  });
});

describe("registration", () => {
  test("needs an invitation unless the operator says otherwise", async () => {
    expect(await refusalOf(session().register(newcomer))).toMatchObject({
      reason: "REGISTRATION_CLOSED",
      message: expect.stringContaining("only who was invited"),
    });
    const link = await invite();
    const browser = openBrowser(gateway);
    const { user } = await browser.session.register({ link, ...newcomer });
    expect(user).toMatchObject({ email: "first@example.com", operator: false, accountName: "first@example.com" });
    expect((await browser.session.getSession({})).user?.id).toBe(user?.id);
    const again = { link, email: "second@example.com", password };
    expect((await refusalOf(session().register(again))).reason).toBe("LINK_INVALID");
  });

  test("is for everybody where it is open, of whom each has an account of their own", async () => {
    await restart({ registration: "open" });
    const [one, two] = [openBrowser(gateway), openBrowser(gateway)];
    await one.session.register(newcomer);
    await two.session.register({ email: "second@example.com", password, accountName: "Second" });
    const accounts = [(await one.account.getAccount({})).account, (await two.account.getAccount({})).account];
    expect(accounts.map((account) => account?.name)).toEqual(["first@example.com", "Second"]);
    expect(await refusalOf(two.session.register(newcomer))).toMatchObject({ reason: "CONFLICT", status: 409 });
    expect(await gateway.storage.accounts.list()).toHaveLength(3);
    expect((await refusalOf(session().register({ ...newcomer, link: "guess" }))).reason).toBe("LINK_INVALID");
  });

  test("of one e-mail address goes well once, of many at the same time", async () => {
    await restart({ registration: "open" });
    const made = Array.from({ length: 8 }, (_, i) => session().register({ ...newcomer, accountName: `account ${i}` }));
    expect((await outcomes(made)).filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(await gateway.storage.accounts.list()).toHaveLength(2);
  });

  test("is for nobody where it is closed, also with an invitation", async () => {
    await restart({ registration: "closed" });
    expect(await refusalOf(session().register({ link: await invite(), ...newcomer }))).toMatchObject({
      reason: "REGISTRATION_CLOSED",
      message: expect.stringContaining("nobody may register"),
    });
  });

  test("joins the account that the invitation names, and has no say in its name", async () => {
    const link = await invite({ accountId: gateway.accountId, email: "First@example.com" });
    expect(await session().describeLink({ link })).toMatchObject({ email: "first@example.com", accountName: "test" });
    const { user } = await session().register({ link, ...newcomer, accountName: "other" });
    expect(user).toMatchObject({ accountId: gateway.accountId, accountName: "test", operator: false });
    expect(await gateway.storage.accounts.list()).toHaveLength(1);
  });

  test("goes well once for an invitation, of many that use it at the same time", async () => {
    const link = await invite({ accountId: gateway.accountId });
    const made = Array.from({ length: 8 }, (_, i) =>
      session().register({ link, email: `user-${i}@x.example`, password }),
    );
    const ended = await outcomes(made);
    expect(ended.filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(ended.filter((outcome) => outcome === "LINK_INVALID")).toHaveLength(7);
    expect(await gateway.storage.users.page({ limit: 100 })).toHaveLength(1);
  });

  test("makes no user of an account that is suspended, and the invitation is good again when that is over", async () => {
    const { accounts, users } = gateway.storage;
    const link = await invite({ accountId: gateway.accountId });
    await accounts.update(gateway.accountId, { suspended_at: now });
    expect(await refusalOf(session().register({ link, ...newcomer }))).toMatchObject({
      reason: "ACCOUNT_SUSPENDED",
      status: 403,
      message: expect.stringContaining("Your account is suspended"),
    });
    expect(await users.page({ limit: 100 })).toHaveLength(0);
    await accounts.update(gateway.accountId, { suspended_at: null });
    await session().register({ link, ...newcomer });
  });

  test("makes none either of an account that is suspended while the password is hashed", async () => {
    const { accounts, users } = gateway.storage;
    const { find } = accounts;
    vi.spyOn(accounts, "find").mockImplementationOnce(async (id) => {
      const found = await find(id);
      await accounts.update(id, { suspended_at: now });
      return found;
    });
    const link = await invite({ accountId: gateway.accountId });
    expect((await refusalOf(session().register({ link, ...newcomer }))).reason).toBe("ACCOUNT_SUSPENDED");
    expect(await users.page({ limit: 100 })).toHaveLength(0);
  });

  test("is for the e-mail address that was invited alone", async () => {
    const link = await invite({ email: "invited@example.com" });
    expect(await refusalOf(session().register({ link, ...newcomer }))).toMatchObject({ status: 400 });
    await session().register({ link, email: "Invited@Example.com", password });
  });

  test("asks for an e-mail address and ten characters of password", async () => {
    for (const wrong of [
      { email: "nobody" },
      { email: "" },
      { password: "too short" },
      { password: "x".repeat(201) },
    ]) {
      expect(await refusalOf(session().register({ link: await invite(), ...newcomer, ...wrong }))).toMatchObject({
        status: 400,
      });
    }
  });
});

describe("a link for a new password", () => {
  test("sets it, ends all sessions, and signs nobody in", async () => {
    const { id: userId } = await makeUser(gateway);
    const before = await signedIn(gateway);
    const link = await linkOf({ kind: LinkKind.PASSWORD, userId });
    expect(await session().describeLink({ link })).toMatchObject({ kind: LinkKind.PASSWORD, email: "ann@example.com" });
    const browser = openBrowser(gateway);
    expect((await browser.session.resetPassword({ link, password: "another password" })).userId).toBe(userId);
    expect(browser.setCookies).toEqual([]);
    expect((await refusalOf(before.account.getAccount({}))).reason).toBe("SESSION_ENDED");
    expect((await refusalOf(signedIn(gateway))).reason).toBe("SIGN_IN_FAILED");
    await browser.session.signIn({ email: "ann@example.com", password: "another password" });
    expect((await refusalOf(session().resetPassword({ link, password }))).reason).toBe("LINK_INVALID");
  });

  test("is good no more when the password was set by another, or by the user", async () => {
    const { id: userId } = await makeUser(gateway);
    const init = { kind: LinkKind.PASSWORD, userId };
    const [first, second] = [await linkOf(init), await linkOf(init)];
    await session().resetPassword({ link: first, password });
    expect((await refusalOf(session().resetPassword({ link: second, password }))).reason).toBe("LINK_INVALID");
    const third = await linkOf({ kind: LinkKind.PASSWORD, userId });
    await (await signedIn(gateway)).session.changePassword({ current: password, password: "another password" });
    expect((await refusalOf(session().resetPassword({ link: third, password }))).reason).toBe("LINK_INVALID");
  });

  test("goes with its user, and leaves other users' links be", async () => {
    const [ann, bob] = [await makeUser(gateway), await makeUser(gateway, { email: "bob@example.com" })];
    const annLink = await linkOf({ kind: LinkKind.PASSWORD, userId: ann.id });
    const bobLink = await linkOf({ kind: LinkKind.PASSWORD, userId: bob.id });
    await session().resetPassword({ link: annLink, password });
    await gateway.storage.users.remove(ann.id);
    await session().resetPassword({ link: bobLink, password });
  });

  test("leaves the second factor as it is", async () => {
    const { id: userId } = await makeUser(gateway);
    const { users } = gateway.storage;
    await users.setPendingFactor(userId, "GEZDGNBVGY3TQOJQ");
    await users.enableFactor(userId, { secret: "GEZDGNBVGY3TQOJQ", step: 1, recoveryHashes: [] });
    await session().resetPassword({
      link: await linkOf({ kind: LinkKind.PASSWORD, userId }),
      password: "another password",
    });
    const signIn = session().signIn({ email: "ann@example.com", password: "another password" });
    expect((await refusalOf(signIn)).reason).toBe("SECOND_FACTOR_NEEDED");
  });
});

test("links that have expired are forgotten as new ones are made", async () => {
  const { links } = gateway.storage;
  const expired = await issueLink(links, { kind: LinkKind.INVITATION, validMs: minutes, now });
  const good = await issueLink(links, { kind: LinkKind.INVITATION, validMs: days, now });
  await issueLink(links, { kind: LinkKind.INVITATION, validMs: days, now: now + minutes });
  // Asked for at a moment at which both were good.
  expect(await links.findByTokenHash(hashToken(expired.token), now)).toBeUndefined();
  expect(await links.findByTokenHash(hashToken(good.token), now)).toMatchObject({
    id: good.id,
    token_hash: hashToken(good.token),
  });
});
