/** Commands of the bundled program, which reads other files than the source does: each of the catalogue is JSON there. */
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { modelGateway, root, run, starter } from "../support/command.ts";

test("what tests start is bundled", () => {
  expect(starter.startsWith(join(root, "node_modules/.cache"))).toBe(true);
});

test.each(["litellm/many-vendors.yaml", "new-api/channels.json"])("imports %s as the source does", async (fixture) => {
  const words = ["import", dirname(fixture), join(root, "test/fixtures", fixture)];
  const bundled = await modelGateway(words, {});
  const source = await run(process.execPath, [join(root, "src/main.ts"), ...words], {});
  expect(bundled).toEqual(source);
  expect([bundled.code, bundled.stdout]).toEqual([0, expect.stringContaining("upstreams:")]);
});
