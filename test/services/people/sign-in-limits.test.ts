/**
 * Guessing does not get far: attempts are counted by e-mail address, by place and by user, before they are looked at.
 */
import { readFile } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { networkOf } from "../../../src/runtime/net/networks.ts";
import { passwordsWaiting } from "../../../src/runtime/secrets.ts";
import {
  makeUser,
  minutes,
  openBrowser,
  outcomes,
  password,
  refusalOf,
  signedIn,
  stoppedClock,
} from "../../support/dashboard/sign-in.ts";
import { eventually } from "../../support/eventually.ts";
import { now, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;
let clock: ReturnType<typeof stoppedClock>;
let places = 0;

beforeEach(async () => {
  clock = stoppedClock(now);
  gateway = await startTestGateway({ trustedProxies: ["127.0.0.1"] }, { clock: clock.read });
  await makeUser(gateway);
});

afterEach(() => gateway.close());

const wrong = "not the password";
const home = "203.0.113.100";

/** Tries to sign in from a place of its own, unless one is named. */
function attempt(email: string, secret: string, place = `198.51.${++places >> 8}.${places & 255}`) {
  return openBrowser(gateway, { "x-forwarded-for": place }).session.signIn({ email, password: secret });
}

async function attempts(
  count: number,
  email: string | ((i: number) => string),
  place?: string | ((i: number) => string),
) {
  const of = (value: string | ((i: number) => string), i: number) => (typeof value === "string" ? value : value(i));
  const made: string[] = [];
  for (let i = 0; i < count; i++) {
    made.push(...(await outcomes([attempt(of(email, i), wrong, place && of(place, i))])));
  }
  return made;
}

describe("as one e-mail address", () => {
  test("ten attempts are looked at from one place; then even the right password is not", async () => {
    const spellings = ["ann@example.com", "ANN@example.com", " ann@example.com "];
    const made = await attempts(10, (i) => spellings[i % 3] as string, home);
    expect(made).toEqual(Array(10).fill("SIGN_IN_FAILED"));
    const refused = await refusalOf(attempt("ann@example.com", password, home));
    expect(refused).toMatchObject({ reason: "RATE_LIMITED", status: 429, retryAfter: "90" });
    expect(refused.message).toBe("Too many attempts. Try again in 90 s.");
    clock.pass(1.5 * minutes - 1);
    expect((await refusalOf(attempt("ann@example.com", password, home))).reason).toBe("RATE_LIMITED");
    clock.pass(1);
    await attempt("ann@example.com", password, home);
  });

  test("fifty are looked at from all places together, and who is signed in is not locked out by them", async () => {
    await attempt("ann@example.com", password, home);
    const made = await attempts(49, "ann@example.com");
    expect(made).toEqual(Array(49).fill("SIGN_IN_FAILED"));
    expect((await refusalOf(attempt("ann@example.com", password))).reason).toBe("RATE_LIMITED");
    await attempt("ann@example.com", password, home);
  });

  test("ten of many made at once are looked at", async () => {
    const made = await outcomes(Array.from({ length: 25 }, () => attempt("ann@example.com", wrong, home)));
    expect(made.filter((outcome) => outcome === "SIGN_IN_FAILED")).toHaveLength(10);
    expect(made.filter((outcome) => outcome === "RATE_LIMITED")).toHaveLength(15);
  });

  test("they do not count for another, and count where nobody has it", async () => {
    await makeUser(gateway, { email: "bob@example.com" });
    await attempts(10, "ann@example.com", home);
    await attempt("bob@example.com", password, home);
    await attempts(10, "nobody@example.com", home);
    expect((await refusalOf(attempt("nobody@example.com", wrong, home))).reason).toBe("RATE_LIMITED");
  });
});

test("of codes fifty a day are looked at after the right password, from all places and over all quarters of an hour", async () => {
  const { id: userId } = await makeUser(gateway, { email: "eve@example.com" });
  const { users } = gateway.storage;
  await users.setPendingFactor(userId, "GEZDGNBVGY3TQOJQ");
  await users.enableFactor(userId, { secret: "GEZDGNBVGY3TQOJQ", step: 1, recoveryHashes: [] });
  const guess = (i: number) => {
    clock.pass(minutes);
    const browser = openBrowser(gateway, { "x-forwarded-for": `203.0.${i}.1` });
    return browser.session.signIn({ email: "eve@example.com", password, code: "x" });
  };
  const made: string[] = [];
  for (let i = 0; i < 60; i++) made.push(...(await outcomes([guess(i)])));
  const looked = made.filter((outcome) => outcome === "SIGN_IN_FAILED").length;
  // One more in each 29 minutes.
  expect([looked, made.at(-1)]).toEqual([52, "RATE_LIMITED"]);
});

describe("from one place", () => {
  test("thirty attempts are looked at, at whomever; from another place it goes on", async () => {
    const made = await attempts(30, (i) => `user-${i}@example.com`, "203.0.113.7");
    expect(made).toEqual(Array(30).fill("SIGN_IN_FAILED"));
    const refused = await refusalOf(attempt("ann@example.com", password, "203.0.113.7"));
    expect(refused).toMatchObject({ reason: "RATE_LIMITED", retryAfter: "30" });
    await attempt("ann@example.com", password, "203.0.113.8");
    clock.pass(minutes / 2);
    await attempt("ann@example.com", password, "203.0.113.7");
  });

  test("of IPv6 all addresses of a network are one place, however they are written", async () => {
    await attempts(
      30,
      (i) => `user-${i}@example.com`,
      (i) => `2001:db8::${i.toString(16)}:1`,
    );
    expect((await refusalOf(attempt("ann@example.com", password, "2001:db8:0:0:a::1"))).reason).toBe("RATE_LIMITED");
    await attempt("ann@example.com", password, "2001:db8:0:1::1");
    expect(
      ["::1", "2001:db8::a:b", "1:2:3:4:5:6:7:8", "1:2:3:4::", "::2:3:4:5:6:7:8", "192.0.2.1"].map(networkOf),
    ).toEqual(["0:0:0:0", "2001:db8:0:0", "1:2:3:4", "1:2:3:4", "0:2:3:4", "192.0.2.1"]);
  });

  test("links and registrations are counted with them", async () => {
    const { session } = openBrowser(gateway, { "x-forwarded-for": "203.0.113.9" });
    const user = { email: "new@example.com", password };
    for (let i = 0; i < 10; i++) {
      expect((await refusalOf(session.describeLink({ link: "guess" }))).reason).toBe("LINK_INVALID");
      expect((await refusalOf(session.setUp({ link: "guess", ...user }))).reason).toBe("LINK_INVALID");
      expect((await refusalOf(session.register({ link: "guess", ...user }))).reason).toBe("LINK_INVALID");
    }
    const more = [
      session.describeLink({ link: "guess" }),
      session.setUp({ link: "guess", ...user }),
      session.register({ link: "guess", ...user }),
      session.resetPassword({ link: "guess", password }),
      session.signIn({ email: "ann@example.com", password }),
    ];
    expect(await outcomes(more)).toEqual(Array(5).fill("RATE_LIMITED"));
  });
});

test("whoever has taken a session may not go on guessing the password, nor a code", async () => {
  const { session } = await signedIn(gateway);
  await session.beginSecondFactor({});
  for (let i = 0; i < 4; i++) {
    expect((await refusalOf(session.changePassword({ current: wrong, password: wrong }))).reason).toBe(
      "SIGN_IN_FAILED",
    );
    expect((await refusalOf(session.disableSecondFactor({ password: wrong }))).reason).toBe("SIGN_IN_FAILED");
  }
  for (let i = 0; i < 2; i++) await refusalOf(session.enableSecondFactor({ code: "abcdef", password }));
  const more = [
    session.changePassword({ current: password, password: wrong }),
    session.disableSecondFactor({ password }),
    session.enableSecondFactor({ code: "000000", password }),
  ];
  expect(await outcomes(more)).toEqual(Array(3).fill("RATE_LIMITED"));
  // The owner still signs in, and may go on after a while.
  await signedIn(gateway);
  clock.pass(2 * minutes);
  await session.changePassword({ current: password, password: "another password" });
});

describe("a refusal", () => {
  test("is the same for a wrong password and for an e-mail address that nobody has", async () => {
    const [known, unknown] = [
      await refusalOf(attempt("ann@example.com", wrong)),
      await refusalOf(attempt("nobody@example.com", wrong)),
    ];
    expect(known).toEqual(unknown);
    expect(known).toMatchObject({ reason: "SIGN_IN_FAILED", status: 401 });
  });

  test("tells of a suspended account, or of a second factor, only who knows the password", async () => {
    await gateway.storage.accounts.update(gateway.accountId, { suspended_at: now });
    expect((await refusalOf(attempt("ann@example.com", wrong))).reason).toBe("SIGN_IN_FAILED");
    expect((await refusalOf(attempt("ann@example.com", password))).reason).toBe("ACCOUNT_SUSPENDED");
  });
});

test("however many try from however many places, the files are read meanwhile, and who comes too late is told so", async () => {
  const tried = outcomes(Array.from({ length: 180 }, (_, i) => attempt(`user-${i}@example.com`, wrong)));
  await eventually(() => expect(passwordsWaiting()).toBeGreaterThan(50));
  // In the threads that hash all passwords, it would be last.
  await readFile(import.meta.filename);
  expect(passwordsWaiting()).toBeGreaterThan(40);
  const made = await tried;
  expect(made.filter((outcome) => outcome === "SIGN_IN_FAILED").length).toBeGreaterThanOrEqual(100);
  expect(new Set(made)).toEqual(new Set(["SIGN_IN_FAILED", "RATE_LIMITED"]));
  expect(passwordsWaiting()).toBe(0);
});
