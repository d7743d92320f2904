/** Addresses and networks are the same, in whatever spelling they come. */
import { expect, test } from "vitest";
import { addressList, isAddressOrNetwork, unmapped } from "../../src/call/address-list.ts";

test.each([
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["::FFFF:192.0.2.0/120", "192.0.2.0/24"],
  ["::ffff:0.0.0.0/96", "0.0.0.0/0"],
  ["::ffff:192.0.2.7/128", "192.0.2.7/32"],
  ["192.0.2.0/24", "192.0.2.0/24"],
  ["2001:db8::/32", "2001:db8::/32"],
  ["::ffff:192.0.2.0/64", "::ffff:192.0.2.0/64"],
  ["::ffff:c000:207", "192.0.2.7"],
  ["::FFFF:C000:200/120", "192.0.2.0/24"],
  ["0:0:0:0:0:ffff:192.0.2.7", "192.0.2.7"],
  ["0000:0000:0000:0000:0000:ffff:0:1", "0.0.0.1"],
  ["::ffff:c000:207:1", "::ffff:c000:207:1"],
  ["64:ff9b::192.0.2.7", "64:ff9b::192.0.2.7"],
])("%s is %s", (entry, plain) => {
  expect(unmapped(entry)).toBe(plain);
  expect(isAddressOrNetwork(plain)).toBe(true);
});

test.each([
  ["::ffff:192.0.2.0/120", ["192.0.2.255", "::ffff:192.0.2.1", "::ffff:c000:2ff"], ["192.0.3.0", "::1"]],
  ["::ffff:c000:200/120", ["192.0.2.255", "::ffff:192.0.2.1"], ["192.0.3.0"]],
  ["::ffff:192.0.2.0/64", ["192.0.2.1", "203.0.113.9"], ["2001:db8::1"]],
  ["192.0.2.0/24", ["192.0.2.1", "::ffff:192.0.2.1"], ["192.0.3.0", "::c000:201"]],
])("%s has %j and not %j", (entry, inside, outside) => {
  const list = addressList([entry]);
  expect(inside.filter((address) => !list.has(address))).toEqual([]);
  expect(outside.filter((address) => list.has(address))).toEqual([]);
});

test("an address is the same in whatever zone of this machine it came by, and a zone alone is no address", () => {
  const list = addressList(["fe80::/10", "192.0.2.7"]);
  for (const address of ["fe80::1%eth0", "fe80::1%1", "::ffff:192.0.2.7%eth0"])
    expect([address, list.has(address)]).toEqual([address, true]);
  for (const address of ["%eth0", "", "2001:db8::1%eth0", "unknown", "192.0.2.8%192.0.2.7"])
    expect([address, list.has(address)]).toEqual([address, false]);
});
