/**
 * Checks the profiles in the configuration against the rest of it: calls sent to a `/responses` without a path in the
 * profile or its vendor's, models without any path on their server, and dialects that the server does not speak. It
 * reads the document as written and skips what the schema already refuses.
 */

import { withVendor } from "./catalogue/vendors.ts";
import type { ConfigDocument, Fault, Path } from "./document.ts";
import { type Problem, problem } from "./fault-texts.ts";
import {
  type ModelConfig,
  modelSchema,
  type UpstreamConfig,
  upstreamSchema,
  type VendorConfig,
} from "./schema-models.ts";

export function checkProfiles(document: ConfigDocument, faults: Fault[], vendors: readonly VendorConfig[]): void {
  const fault = (path: Path, what: Problem) => void faults.push(document.faultAt(path, what));
  const known = new Map<string, UpstreamConfig>();
  for (const [i, value] of listed(document, "upstreams")) {
    const written = upstreamSchema.safeParse(value).data;
    if (!written) continue;
    const upstream = withVendor(written, vendors);
    known.set(upstream.name, upstream);
    checkUpstream(written, upstream, ["upstreams", i, "profile"], fault);
  }
  for (const [i, value] of listed(document, "models")) {
    const model = modelSchema.safeParse(value).data;
    if (!model) continue;
    for (const [j, target] of model.targets.entries()) {
      const upstream = known.get(target.upstream);
      if (!upstream || servesModel(upstream, model)) continue;
      const what = problem("PROFILE_LACKS_KIND", { upstream: upstream.name, kind: model.kind });
      fault(["models", i, "targets", j, "upstream"], what);
    }
  }
}

type Tell = (path: Path, what: Problem) => void;

/** checkUpstream checks the profile of one upstream. `joined` is the upstream merged with its vendor's profile. */
function checkUpstream(written: UpstreamConfig, joined: UpstreamConfig, path: Path, fault: Tell): void {
  if (written.profile && written.kind !== "openai") {
    fault(path, problem("PROFILE_NOT_TAKEN"));
    return;
  }
  if (joined.profile?.operations?.responses !== undefined) return;
  for (const { rule, at } of rulesOf(written)) {
    if (rule !== "tools" && rule !== "always") continue;
    fault([...path, ...at], problem("RESPONSES_PATH_NEEDED", { value: rule }));
  }
}

/** rulesOf returns what the upstream's own profile states about its models, and where. */
function rulesOf({ profile }: UpstreamConfig): { readonly rule: string | undefined; readonly at: Path }[] {
  const models = (profile?.models ?? []).map(({ responses }, k) => ({
    rule: responses,
    at: ["models", k, "responses"],
  }));
  return [{ rule: profile?.responses, at: ["responses"] }, ...models];
}

/**
 * servesModel returns whether an upstream has an operation for models of this kind. A profile without operations has
 * the usual ones.
 */
function servesModel({ profile }: UpstreamConfig, { kind, completions }: ModelConfig): boolean {
  const operations = profile?.operations;
  if (!operations) return true;
  if (kind === "embedding") return operations.embeddings !== undefined;
  if (kind === "speech") return operations.speech !== undefined;
  if (operations.chat !== undefined) return true;
  if (completions === "native" && operations.completions !== undefined) return true;
  const others = (profile.models ?? []).some(({ responses = "never" }) => responses !== "never");
  const isNever = profile.responses === "never" && !others;
  return operations.responses !== undefined && !isNever;
}

function listed({ value }: ConfigDocument, key: "upstreams" | "models"): readonly (readonly [number, unknown])[] {
  const list = (value as Partial<Record<typeof key, unknown>> | null | undefined)?.[key];
  return Array.isArray(list) ? [...list.entries()] : [];
}
