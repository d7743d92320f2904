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

test.each([
  ["Alibaba Cloud", "100.100.100.200", "fd00:100::100:200"],
  ["Akamai", "fd00:a9fe:a9fe::1"],
  ["AWS", "169.254.169.254", "169.254.170.23", "fd00:ec2::254", "fd00:ec2::23"],
  ["Azure", "168.63.129.16"],
  ["Google Cloud", "fd20:ce::254"],
  ["Oracle Cloud", "192.0.0.192", "fd00:c1::a9fe:a9fe"],
  ["OpenStack", "fe80::a9fe:a9fe"],
  ["Scaleway", "169.254.42.42", "fd00:42::42"],
  [
    "a translation to IPv6",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b::a83f:8110",
    "64:ff9b:1::a9fe:a9fe",
    "::ffff:0:a9fe:a9fe",
    "2002:a9fe:a9fe::1",
    "::ffff:a83f:8110",
    "::a9fe:a9fe",
  ],
])("the addresses of %s are some", (_, ...addresses) => {
  for (const address of addresses) expect([address, isMetadataHost(address)]).toEqual([address, true]);
  expect(elsewhereOf(at(...addresses))).toEqual([]);
});

test("their neighbours are none", () => {
  const neighbours = [
    "100.100.100.201",
    "168.63.129.17",
    "fd20:ce::255",
    "fd00:ec3::254",
    "64:ff9b::a00:1",
    "64:ff9b:1::a00:1",
    "::ffff:0:a00:1",
    "2002:a00:1::1",
    "::1",
  ];
  expect(elsewhereOf(at(...neighbours))).toEqual(at(...neighbours));
});
