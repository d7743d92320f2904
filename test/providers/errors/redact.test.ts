/** What an upstream tells of the operator's secrets is hidden, whole. */
import { expect, test } from "vitest";
import { createRedact } from "../../../src/providers/errors/redact.ts";

test.each([
  ["one that another begins with", ["sk-secret-1", "sk-secret-1-long"]],
  ["one that another ends with", ["secret-key-1", "Basic secret-key-1"]],
])("%s leaves nothing of the other", (_, secrets) => {
  for (const order of [secrets, secrets.toReversed()]) {
    const redact = createRedact("http://127.0.0.1:9/v1", order);
    expect(redact(`no: ${secrets.join(" and ")}.`)).toBe("no: [hidden] and [hidden].");
  }
});
