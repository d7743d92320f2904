import { expect, test } from "vitest";
import { noEnd, quarterMs, timeZoneNamed, windowOf } from "../../../src/storage/money/budget-windows.ts";

const at = (text: string) => Date.parse(text);
const shown = ({ from, to }: { readonly from: number; readonly to: number }) =>
  [from, to].map((ms) => new Date(ms).toISOString().replace(":00.000Z", "Z"));

test.each([
  ["day", "UTC", "2026-11-26T13:20:00Z", "2026-11-26T00:00Z", "2026-11-27T00:00Z"],
  ["day", "Asia/Tokyo", "2026-11-26T15:00:00Z", "2026-11-26T15:00Z", "2026-11-27T15:00Z"],
  ["day", "Asia/Tokyo", "2026-11-26T14:59:59Z", "2026-11-25T15:00Z", "2026-11-26T15:00Z"],
  // Zones that differ by half an hour, and by three quarters.
  ["day", "Asia/Kolkata", "2026-11-26T18:29:59Z", "2026-11-25T18:30Z", "2026-11-26T18:30Z"],
  ["day", "Asia/Kathmandu", "2026-11-26T18:15:00Z", "2026-11-26T18:15Z", "2026-11-27T18:15Z"],
  // Days of 23 and of 25 hours.
  ["day", "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-28T23:00Z", "2026-03-29T22:00Z"],
  ["day", "Europe/Berlin", "2026-10-25T12:00:00Z", "2026-10-24T22:00Z", "2026-10-25T23:00Z"],
  // A day that begins at one, for its midnight is left out.
  ["day", "Africa/Cairo", "2026-04-24T12:00:00Z", "2026-04-23T22:00Z", "2026-04-24T21:00Z"],
  // Clocks that are moved by half an hour.
  ["day", "Australia/Lord_Howe", "2026-10-04T04:00:00Z", "2026-10-03T13:30Z", "2026-10-04T13:00Z"],
  // Weeks begin on Monday.
  ["week", "UTC", "2026-11-29T23:59:59Z", "2026-11-23T00:00Z", "2026-11-30T00:00Z"],
  ["week", "UTC", "2026-11-30T00:00:00Z", "2026-11-30T00:00Z", "2026-12-07T00:00Z"],
  ["week", "America/New_York", "2026-11-03T00:00:00Z", "2026-11-02T05:00Z", "2026-11-09T05:00Z"],
  // A month of 28 days, one of 29, and one with a shift of clocks.
  ["month", "UTC", "2027-02-28T23:59:59Z", "2027-02-01T00:00Z", "2027-03-01T00:00Z"],
  ["month", "UTC", "2028-02-29T12:00:00Z", "2028-02-01T00:00Z", "2028-03-01T00:00Z"],
  ["month", "Europe/Berlin", "2026-10-31T12:00:00Z", "2026-09-30T22:00Z", "2026-10-31T23:00Z"],
  ["month", "Pacific/Auckland", "2026-12-31T11:00:00Z", "2026-12-31T11:00Z", "2027-01-31T11:00Z"],
] as const)("a %s in %s at %s", (period, zone, now, from, to) => {
  expect(shown(windowOf(period, false, zone, at(now)))).toEqual([from, to]);
});

test("goes from one window to the next without a gap, whatever clocks do", () => {
  for (const zone of ["Europe/Berlin", "America/Havana", "Asia/Beirut", "Australia/Lord_Howe", "Asia/Kathmandu"]) {
    for (const period of ["day", "week", "month"] as const) {
      let window = windowOf(period, false, zone, at("2026-01-01T00:00:00Z"));
      while (window.from < at("2027-02-01T00:00:00Z")) {
        const next = windowOf(period, false, zone, window.to);
        expect(next.from, `${zone} ${period}`).toBe(window.to);
        expect(windowOf(period, false, zone, window.to - 1)).toEqual(window);
        window = next;
      }
    }
  }
});

test("has a rolling window begin with the quarter of an hour that it begins in, and never end", () => {
  const now = at("2026-11-26T13:20:00Z");
  expect(windowOf("day", true, "Asia/Tokyo", now)).toEqual({ from: at("2026-11-25T13:15:00Z"), to: noEnd });
  expect(windowOf("week", true, "UTC", now).from).toBe(at("2026-11-19T13:15:00Z"));
  expect(windowOf("month", true, "UTC", now).from).toBe(at("2026-10-27T13:15:00Z"));
  expect(windowOf("month", true, "UTC", now).from % quarterMs).toBe(0);
});

test("knows zones by their names alone, in whatever case", () => {
  expect(timeZoneNamed("asia/tokyo")).toBe("Asia/Tokyo");
  expect(timeZoneNamed("UTC")).toBe("UTC");
  for (const name of ["", "+09:00", "Asia/Nowhere", "JST+9 ", "2026-01-01"])
    expect(timeZoneNamed(name)).toBeUndefined();
});
