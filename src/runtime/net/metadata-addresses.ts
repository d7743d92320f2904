/**
 * The addresses at which clouds give a machine its own credentials, and which serve no models: link-local ones (RFC 3927, RFC 4291)
 * and the few that vendors have elsewhere. Whoever may only name an upstream must not learn from its answers what is said there.
 */
import type { LookupAddress, LookupOptions } from "node:dns";
import type { BlockList } from "node:net";

let metadata: BlockList | undefined;

function createMetadata(): BlockList {
  const { BlockList } = process.getBuiltinModule("node:net");
  const list = new BlockList();
  list.addSubnet("169.254.0.0", 16);
  list.addSubnet("fe80::", 10, "ipv6");
  // AWS, Alibaba Cloud, Oracle Cloud.
  list.addAddress("fd00:ec2::254", "ipv6");
  list.addAddress("100.100.100.200");
  list.addAddress("192.0.0.192");
  return list;
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
