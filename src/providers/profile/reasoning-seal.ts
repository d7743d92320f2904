/**
 * Reasoning that a vendor encrypted for the next turn ↔ a text that other families keep as the signature of thinking.
 * Callers send it back unread.
 *
 * The seal names its upstream, since nobody else can read it. It is not secret: its content is encrypted already.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { shortHash } from "../../runtime/ids.ts";
import { isObject, parsedJson } from "../../wire/json.ts";

const mark = "reasoning:";

export interface SealedReasoning {
  /** The hash that `makerOf` returns. */
  readonly maker: string;
  /** The item's id at its upstream; empty where it has none. */
  readonly id: string;
  readonly encrypted: string;
  /** Number of calls before it in its answer. */
  readonly calls: number;
}

/** makerOf returns a hash that tells an upstream's items from those of others. */
export function makerOf(upstream: string): string {
  return shortHash(upstream);
}

export function sealReasoning({ maker, id, encrypted, calls }: SealedReasoning): string {
  return mark + Buffer.from(JSON.stringify({ maker, id, encrypted, calls })).toString("base64url");
}

export function isSealedReasoning(text: JsonValue | undefined): text is string {
  return typeof text === "string" && text.startsWith(mark);
}

/** unsealReasoning returns undefined for a text that was not sealed here. */
export function unsealReasoning(text: JsonValue | undefined): SealedReasoning | undefined {
  if (!isSealedReasoning(text)) return undefined;
  const json = parsedJson(Buffer.from(text.slice(mark.length), "base64url").toString());
  if (!isObject(json)) return undefined;
  const { maker, id, encrypted, calls } = json;
  if (typeof maker !== "string" || typeof id !== "string" || typeof encrypted !== "string") return undefined;
  return { maker, id, encrypted, calls: typeof calls === "number" ? calls : 0 };
}
