/** Joins an upstream of gateway.yaml with what the catalogue knows of its vendor. */
import type { UpstreamConfig, VendorConfig } from "./schema-models.ts";
import type { ProfileConfig } from "./schema-profile.ts";

/** Returns the upstream with the profile, and the header for its key, of the vendor whose it is; its own words come first. */
export function withVendor(upstream: UpstreamConfig, vendors: readonly VendorConfig[]): UpstreamConfig {
  const vendor = vendorOf(upstream, vendors);
  if (!vendor) return upstream;
  const credential = upstream.credential ?? vendor.credential;
  const profile = joined(profileOf(vendor, vendors), upstream.profile);
  return { ...upstream, ...(profile && { profile }), ...(credential && { credential }) };
}

/** Returns the header that carries an upstream's key: of its own name, or else `authorization`, as a bearer's. */
export function credentialOf(apiKey: string | undefined, header: string | undefined): Record<string, string> {
  if (!apiKey) return {};
  return header === undefined ? { authorization: `Bearer ${apiKey}` } : { [header.toLowerCase()]: apiKey };
}

/** The vendor that it names, that has its name, or whose address it has. */
function vendorOf({ name, vendor, base_url }: UpstreamConfig, vendors: readonly VendorConfig[]) {
  if (vendor !== undefined) return vendors.find((known) => known.name === vendor);
  const hostOf = (url: string | undefined) => url && new URL(url).host;
  const host = hostOf(base_url);
  return vendors.find((known) => known.name === name) ?? vendors.find((known) => hostOf(known.base_url) === host);
}

function profileOf({ profile, like }: VendorConfig, vendors: readonly VendorConfig[]): ProfileConfig | undefined {
  const other = vendors.find(({ name }) => name === like);
  return joined(other?.profile, profile);
}

function joined(known: ProfileConfig | undefined, own: ProfileConfig | undefined): ProfileConfig | undefined {
  if (!known || !own) return own ?? known;
  return { ...known, ...own, models: [...(known.models ?? []), ...(own.models ?? [])] };
}
