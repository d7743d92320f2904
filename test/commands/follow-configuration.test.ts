/** What the log says of a configuration that is read anew while it is served. */
import { expect, test } from "vitest";
import { followConfiguration } from "../../src/commands/serving/follow-configuration.ts";
import { type Config, loadConfig } from "../../src/config/config.ts";
import { environment } from "../support/environment.ts";

test("keys that are bound to the process are told once they differ from it, and not when they are changed back", async () => {
  const config = loadConfig(undefined, environment);
  let next: Config = config;
  const told: unknown[] = [];
  const tell = (about: object) => void told.push(about);
  const following = followConfiguration({
    config,
    source: { load: async () => next, onStoredChange: () => () => {} },
    adapt: (read) => read,
    file: undefined,
    log: { info: () => {}, warn: tell, error: tell },
    take: () => {},
  });
  for (const port of [config.port + 1, config.port + 1, config.port]) {
    next = { ...config, port };
    await following.reload("a test");
  }
  following.close();
  expect(told).toEqual([{ keys: ["port"] }]);
});
