/**
 * The gateway is killed under load: every answer that arrived is charged once, and nothing else is. `npm run test:crash` kills
 * it for as long as one likes.
 */
import { expect, test } from "vitest";
import { crash } from "../crash/crash.ts";

test("killed twice, it has charged what its callers have, and no more", async () => {
  const { faults, answers } = await crash({ kills: 2 });
  expect(faults).toEqual([]);
  expect(answers).toBeGreaterThan(0);
});

test("killed between a hold and its charge while its account has budgets, it counts in their windows what was charged, and no more", async () => {
  const { faults, answers } = await crash({ kills: 2, isBudgeted: true });
  expect(faults).toEqual([]);
  expect(answers).toBeGreaterThan(0);
});
