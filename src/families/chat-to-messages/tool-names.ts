/**
 * Names of tools and ids of calls as the Messages API takes them: `^[a-zA-Z0-9_-]{1,128}$`.
 *
 * Valid names stay. An invalid one is rewritten the same way in every call, so that prompt caches keep hitting, and
 * ends in a hash of the original, so that two names never become one.
 */
import { createHash } from "node:crypto";

const fits = /^[a-zA-Z0-9_-]{1,128}$/;
const keptLength = 119; // With "_" and the mark, 128.

export function upstreamName(name: string): string {
  if (fits.test(name)) return name;
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${name.replace(/[^a-zA-Z0-9_-]/gu, "_").slice(0, keptLength)}_${mark}`;
}
