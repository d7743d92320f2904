/** The address at which commands and people reach a gateway on this machine. */
import { expect, test } from "vitest";
import { rootUrl } from "../../src/commands/serving/listening.ts";

test.each([
  ["127.0.0.1", "http://127.0.0.1:8080"],
  ["gateway.example.com", "http://gateway.example.com:8080"],
  ["::1", "http://[::1]:8080"],
  ["0.0.0.0", "http://127.0.0.1:8080"],
  ["::", "http://[::1]:8080"],
])("a gateway that listens on %s is reached at %s", (host, url) => {
  expect(rootUrl({ host, port: 8080 })).toBe(url);
});
