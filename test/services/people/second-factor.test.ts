/**
 * The second factor: an authenticator app, as one that keeps to RFC 6238 shows its codes, and recovery codes without it.
 */
import { URI } from "otpauth";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { hashToken } from "../../../src/runtime/secrets.ts";
import { askRpc, bearer } from "../../support/dashboard/session.ts";
import {
  type Browser,
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
let userId: string;
let browser: Browser;

const step = 30_000;
const operatorKey = "o".repeat(40);

beforeEach(async () => {
  clock = stoppedClock(now);
  gateway = await startTestGateway({ operatorKey }, { clock: clock.read });
  userId = (await makeUser(gateway)).id;
  browser = await signedIn(gateway);
});

afterEach(() => gateway.close());

interface App {
  /** code returns the code of this moment, or of one `offMs` away. */
  code(offMs?: number): string;
  readonly recoveryCodes: readonly string[];
}

function scan(uri: string): App["code"] {
  const app = URI.parse(uri);
  if (!("period" in app)) throw new Error("an app of counted codes");
  return (offMs = 0) => app.generate({ timestamp: clock.read() + offMs });
}

/** enable scans the QR code and proves it with the code of the time step before. */
async function enable(): Promise<App> {
  const { uri } = await browser.session.beginSecondFactor({});
  const code = scan(uri);
  const { recoveryCodes } = await browser.session.enableSecondFactor({ code: code(), password });
  clock.pass(step);
  return { code, recoveryCodes };
}

function signIn(code?: string) {
  const more = code === undefined ? {} : { code };
  return openBrowser(gateway).session.signIn({ email: "ann@example.com", password, ...more });
}

describe("a second factor", () => {
  test("is begun with a secret that apps can scan, and asked for once its code was proved", async () => {
    const { secret, uri } = await browser.session.beginSecondFactor({});
    expect(secret).toMatch(/^[A-Z2-7]{32}$/);
    expect(uri).toMatch(/^otpauth:\/\/totp\/model-gateway:ann%40example\.com\?/);
    const query = new URL(uri).searchParams;
    expect(Object.fromEntries(query)).toMatchObject({ issuer: "model-gateway", secret, digits: "6", period: "30" });
    expect((await signIn()).user?.secondFactor).toBe(false);
    expect((await refusalOf(browser.session.enableSecondFactor({ code: "12345x", password }))).reason).toBe(
      "SIGN_IN_FAILED",
    );
    await signIn();
    const app = await enable();
    expect((await browser.session.getSession({})).user?.secondFactor).toBe(true);
    expect(await refusalOf(signIn())).toMatchObject({ reason: "SECOND_FACTOR_NEEDED", status: 401 });
    expect((await signIn(app.code())).user).toMatchObject({ id: userId, secondFactor: true });
  });

  test("is not enabled before one was begun, nor begun or enabled anew before it is disabled", async () => {
    expect(await refusalOf(browser.session.enableSecondFactor({ code: "123456", password }))).toMatchObject({
      status: 409,
    });
    const app = await enable();
    expect(await refusalOf(browser.session.beginSecondFactor({}))).toMatchObject({ reason: "CONFLICT", status: 409 });
    expect(await refusalOf(browser.session.enableSecondFactor({ code: app.code(), password }))).toMatchObject({
      status: 409,
    });
    await signIn(app.code());
  });

  test("is not enabled without the password: who has taken a session must not lock its owner out", async () => {
    const { uri } = await browser.session.beginSecondFactor({});
    const code = scan(uri)();
    const refused = await refusalOf(browser.session.enableSecondFactor({ code, password: "not the password" }));
    expect(refused).toMatchObject({ reason: "SIGN_IN_FAILED", message: "The password is wrong. Try again." });
    expect((await signIn()).user?.secondFactor).toBe(false);
  });

  test("ends all other sessions of the user when it is enabled, disabled or removed by the operator", async () => {
    const others = async () => (await gateway.storage.sessions.list(userId, clock.read())).length - 1;
    const other = await signedIn(gateway);
    const app = await enable();
    expect(await refusalOf(other.session.listSessions({}))).toMatchObject({ reason: "SESSION_ENDED", status: 401 });
    expect([await others(), (await browser.session.listSessions({})).sessions[0]?.current]).toEqual([0, true]);
    await signIn(app.code());
    expect(await others()).toBe(1);
    await browser.session.disableSecondFactor({ password });
    expect([await others(), (await browser.session.listSessions({})).sessions[0]?.current]).toEqual([0, true]);
    clock.pass(step);
    await enable();
    const removed = await askRpc(
      gateway,
      "OperatorService.UpdateUser",
      { userId, secondFactor: false },
      bearer(operatorKey),
    );
    expect([removed.status, await others()]).toEqual([200, -1]);
  });

  test("ends the session of who signs in by the password alone while it is enabled", async () => {
    const { uri } = await browser.session.beginSecondFactor({});
    const code = scan(uri)();
    const [enabled] = await outcomes([
      browser.session.enableSecondFactor({ code, password }),
      ...[1, 2, 3].map(() => signIn()),
    ]);
    expect(enabled).toBe("done");
    expect(await gateway.storage.sessions.list(userId, clock.read())).toHaveLength(1);
  });

  test("is enabled, or the password changed, by one of two sessions that do so at the same time", async () => {
    const other = await signedIn(gateway);
    const { uri } = await browser.session.beginSecondFactor({});
    const code = scan(uri)();
    const ended = await outcomes([
      browser.session.enableSecondFactor({ code, password }),
      other.session.changePassword({ current: password, password: "another long password" }),
    ]);
    expect(ended.filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(await gateway.storage.sessions.list(userId, clock.read())).toHaveLength(1);
  });

  test("is enabled once, of two that prove it at the same time", async () => {
    const { uri } = await browser.session.beginSecondFactor({});
    const code = scan(uri)();
    const ended = await outcomes([1, 2].map(() => browser.session.enableSecondFactor({ code, password })));
    expect(ended.sort()).toEqual(["CONFLICT", "done"]);
  });

  test("is disabled by the password, and gone with its recovery codes", async () => {
    const app = await enable();
    expect(await refusalOf(browser.session.disableSecondFactor({ password: "wrong" }))).toMatchObject({
      reason: "SIGN_IN_FAILED",
    });
    expect((await refusalOf(signIn())).reason).toBe("SECOND_FACTOR_NEEDED");
    await browser.session.disableSecondFactor({ password });
    await signIn();
    const kept = await gateway.storage.users.find(userId);
    expect(kept).toMatchObject({ totp_secret: null, totp_pending: null, recovery_hashes: null });
    const again = await enable();
    expect((await refusalOf(signIn(app.recoveryCodes[0]))).reason).toBe("SIGN_IN_FAILED");
    await signIn(again.recoveryCodes[0]);
  });

  test("leaves neither its secret nor a code in the log", async () => {
    const app = await enable();
    const code = app.code();
    await signIn(code);
    const secret = (await gateway.storage.users.find(userId))?.totp_secret as string;
    for (const text of [secret, `"${code}"`, app.recoveryCodes[0] as string]) {
      expect(gateway.logged()).not.toContain(text);
    }
  });
});

describe("a code of the app", () => {
  test("signs in once", async () => {
    const app = await enable();
    await signIn(app.code());
    expect((await refusalOf(signIn(app.code()))).reason).toBe("SIGN_IN_FAILED");
    expect((await refusalOf(signIn(app.code(-step)))).reason).toBe("SIGN_IN_FAILED");
    clock.pass(step);
    await signIn(app.code());
  });

  test("signs in once, of many that bring it at the same time", async () => {
    const app = await enable();
    const ended = await outcomes(Array.from({ length: 8 }, () => signIn(app.code())));
    expect(ended.filter((outcome) => outcome === "done")).toHaveLength(1);
    expect(ended.filter((outcome) => outcome === "SIGN_IN_FAILED")).toHaveLength(7);
    // The browser that enabled it, and the one that got in.
    expect(await gateway.storage.sessions.list(userId, clock.read())).toHaveLength(2);
  });

  test("that enabled the second factor signs nobody in", async () => {
    const app = await enable();
    expect((await refusalOf(signIn(app.code(-step)))).reason).toBe("SIGN_IN_FAILED");
  });

  test.each([-1, 1])("may be of the step beside: %i", async (off) => {
    const app = await enable();
    clock.pass(5 * minutes);
    expect((await refusalOf(signIn(app.code(2 * off * step)))).reason).toBe("SIGN_IN_FAILED");
    await signIn(app.code(off * step));
  });

  test("may have spaces, and whatever else is sent for one is refused", async () => {
    const app = await enable();
    for (const code of ["12345", "1234567", "１２３４５６", "éééééé", "      ", "' OR 1", "x".repeat(50)]) {
      expect((await refusalOf(signIn(code))).reason, code).toBe("SIGN_IN_FAILED");
    }
    clock.pass(15 * minutes);
    await signIn(app.code().replace(/^.../, "$& "));
  });
});

describe("a recovery code", () => {
  test("is one of ten, and signs in once", async () => {
    const { recoveryCodes } = await enable();
    expect(new Set(recoveryCodes).size).toBe(10);
    for (const code of recoveryCodes) expect(code).toMatch(/^([0-9a-hjkmnp-tv-z]{4}-){3}[0-9a-hjkmnp-tv-z]{4}$/);
    const [first = "", second = ""] = recoveryCodes;
    await signIn(first);
    expect((await refusalOf(signIn(first))).reason).toBe("SIGN_IN_FAILED");
    await signIn(` ${second.toUpperCase().replaceAll("-", " ").replaceAll("1", "I").replaceAll("0", "O")}`);
    expect((await refusalOf(signIn(second))).reason).toBe("SIGN_IN_FAILED");
    const left = JSON.parse((await gateway.storage.users.find(userId))?.recovery_hashes as string) as string[];
    expect(left).toEqual(recoveryCodes.slice(2).map((code) => hashToken(code.replaceAll("-", ""))));
  });

  test("signs in once, of many that bring it at the same time", async () => {
    const { recoveryCodes } = await enable();
    const ended = await outcomes(Array.from({ length: 8 }, () => signIn(recoveryCodes[3])));
    expect(ended.filter((outcome) => outcome === "done")).toHaveLength(1);
    await signIn(recoveryCodes[4]);
  });
});
