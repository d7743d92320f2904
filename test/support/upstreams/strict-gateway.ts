/** A gateway over one upstream with the profile of a vendor, whose model its callers know as `m`. */
import { withVendor } from "../../../src/config/catalogue/vendors.ts";
import { startTestGateway, type TestGateway } from "../gateway.ts";
import type { ScriptedUpstream } from "../scripted-upstream.ts";
import { vendors } from "./vendor-profiles.ts";

export interface Served {
  /** As in the catalogue; nobody's profile where the catalogue does not have it. */
  readonly vendor: string;
  /** As its upstream calls it. */
  readonly model: string;
  readonly kind?: "openai" | "anthropic";
}

export function startOver(
  { baseUrl }: ScriptedUpstream,
  { vendor, model, kind = "openai" }: Served,
): Promise<TestGateway> {
  const known = vendors.find(({ name }) => name === vendor);
  const at = { name: "far", kind, base_url: baseUrl, ...(known && { vendor: known.name }) } as const;
  const targets = [{ upstream: "far", model, priority: 0, weight: 1 }];
  return startTestGateway({
    upstreams: [withVendor(at, vendors)],
    models: [{ id: "m", aliases: [], family: "f", kind: "chat", targets }],
    embeddedModels: false,
  });
}
