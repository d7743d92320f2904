/** Every failure of an upstream that the gateway can tell of has a text in Chinese. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { failureText } from "../../dashboard/src/parts/failure-texts.ts";
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
    expect(failureText("the connection to it broke (ECONNRESET)", "zh-CN")).toBe("与上游的连接中断 (ECONNRESET)");
    expect(failureText("something else", "zh-CN")).toBe("something else");
    expect(failureText("constructor", "zh-CN")).toBe("constructor");
  });
});
