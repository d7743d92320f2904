/**
 * The addresses at which clouds give a machine its own credentials, and which serve no models: link-local ones (RFC 3927, RFC 4291)
 * and the few that vendors have elsewhere. Whoever may only name an upstream must not learn from its answers what is said there.
 */
import type { LookupAddress, LookupOptions } from "node:dns";
import type { BlockList } from "node:net";

/** Networks, and the addresses of each vendor outside of them. */
const networks4 = [["169.254.0.0", 16]] as const;
const addresses4 = [
  "100.100.100.200", // Alibaba Cloud
  "168.63.129.16", // Azure, whose machines get their settings and certificates there
  "192.0.0.192", // Oracle Cloud
];
const networks6 = [
  ["fe80::", 10],
  ["fd00:ec2::", 32], // AWS: of a machine, and of a pod of EKS
] as const;
const addresses6 = [
  "fd00:100::100:200", // Alibaba Cloud
  "fd00:42::42", // Scaleway
  "fd00:a9fe:a9fe::1", // Akamai
  "fd00:c1::a9fe:a9fe", // Oracle Cloud
  "fd20:ce::254", // Google Cloud
];
/**
 * Prefixes behind which an address of IPv4 stands in one of IPv6: RFC 4291, RFC 6052, RFC 8215, RFC 2765, RFC 3056. `BlockList` knows
 * `::ffff:` itself.
 */
const translated = [
  { before: "::", after: "", bits: 96 },
  { before: "64:ff9b::", after: "", bits: 96 },
  { before: "64:ff9b:1::", after: "", bits: 96 },
  { before: "::ffff:0:", after: "", bits: 96 },
  { before: "2002:", after: "::", bits: 16 },
];

let metadata: BlockList | undefined;

function createMetadata(): BlockList {
  const { BlockList } = process.getBuiltinModule("node:net");
  const list = new BlockList();
  for (const [network, bits] of networks6) list.addSubnet(network, bits, "ipv6");
  for (const address of addresses6) list.addAddress(address, "ipv6");
  for (const [network, bits] of [...networks4, ...addresses4.map((address) => [address, 32] as const)]) {
    list.addSubnet(network, bits);
    for (const { before, after, bits: more } of translated)
      list.addSubnet(`${before}${hexOf(network)}${after}`, more + bits, "ipv6");
  }
  return list;
}

/** hexOf writes an address of IPv4 as IPv6 has it: two groups of four digits. */
function hexOf(address: string): string {
  const digits = address.split(".").map((part) => Number(part).toString(16).padStart(2, "0"));
  return `${digits[0]}${digits[1]}:${digits[2]}${digits[3]}`;
}

/** hostOfContainers is the machine itself, as containers of Podman reach it (`host.containers.internal`): models are often served there. */
const hostOfContainers = "169.254.1.2";

/** metadataRefused is what an operator is told whose upstream lies there. */
export const metadataRefused = "it is an address of the cloud's own services, where no model is served";

/** isMetadataHost reports whether a host is the text of such an address. IPv6 may stand in brackets. */
export function isMetadataHost(host: string): boolean {
  const address = host.replace(/^\[(.*)\]$/, "$1");
  // Loading it takes two milliseconds of every command, and few of them read an address.
  const version = process.getBuiltinModule("node:net").isIP(address);
  if (version === 0 || address === hostOfContainers) return false;
  metadata ??= createMetadata();
  return metadata.check(address, version === 6 ? "ipv6" : "ipv4");
}

/** LookupCallback takes the addresses of a name: one, or all that there are. */
type LookupCallback = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void;

/**
 * lookupElsewhere looks a name up as `net.connect` does, leaves such addresses out, and fails where none is left. Machines of a local
 * network are often known by a link-local address too: they are reached by their others.
 */
export function lookupElsewhere(name: string, options: LookupOptions, callback: LookupCallback): void {
  process.getBuiltinModule("node:dns").lookup(name, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, []);
    const elsewhere = elsewhereOf(addresses);
    const [first] = elsewhere;
    if (!first) {
      return callback(Object.assign(new Error(metadataRefused), { code: "EADDRNOTAVAIL" }), []);
    }
    if (options.all) callback(null, elsewhere);
    else callback(null, first.address, first.family);
  });
}

/** elsewhereOf returns the addresses of a name at which models may be served. */
export function elsewhereOf(addresses: readonly LookupAddress[]): LookupAddress[] {
  return addresses.filter(({ address }) => !isMetadataHost(address));
}
