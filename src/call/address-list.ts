/**
 * AddressList is a set of network addresses and networks: `192.0.2.7`, `192.0.2.0/24`, `2001:db8::/32`. An IPv4 address that is mapped
 * to IPv6 is that IPv4 address, in whatever spelling it comes.
 */
import { BlockList, isIP, isIPv6 } from "node:net";

export interface AddressList {
  has(address: string): boolean;
}

/** addressList throws a RangeError or a TypeError for what is neither an address nor a network. */
export function addressList(entries: readonly string[]): AddressList {
  const list = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = unmapped(entry).split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return {
    has(address) {
      const plain = unmapped(withoutZone(address));
      return isIP(plain) !== 0 && list.check(plain, isIPv6(plain) ? "ipv6" : "ipv4");
    },
  };
}

/**
 * withoutZone drops the zone of an address of this machine's links: `fe80::1%eth0`. Which of them it came by says nothing of whose it is.
 */
function withoutZone(address: string): string {
  const end = address.indexOf("%");
  return end < 0 ? address : address.slice(0, end);
}

/**
 * isAddressOrNetwork reports whether an entry is an address or a network. An address with a zone is none: a zone means something on its
 * machine only.
 */
export function isAddressOrNetwork(entry: string): boolean {
  const [address = "", bits, ...more] = entry.split("/");
  const version = address.includes("%") ? 0 : isIP(address);
  if (version === 0 || more.length > 0) return false;
  return bits === undefined || (/^(0|[1-9]\d{0,2})$/.test(bits) && Number(bits) <= (version === 6 ? 128 : 32));
}

/**
 * unmapped returns an IPv4 address, or a network of such, that is mapped to IPv6 as IPv4: `::ffff:192.0.2.0/120` and `::ffff:c000:200/120`
 * are `192.0.2.0/24`. A network of more than the mapped addresses stays one of IPv6.
 */
export function unmapped(entry: string): string {
  const [, dotted, high, low, bits] = mapped.exec(entry) ?? [];
  const address = high === undefined || low === undefined ? dotted : `${octetsOf(high)}.${octetsOf(low)}`;
  if (address === undefined) return entry;
  if (bits === undefined) return address;
  return Number(bits) < mappedBits ? entry : `${address}/${Number(bits) - mappedBits}`;
}

const mapped = /^(?:::|(?:0{1,4}:){5})ffff:(?:(\d+\.[^/]*)|([\da-f]{1,4}):([\da-f]{1,4}))(?:\/(\d+))?$/i;

/** octetsOf returns 16 bits as two parts of an IPv4 address. */
function octetsOf(hex: string): string {
  const value = Number.parseInt(hex, 16);
  return `${value >> 8}.${value & 255}`;
}

/** mappedBits is how many bits of a mapped address come before the IPv4 address. */
const mappedBits = 96;
