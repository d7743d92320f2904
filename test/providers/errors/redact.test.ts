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

test.each([
  ["connect ECONNREFUSED 10.1.2.3:8080", "connect ECONNREFUSED [hidden]"],
  ["http://192.168.0.7/v1 and 172.20.0.1 and 127.0.0.1:11434", "http://[hidden]/v1 and [hidden] and [hidden]"],
  ["http://vllm.prod.svc.cluster.local:8000/v1", "http://[hidden]/v1"],
  ["http://localhost:4000 said no", "http://[hidden] said no"],
  ["Incorrect API key provided: sk-proj-abcdefghij0123456789.", "Incorrect API key provided: [hidden]."],
  ['{"authorization":"Bearer abcdefghij.0123456789=="}', '{"authorization":"Bearer [hidden]"}'],
])("what an upstream tells of servers behind it is hidden: %s", (told, seen) => {
  expect(createRedact("https://api.example.com/v1", [])(told)).toBe(seen);
});

test("other addresses, versions and names stay as they are", () => {
  const told =
    "Version 11.1.2.3 of 8.8.8.8 at https://docs.example.com/local: risk-adjusted-answers-of-a-task, 1.10.0.0.1";
  expect(createRedact("https://api.example.com/v1", [])(told)).toBe(told);
});
