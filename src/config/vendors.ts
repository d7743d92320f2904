/** Joins an upstream of gateway.yaml with what the catalogue knows of its vendor. */
import type { UpstreamConfig, VendorConfig } from "./schema-models.ts";
import type { ProfileConfig } from "./schema-profile.ts";

/** Returns the upstream with the profile, and the header for its key, of the vendor whose it is; its own words come first. */
export function withVendor(upstream: UpstreamConfig, vendors: readonly VendorConfig[]): UpstreamConfig {
  const vendor = vendorOf(upstream, vendors);
  if (!vendor) return upstream;
  const credential = upstream.credential ?? vendor.credential;
  const profile = joined(profileOf(vendor, vendors), upstream.profile && ofAllModels(upstream.profile));
  return { ...upstream, ...(profile && { profile }), ...(credential && { credential }) };
}

/** Returns an upstream of gateway.yaml, which is asked what it serves only where that says so, or it is a vendor's own. */
export function asWritten(upstream: UpstreamConfig, vendors: readonly VendorConfig[]): UpstreamConfig {
  const isVendors = vendorAt(upstream.base_url, vendors)?.name === upstream.name;
  return upstream.discover !== undefined || isVendors ? upstream : { ...upstream, discover: false };
}

/**
 * Returns an upstream that has the name of a vendor and another's address: what it takes is not known by its name. It has the
 * profile of the vendor whose address it has, if any; else its vendor's for that vendor's own models alone, which it may pass on.
 */
export function atAddress(upstream: UpstreamConfig, vendors: readonly VendorConfig[]): UpstreamConfig {
  const there = vendorAt(upstream.base_url, vendors);
  if (there) return withVendor({ ...upstream, vendor: there.name }, vendors);
  const named = vendors.find(({ name }) => name === upstream.name);
  const { operations, models = [], ...facts } = (named && profileOf(named, vendors)) ?? {};
  if (models.length === 0) return upstream;
  const match = models.flatMap((rule) => rule.match);
  return { ...upstream, profile: { models: [{ match, ...facts }, ...models] } };
}

/** Returns the header that carries an upstream's key: of its own name, or else `authorization`, as a bearer's. */
export function credentialOf(apiKey: string | undefined, header: string | undefined): Record<string, string> {
  if (!apiKey) return {};
  return header === undefined ? { authorization: `Bearer ${apiKey}` } : { [header.toLowerCase()]: apiKey };
}

/** The vendor that it names, that has its name, or whose address it has. */
function vendorOf({ name, vendor, base_url }: UpstreamConfig, vendors: readonly VendorConfig[]) {
  if (vendor !== undefined) return vendors.find((known) => known.name === vendor);
  return vendors.find((known) => known.name === name) ?? vendorAt(base_url, vendors);
}

function vendorAt(base_url: string, vendors: readonly VendorConfig[]): VendorConfig | undefined {
  const hostOf = (url: string | undefined) => url && new URL(url).host;
  return vendors.find((known) => hostOf(known.base_url) === hostOf(base_url));
}

function profileOf({ profile, like }: VendorConfig, vendors: readonly VendorConfig[]): ProfileConfig | undefined {
  const other = vendors.find(({ name }) => name === like);
  return joined(other?.profile, profile);
}

/** Returns a profile whose facts hold for every model: a rule for some models in the vendor's profile does not override them. */
function ofAllModels(profile: ProfileConfig): ProfileConfig {
  const { operations, models = [], ...facts } = profile;
  return Object.keys(facts).length === 0 ? profile : { ...profile, models: [{ match: ["*"], ...facts }, ...models] };
}

function joined(known: ProfileConfig | undefined, own: ProfileConfig | undefined): ProfileConfig | undefined {
  if (!known || !own) return own ?? known;
  return { ...known, ...own, models: [...(known.models ?? []), ...(own.models ?? [])] };
}
