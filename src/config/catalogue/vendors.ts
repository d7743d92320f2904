/** Merges an upstream of gateway.yaml with the catalogue's facts about its vendor. */
import type { UpstreamConfig, VendorConfig } from "../schema-models.ts";
import type { ProfileConfig } from "../schema-profile.ts";

/**
 * withVendor returns the upstream with the profile and the key's header of its vendor; its own settings take
 * precedence.
 */
export function withVendor(upstream: UpstreamConfig, vendors: readonly VendorConfig[]): UpstreamConfig {
  const vendor = vendorOf(upstream, vendors);
  if (!vendor) return upstream;
  const credential = upstream.credential ?? vendor.credential;
  const profile = joined(profileOf(vendor, vendors), upstream.profile && ofAllModels(upstream.profile));
  return { ...upstream, ...(profile && { profile }), ...(credential && { credential }) };
}

/**
 * asWritten returns an upstream of gateway.yaml. It is asked for its models only if the file says so, or it is the
 * vendor's own.
 */
export function asWritten(upstream: UpstreamConfig, vendors: readonly VendorConfig[]): UpstreamConfig {
  const isVendors = vendorAt(upstream.base_url, vendors)?.name === upstream.name;
  return upstream.discover !== undefined || isVendors ? upstream : { ...upstream, discover: false };
}

/**
 * atAddress returns an upstream with a vendor's name and another address: its name does not show what it accepts. It
 * gets the profile of the vendor with that address, if any; else the named vendor's, for that vendor's own models
 * only, which it may pass on.
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

/**
 * credentialOf returns the header with an upstream's key: a configured one, or else `authorization` with a bearer
 * token.
 */
export function credentialOf(apiKey: string | undefined, header: string | undefined): Record<string, string> {
  if (!apiKey) return {};
  return header === undefined ? { authorization: `Bearer ${apiKey}` } : { [header.toLowerCase()]: apiKey };
}

/** vendorOf returns the vendor that it names, that has its name, or that has its address. */
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

/**
 * ofAllModels returns a profile whose facts apply to every model: rules of the vendor's profile for some models do not
 * override them.
 */
function ofAllModels(profile: ProfileConfig): ProfileConfig {
  const { operations, models = [], ...facts } = profile;
  return Object.keys(facts).length === 0 ? profile : { ...profile, models: [{ match: ["*"], ...facts }, ...models] };
}

function joined(known: ProfileConfig | undefined, own: ProfileConfig | undefined): ProfileConfig | undefined {
  if (!known || !own) return own ?? known;
  return { ...known, ...own, models: [...(known.models ?? []), ...(own.models ?? [])] };
}
