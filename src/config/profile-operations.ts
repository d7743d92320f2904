/**
 * Profiles in gateway.yaml that send calls where their server has nothing: to a `/responses` whose path neither they nor the
 * profile of their vendor tells.
 *
 * It reads the file as it was written and skips what has not the right form, which the schema tells of.
 */
import type { Fault, Path, YamlDocument } from "./document.ts";
import { type UpstreamConfig, upstreamSchema, type VendorConfig } from "./schema-models.ts";
import { withVendor } from "./vendors.ts";

export function checkProfiles(
  file: string,
  document: YamlDocument,
  faults: Fault[],
  vendors: readonly VendorConfig[],
): void {
  const listed = (document.value as { upstreams?: unknown } | null | undefined)?.upstreams;
  for (const [i, value] of (Array.isArray(listed) ? listed : []).entries()) {
    const upstream = upstreamSchema.safeParse(value).data;
    if (!upstream || servesResponses(upstream, vendors)) continue;
    for (const { rule, at } of rulesOf(upstream)) {
      if (rule !== "tools" && rule !== "always") continue;
      const path = ["upstreams", i, "profile", ...at];
      const where = `upstreams[${i}].profile.${at.length > 1 ? `models[${String(at[1])}].` : ""}responses`;
      const message = `${where}: "${rule}" needs operations.responses, the path that such calls go to`;
      faults.push({ file, line: document.lineOf(path), message });
    }
  }
}

function servesResponses(upstream: UpstreamConfig, vendors: readonly VendorConfig[]): boolean {
  return withVendor(upstream, vendors).profile?.operations?.responses !== undefined;
}

/** Returns what the upstream's own profile says of its models, and where. */
function rulesOf({ profile }: UpstreamConfig): { readonly rule: string | undefined; readonly at: Path }[] {
  const models = (profile?.models ?? []).map(({ responses }, k) => ({
    rule: responses,
    at: ["models", k, "responses"],
  }));
  return [{ rule: profile?.responses, at: ["responses"] }, ...models];
}
