/** Reads the rates, the concurrency, the tags and the owner of a virtual key of LiteLLM. */
import { mostOfKey, ownerBounds, type TextBounds, tagBounds } from "../../../call/key-bounds.ts";
import type { Notes } from "../notes.ts";
import { isOff, memberOf, type Source, textOf } from "../source.ts";

/** DraftLimits are the limits of a key to create. Rates of models have the names that models have in the proxy. */
export interface DraftLimits {
  readonly requestsPerMinute: number | undefined;
  readonly tokensPerMinute: number | undefined;
  readonly maxConcurrent: number | undefined;
  readonly modelRates: readonly DraftModelRate[];
  readonly tags: readonly string[];
  readonly owner: string | undefined;
  /** untold are the limits that are written and cannot be read, or are 0: the key could do more without them than before. */
  readonly untold: readonly string[];
}

export interface DraftModelRate {
  readonly model: string;
  readonly requests: number | undefined;
  readonly tokens: number | undefined;
}

export function limitsOf(source: Source, name: string, notes: Notes): DraftLimits {
  const table = memberOf(source, "litellm_budget_table");
  const metadata = memberOf(source, "metadata");
  const untold: string[] = [];
  const read = (member: string, most: number) =>
    numberOf(memberOf(source, member) ?? memberOf(table, member), most, () => untold.push(member));
  const limits = {
    requestsPerMinute: read("rpm_limit", mostOfKey.requestsPerMinute),
    tokensPerMinute: read("tpm_limit", mostOfKey.tokensPerMinute),
    maxConcurrent: read("max_parallel_requests", mostOfKey.maxConcurrent),
  };
  const modelRates = ratesOf(source, metadata, (member) => untold.push(member));
  if (modelRates.length > mostOfKey.modelRates)
    notes.changed(source, `"${name}": of its rates of models the first ${mostOfKey.modelRates} are taken`);
  const tags = tagsOf(memberOf(metadata, "tags") ?? memberOf(source, "tags"));
  if (tags.length > mostOfKey.tags)
    notes.changed(source, `"${name}": of its tags the first ${mostOfKey.tags} are taken`);
  return {
    ...limits,
    modelRates: modelRates.slice(0, mostOfKey.modelRates),
    tags: tags.slice(0, mostOfKey.tags),
    owner: plain(textOf(memberOf(source, "user_id")) ?? "", ownerBounds),
    untold,
  };
}

/** numberOf reads a whole number of at least 1; one that is too large is `most`. */
function numberOf(written: Source | undefined, most: number, failed: () => void): number | undefined {
  if (!written || (isOff(written) && textOf(written) !== "0")) return undefined;
  const text = textOf(written) ?? "";
  const number = Math.floor(Number(text));
  if (text !== "" && number >= 1) return Math.min(number, most);
  failed();
  return undefined;
}

/** ratesOf reads rates of single models, which LiteLLM keeps among the metadata of a key. */
function ratesOf(source: Source, metadata: Source | undefined, failed: (member: string) => void): DraftModelRate[] {
  const written = (member: string) =>
    (memberOf(source, member) ?? memberOf(metadata, member))?.members ?? new Map<string, Source>();
  const [requests, tokens] = [written("model_rpm_limit"), written("model_tpm_limit")];
  return [...new Set([...requests.keys(), ...tokens.keys()])].map((model) => ({
    model,
    requests: numberOf(requests.get(model), mostOfKey.requestsPerMinute, () => failed(`model_rpm_limit of ${model}`)),
    tokens: numberOf(tokens.get(model), mostOfKey.tokensPerMinute, () => failed(`model_tpm_limit of ${model}`)),
  }));
}

function tagsOf(written: Source | undefined): string[] {
  const tags = (written?.items ?? []).map((item) => plain(textOf(item) ?? "", tagBounds));
  return [...new Set(tags.filter((tag) => tag !== undefined))];
}

/** plain returns a text without control characters, cut where it is too long; undefined where nothing of it is left. */
function plain(text: string, { maxLength, fits }: TextBounds): string | undefined {
  const cleared = text.replace(/\p{Cc}/gu, " ").trim();
  const cut = [...cleared].slice(0, maxLength).join("").trim();
  return cut !== "" && fits(cut) ? cut : undefined;
}
