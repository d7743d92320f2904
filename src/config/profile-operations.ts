/**
 * Checks the profiles in gateway.yaml against the rest of it: calls sent to a `/responses` without a path in the
 * profile or its vendor's, models without any path on their server, and dialects that the server does not speak. It
 * reads the file as written and skips what the schema already refuses.
 */
import type { Fault, Path, YamlDocument } from "./document.ts";
import {
  type ModelConfig,
  modelSchema,
  type UpstreamConfig,
  upstreamSchema,
  type VendorConfig,
} from "./schema-models.ts";
import { withVendor } from "./vendors.ts";

export function checkProfiles(
  file: string,
  document: YamlDocument,
  faults: Fault[],
  vendors: readonly VendorConfig[],
): void {
  const fault = (path: Path, message: string) => void faults.push({ file, line: document.lineOf(path), message });
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
      const why = `the profile of "${upstream.name}" has no path in \`operations\` for models of kind ${model.kind}`;
      fault(["models", i, "targets", j, "upstream"], `models[${i}].targets[${j}].upstream: ${why}`);
    }
  }
}

type Tell = (path: Path, message: string) => void;

/** checkUpstream checks the profile of one upstream. `joined` is the upstream merged with its vendor's profile. */
function checkUpstream(written: UpstreamConfig, joined: UpstreamConfig, path: Path, fault: Tell): void {
  const place = `upstreams[${String(path[1])}].profile`;
  if (written.profile && written.kind !== "openai") {
    fault(path, `${place}: only upstreams of kind openai have one; leave it out`);
    return;
  }
  if (joined.profile?.operations?.responses !== undefined) return;
  for (const { rule, at } of rulesOf(written)) {
    if (rule !== "tools" && rule !== "always") continue;
    const where = `${place}.${at.length > 1 ? `models[${String(at[1])}].` : ""}responses`;
    fault([...path, ...at], `${where}: "${rule}" needs operations.responses, the path that such calls go to`);
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

function listed({ value }: YamlDocument, key: "upstreams" | "models"): readonly (readonly [number, unknown])[] {
  const list = (value as Partial<Record<typeof key, unknown>> | null | undefined)?.[key];
  return Array.isArray(list) ? [...list.entries()] : [];
}
