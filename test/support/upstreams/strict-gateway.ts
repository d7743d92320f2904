/** Configuration of a gateway over one upstream with a vendor's profile, whose model its callers know as `m`. */
import { withVendor } from "../../../src/config/catalogue/vendors.ts";
import { modelAt } from "../gateway.ts";
import type { ConfigOf } from "./scripted-stage.ts";
import { vendors } from "./vendor-profiles.ts";

export interface Served {
  /** As in the catalogue; nobody's profile where the catalogue does not have it. */
  readonly vendor: string;
  /** As its upstream calls it. */
  readonly model: string;
  readonly kind?: "openai" | "anthropic";
}

export function servedBy({ vendor, model, kind = "openai" }: Served): ConfigOf {
  const known = vendors.find(({ name }) => name === vendor);
  return (base_url) => ({
    upstreams: [withVendor({ name: "far", kind, base_url, ...(known && { vendor: known.name }) }, vendors)],
    models: [modelAt("far", "m", model)],
    embeddedModels: false,
  });
}
