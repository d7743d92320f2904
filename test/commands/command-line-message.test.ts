/** Refusals as a terminal tells them: by its options, and by the command that lists what there is. */
import { expect, test } from "vitest";
import { invalidValue, resourceNotFound } from "../../src/call/refusals.ts";
import { commandLineMessage } from "../../src/commands/command-line-message.ts";

test.each([
  ["allowed_ips[0]", "--allow-ip"],
  ["model_rates[0].model", "--model-rate"],
  ["requests_per_minute", "--rpm"],
  ["expires_at", "--expires"],
  ["max_concurrent", "--max-concurrent"],
])("a wrong %s is a wrong %s", (field, option) => {
  const message = commandLineMessage(invalidValue(field, "expected something else"));
  expect(message).toMatch(new RegExp(`^${option}: `));
  expect(message).not.toContain(field);
});

test("what is not there leads to the command that lists what is", () => {
  expect(commandLineMessage(resourceNotFound("version", "7", "version"))).toBe(
    "There is no version '7'. `model-gateway config versions` shows those that there are.",
  );
  expect(commandLineMessage(resourceNotFound("upstream", "none", "name"))).toBe(
    "There is no upstream 'none'. `upstreams` of the configuration shows those that there are.",
  );
});
