/**
 * Groups addresses that count as one client: the holder of one IPv6 address has at least 2^64 of them, and the holder of one
 * IPv4 address often has its neighbours too.
 */

/** networkOf returns the network that counts as one client: an IPv4 address, or the first half of an IPv6 address. */
export function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [head = "", tail] = address.split("::", 2);
  const [before, after] = [head, tail ?? ""].map((part) => (part === "" ? [] : part.split(":")));
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - (before?.length ?? 0) - (after?.length ?? 0));
  return [...(before ?? []), ...Array<string>(zeros).fill("0"), ...(after ?? [])].slice(0, 4).join(":");
}

/** neighbourhoodOf returns the neighbourhood of such a network: a /24 of IPv4, a /48 of IPv6. */
export function neighbourhoodOf(network: string): string {
  const separator = network.includes(":") ? ":" : ".";
  return network.split(separator).slice(0, 3).join(separator);
}
