/** Every failure of an upstream and every message of a refused call that the gateway keeps has a text in Chinese. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { refusedInChinese } from "../../dashboard/src/language/refused-texts.ts";
import { failureText } from "../../dashboard/src/parts/failure-texts.ts";
import * as refusals from "../../src/call/refusals.ts";
import { pathsBelow } from "../../src/package/package-files.ts";
import { quotable } from "../../src/pipeline/refused/refused-calls.ts";
import { root } from "../support/command.ts";

const sources = pathsBelow(join(root, "src"))
  .filter((path) => path.endsWith(".ts"))
  .map((path) => readFileSync(join(root, "src", path), "utf8"));
const told = sources.flatMap((source) =>
  [...source.matchAll(/upstreamFailed\(\s*(?:[^"`;]{0,60}\? )?"([^"]+)"(?: : "([^"]+)")?/g)].flatMap(
    ([, one, other]) => (other === undefined ? [one ?? ""] : [one ?? "", other]),
  ),
);

describe("failures of upstreams", () => {
  test("are found in the source", () => {
    expect(told.length).toBeGreaterThan(20);
    expect(told).toContain("it cannot be reached");
    expect(told).toContain("the connection to it broke");
  });

  test.for([
    ...new Set(told),
    "it answered with status 503",
    "it did not answer in time",
    "no connection in 10 s",
    "no answer in 0.25 s",
    "nothing more of its answer in 300 s",
    "no end of its answer in 5 s",
    "no end of its answer within `x-gateway-timeout`",
    "it serves no embeddings",
    "it has as many calls as it may have",
    "another attempt was quicker",
    "it rejected the request",
    "it cannot be reached (ECONNREFUSED)",
  ])("%s", (text) => {
    expect(failureText(text, "zh-CN")).toMatch(/\p{Script=Han}/u);
    expect(failureText(text, "en")).toBe(text);
  });

  test("keep the code, and what is not known stays as it is", () => {
    expect(failureText("the connection to it broke (ECONNRESET)", "zh-CN")).toBe("与上游的连接中断（ECONNRESET）");
    expect(failureText("something else", "zh-CN")).toBe("something else");
    expect(failureText("constructor", "zh-CN")).toBe("constructor");
  });
});

describe("refused calls", () => {
  const budget = { available: "0.50 JPY", header: "" };
  /** Each refusal whose message is kept, by the name of the function that makes it. */
  const made: Partial<Record<keyof typeof refusals, readonly refusals.Refusal[]>> = {
    rateLimited: [
      refusals.rateLimited("600 requests a minute", 2_000),
      refusals.rateLimited("1 request a minute", 2_000),
      refusals.rateLimited("1000 tokens a minute", 2_000, {}, "the API key"),
      refusals.rateLimited("30 requests a minute of the model `gpt-5`", 2_000, {}, "the API key"),
      refusals.rateLimited("30 requests a minute of models of the family `openai`", 2_000, {}, "the API key"),
      refusals.rateLimited("10 calls of this RPC a second", 2_000),
    ],
    tooManyAttempts: [refusals.tooManyAttempts(2_000)],
    tooManyRunning: [refusals.tooManyRunning(1), refusals.tooManyRunning(20)],
    addressNotPermitted: [refusals.addressNotPermitted("192.0.2.7"), refusals.addressNotPermitted("")],
    insufficientCredit: [
      refusals.insufficientCredit("balance", "0.042 JPY", "0.013 JPY"),
      refusals.insufficientCredit("limit", "0.042 JPY", "-0.013 JPY"),
    ],
    budgetExceeded: [
      refusals.budgetExceeded("1.25 JPY", {
        ...{ ...budget, name: "the API key's budget of 12.50 JPY for this month", endsAt: "2026-12-01T00:00:00.000Z" },
      }),
      refusals.budgetExceeded("1.25 JPY", {
        ...{ ...budget, name: "the account's budget of 12.50 JPY for today", endsAt: undefined },
      }),
    ],
    beyondAnyHold: [refusals.beyondAnyHold("5000000000.00 JPY", "3000000000.00 JPY")],
    missingApiKey: [refusals.missingApiKey()],
    invalidApiKey: [refusals.invalidApiKey()],
    operatorKeyRefused: [refusals.operatorKeyRefused(true), refusals.operatorKeyRefused(false)],
    keyDisabled: [refusals.keyDisabled()],
    keyExpired: [refusals.keyExpired()],
    accountSuspended: [refusals.accountSuspended()],
    userSuspended: [refusals.userSuspended()],
    permissionDenied: [refusals.permissionDenied("an API key with administrator privilege")],
    modelUnpriced: [refusals.modelUnpriced("gpt-5")],
    wayUnpriced: (["service_tier", "speed", "inference_geo", "tools"] as const).map((param) =>
      refusals.wayUnpriced("gpt-5", param),
    ),
    otherModelUnpriced: [refusals.otherModelUnpriced("m", "advisor_1"), refusals.otherModelUnpriced("m", "other")],
    formTooLarge: [refusals.formTooLarge(100)],
    requestTooLarge: [refusals.requestTooLarge(100)],
    expandedTooLarge: [refusals.expandedTooLarge(100)],
    compressedTooWell: [refusals.compressedTooWell(100)],
    referredTooLarge: [refusals.referredTooLarge(100, "input")],
    backgroundTooLarge: [refusals.backgroundTooLarge(100)],
    requestTimeout: [refusals.requestTimeout()],
    answerWithoutRoom: [refusals.answerWithoutRoom()],
    bodiesTooMany: [refusals.bodiesTooMany("the gateway"), refusals.bodiesTooMany("the account")],
    backgroundTooMany: [refusals.backgroundTooMany("the gateway"), refusals.backgroundTooMany("the account")],
    backgroundInterrupted: [refusals.backgroundInterrupted()],
    upstreamBusy: [refusals.upstreamBusy(2_000)],
    storageUnavailable: [refusals.storageUnavailable(undefined)],
    spendingUnknown: [refusals.spendingUnknown()],
    ratesUnavailable: [refusals.ratesUnavailable()],
    notCached: [refusals.notCached()],
  };

  test("are all here whose messages are kept", () => {
    const source = readFileSync(join(root, "src/call/refusals.ts"), "utf8");
    const functions = [...source.matchAll(/^export function (\w+)[\s\S]*?^\}/gm)];
    const kept = functions.flatMap(([text, name = ""]) =>
      [...text.matchAll(/Reason\.([A-Z_]+)/g)].some(([, word]) =>
        quotable.has(refusals.Reason[word as keyof typeof refusals.Reason]),
      )
        ? [name]
        : [],
    );
    expect(kept.length).toBeGreaterThan(25);
    expect(kept.sort()).toEqual(Object.keys(made).sort());
  });

  test.for(Object.values(made).flat())("%s", ({ message }) => {
    const text = refusedInChinese(message);
    expect(text).toMatch(/\p{Script=Han}/u);
    expect(text).not.toMatch(/ [a-z]{3,} [a-z]/);
    // A budget is told without its amount, which the page of the key or the account has.
    const amounts = message.replace(/budget of .*?(?= for)/, "").match(/[\d.]+(?= JPY| bytes)/g) ?? [];
    for (const amount of amounts) expect(text).toContain(amount);
  });

  test("keep their numbers, and what is not known stays as it is", () => {
    const { message } = refusals.rateLimited("600 requests a minute", 2_000);
    expect(refusedInChinese(message)).toBe("达到速率限制：账户上限为每分钟 600 次请求，请在 2 秒后重试。");
    const { message: short } = refusals.insufficientCredit("balance", "0.042 JPY", "-0.013 JPY");
    expect(refusedInChinese(short)).toBe("此调用至少需要 0.042 JPY，而账户余额仅剩 -0.013 JPY。");
    expect(refusedInChinese("something else entirely")).toBe("something else entirely");
  });
});
