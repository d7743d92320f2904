/** What a name leads to is reached, but at no address of the cloud's own services. */
import { expect, test } from "vitest";
import { elsewhereOf, isMetadataHost } from "../../src/runtime/net/metadata-addresses.ts";

const at = (...addresses: string[]) => addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));

test("a machine of the local network is reached by its other addresses", () => {
  const found = at("fe80::1c2b:3aff:fe4d:5e6f%en0", "192.168.1.20", "169.254.12.7", "fd12::20");
  expect(elsewhereOf(found)).toEqual(at("192.168.1.20", "fd12::20"));
});

test("a name that leads to such addresses alone leads nowhere", () => {
  expect(elsewhereOf(at("169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254"))).toEqual([]);
});

test("the machine on which a container of Podman runs is none of them", () => {
  expect(elsewhereOf(at("169.254.1.2"))).toEqual(at("169.254.1.2"));
  expect(isMetadataHost("169.254.1.1")).toBe(true);
});
