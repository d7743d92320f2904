/** SlotSet holds the members that were added and not deleted, and keeps no deleted member in memory. */
import { getHeapSpaceStatistics } from "node:v8";
import fc from "fast-check";
import { expect, test } from "vitest";
import { SlotSet, type Slotted } from "../../src/runtime/slot-set.ts";
import { collectGarbage } from "../support/run/garbage.ts";

interface Member extends Slotted {
  readonly name: number;
}

test("are those who were added and have not left, whatever others did", () => {
  fc.assert(
    fc.property(fc.array(fc.record({ name: fc.nat(9), isAdded: fc.boolean() }), { maxLength: 60 }), (steps) => {
      const present = new SlotSet<Member>();
      const expected = new Set<Member>();
      const members = Array.from({ length: 10 }, (_, name): Member => ({ name }));
      for (const { name, isAdded } of steps) {
        const member = members[name] as Member;
        if (isAdded && !expected.has(member)) {
          present.add(member);
          expected.add(member);
        } else if (!isAdded) expect(present.delete(member)).toBe(expected.delete(member));
        for (const one of members) expect(present.has(one)).toBe(expected.has(one));
        expect(new Set(present.all())).toEqual(expected);
      }
    }),
  );
});

test("one who was never added is not there, nor where another is", () => {
  const present = new SlotSet<Member>();
  present.add({ name: 1 });
  const stranger: Member = { name: 2, slot: 0 };
  expect([present.has(stranger), present.delete(stranger), present.delete({ name: 3 })]).toEqual([false, false, false]);
  expect(present.all()).toEqual([{ name: 1, slot: 0 }]);
});

test("those who have left are no burden to the collector, whenever they came", () => {
  const oldBytes = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === "old_space")?.space_used_size;
  const present = new SlotSet<Member & { readonly load: number[] }>();
  const few = 32;
  const there = Array.from({ length: few }, () => ({ name: 0, load: [0] }));
  for (const one of there) present.add(one);
  // What exists already is in the old generation.
  collectGarbage();
  const before = oldBytes() ?? 0;
  let most = 0;
  for (let name = 0; name < 100_000; name++) {
    const at = name % few;
    present.delete(there[at] as (typeof there)[number]);
    const next = { name, load: new Array<number>(100).fill(name) };
    there[at] = next;
    present.add(next);
    if (name % 5_000 === 0) most = Math.max(most, (oldBytes() ?? 0) - before);
  }
  // With a Set it is tens of megabytes.
  expect(most).toBeLessThan(2_000_000);
});
