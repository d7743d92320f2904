/** Every failure of an upstream that the gateway can tell of has a text in Chinese. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { refusedInChinese } from "../../dashboard/src/language/refused-texts.ts";
import { failureText } from "../../dashboard/src/parts/failure-texts.ts";
import * as refusals from "../../src/call/refusals.ts";
import { pathsBelow } from "../../src/package/package-files.ts";
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
  test.for([
    refusals.rateLimited("600 requests a minute", 2_000),
    refusals.rateLimited("1000 tokens a minute", 2_000, {}, "the API key"),
    refusals.tooManyRunning(1),
    refusals.tooManyRunning(20),
    refusals.addressNotPermitted("192.0.2.7"),
    refusals.insufficientCredit("balance", "0.042 JPY", "0.013 JPY"),
    refusals.insufficientCredit("limit", "0.042 JPY", "-0.013 JPY"),
    refusals.budgetExceeded("1.25 JPY", {
      ...{ ...budget, name: "the API key's budget of 12.50 JPY for this month", endsAt: "2026-12-01T00:00:00.000Z" },
    }),
    refusals.budgetExceeded("1.25 JPY", {
      ...budget,
      name: "the account's budget of 12.50 JPY for today",
      endsAt: undefined,
    }),
    refusals.accountSuspended(),
  ])("%s", ({ message }) => {
    const text = refusedInChinese(message);
    expect(text).toMatch(/\p{Script=Han}/u);
    expect(text).not.toMatch(/ [a-z]{3}/);
  });

  test("keep their numbers, and what is not known stays as it is", () => {
    const { message } = refusals.rateLimited("600 requests a minute", 2_000);
    expect(refusedInChinese(message)).toBe("达到速率限制：账户上限为每分钟 600 次请求，请在 2 秒后重试。");
    const { message: short } = refusals.insufficientCredit("balance", "0.042 JPY", "-0.013 JPY");
    expect(refusedInChinese(short)).toBe("此调用至少需要 0.042 JPY，而账户余额仅剩 -0.013 JPY。");
    expect(refusedInChinese("something else entirely")).toBe("something else entirely");
  });
});
