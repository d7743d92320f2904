/** Reads the options of `keys create` and `keys update` that limit a key, as the fields of the requests of KeyService. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type UpdateKeyRequest, UpdateKeyRequestSchema } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { mostOfKey, ownerBounds, tagBounds } from "../../call/key-bounds.ts";
import { UsageError } from "./errors.ts";
import type { OptionValues } from "./read-options.ts";

type Values = Omit<OptionValues<"keys update">, "config">;

/** KeyLimitFields are the fields that were given; an empty message clears one. */
export type KeyLimitFields = Pick<
  MessageInitShape<typeof UpdateKeyRequestSchema>,
  "requestsPerMinute" | "tokensPerMinute" | "modelRates" | "maxConcurrent" | "allowedIps" | "tags" | "owner"
>;

/** readKeyLimits reads the options. Throws a UsageError. */
export function readKeyLimits(values: Values): KeyLimitFields {
  const { rpm, tpm, owner, tag, "model-rate": rates, "max-concurrent": concurrent, "allow-ip": addresses } = values;
  return {
    ...(rpm === undefined
      ? {}
      : { requestsPerMinute: { limit: readCount("--rpm", rpm, mostOfKey.requestsPerMinute) } }),
    ...(tpm === undefined ? {} : { tokensPerMinute: { limit: readCount("--tpm", tpm, mostOfKey.tokensPerMinute) } }),
    ...(rates === undefined
      ? {}
      : { modelRates: { rates: listed("--model-rate", rates, mostOfKey.modelRates).map(readRate) } }),
    ...(concurrent === undefined
      ? {}
      : { maxConcurrent: { limit: readCount("--max-concurrent", concurrent, mostOfKey.maxConcurrent) } }),
    ...(addresses === undefined
      ? {}
      : { allowedIps: { addresses: [...listed("--allow-ip", addresses, mostOfKey.allowedIps)] } }),
    ...(tag === undefined ? {} : { tags: { tags: listed("--tag", tag, mostOfKey.tags).map(readTag) } }),
    ...(owner === undefined ? {} : { owner: readOwner(owner) }),
  };
}

/** requestOf returns the whole message of the fields, for `readLimits`. */
export function requestOf(fields: KeyLimitFields): UpdateKeyRequest {
  return create(UpdateKeyRequestSchema, fields);
}

/** readCount returns a whole number of at least 1; undefined for an empty text. */
function readCount(option: string, text: string, most: number): number | undefined {
  if (text.trim() === "") return undefined;
  const count = Number(text);
  if (/^\d+$/.test(text.trim()) && count >= 1 && count <= most) return count;
  throw new UsageError(`${option}: expected a whole number from 1 to ${most}, or nothing to remove the limit`);
}

/** listed returns the entries of an option that may be repeated; none where it was given once, and empty. */
function listed(option: string, entries: readonly string[], most: number): readonly string[] {
  if (entries.length === 1 && entries[0]?.trim() === "") return [];
  if (entries.length > most) throw new UsageError(`${option}: expected at most ${most}`);
  return entries.map((entry) => entry.trim());
}

/** readRate reads `MODEL=RPM,TPM`. The names of models may have a `=` in them, the rates have none. */
function readRate(text: string) {
  const [, model = "", requests = "", tokens = ""] = /^(.+)=(\d*)(?:,(\d*))?$/.exec(text) ?? [];
  if (model === "" || `${requests}${tokens}` === "")
    throw new UsageError(
      "--model-rate: expected MODEL=RPM,TPM, as some-model=10,50000, some-model=10 or some-model=,50000",
    );
  const requestsPerMinute = readCount("--model-rate", requests, mostOfKey.requestsPerMinute);
  const tokensPerMinute = readCount("--model-rate", tokens, mostOfKey.tokensPerMinute);
  return {
    model: model.trim(),
    ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
  };
}

function readTag(tag: string): string {
  if (tagBounds.fits(tag)) return tag;
  throw new UsageError(
    `--tag: expected 1 to ${tagBounds.maxLength} characters, not all blank, without control characters`,
  );
}

function readOwner(owner: string) {
  const name = owner.trim();
  if (!ownerBounds.fits(name))
    throw new UsageError(
      `--owner: expected at most ${ownerBounds.maxLength} characters, and no line breaks or other control characters`,
    );
  return name === "" ? {} : { name };
}
