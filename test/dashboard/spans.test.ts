/** How the dashboard tells spans of time. */
import { expect, test } from "vitest";
import { durationOf, relativeTo } from "../../dashboard/src/language/spans.ts";
import { type DaySpanName, daySpan, daySpanName } from "../../dashboard/src/parts/day-spans.ts";

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

test("days are chosen by the name of their span, and told by it as long as they are it", () => {
  const now = new Date(2026, 2, 1, 23, 59);
  const spans = {
    today: ["2026-03-01", "2026-03-01"],
    yesterday: ["2026-02-28", "2026-02-28"],
    week: ["2026-02-23", "2026-03-01"],
    days30: ["2026-01-31", "2026-03-01"],
    lastMonth: ["2026-02-01", "2026-02-28"],
  } as const;
  for (const [name, [from, to]] of Object.entries(spans)) {
    expect(daySpan(name as DaySpanName, now), name).toEqual({ from, to });
    expect(daySpanName({ from, to }, now)).toBe(name);
    expect(daySpanName({ from, to }, new Date(2026, 3, 2))).toBeUndefined();
  }
  const later = new Date(2027, 0, 31);
  expect(daySpan("month", later)).toEqual({ from: "2027-01-01", to: "2027-01-31" });
  expect(daySpan("lastMonth", later)).toEqual({ from: "2026-12-01", to: "2026-12-31" });
  expect(daySpanName({ from: "2027-01-01" }, later)).toBeUndefined();
});
