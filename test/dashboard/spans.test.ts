/** How the dashboard tells spans of time. */
import { expect, test } from "vitest";
import { durationOf, relativeTo } from "../../dashboard/src/language/spans.ts";

test.each([
  [999.6, "1 sec"],
  [1_250, "1.3 sec"],
  [59_960, "1 min 0 sec"],
  [119_700, "2 min 0 sec"],
  [184_600, "3 min 5 sec"],
])("a duration of %d ms is %s: none has 60 seconds besides its minutes", (ms, told) => {
  expect(durationOf(ms, "en")).toBe(told);
});

test("a day ago is 24 hours ago, and not yesterday, which may have been longer ago or less", () => {
  const hour = 3_600_000;
  const told = [47, 24, 23.9].map((hours) => relativeTo(0, -hours * hour, "en"));
  expect(told).toEqual(["1 day ago", "1 day ago", "23 hours ago"]);
  expect(relativeTo(0, -50 * hour, "zh-CN")).toBe("2天前");
  expect(relativeTo(0, 60 * hour, "zh-CN")).toBe("2天后");
  expect(relativeTo(0, -300, "en")).toBe("now");
});
