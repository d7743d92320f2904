/**
 * Page tokens: where a list goes on. Clients hand them back as they got them, and need not know that they name the last
 * thing of the page before.
 */
import { invalidValue } from "../call/refusals.ts";

export function writePageToken(lastId: string): string {
  return Buffer.from(lastId).toString("base64url");
}

/** Returns the id of what came last: a `prefix`, as `key`, and its characters. Throws a Refusal. */
export function readPageToken(token: string, prefix: string): string {
  const id = Buffer.from(token, "base64url").toString("latin1");
  const isOurs = /^[a-z]+_[0-9a-z]{25}$/.test(id) && id.startsWith(`${prefix}_`) && writePageToken(id) === token;
  if (!isOurs) throw invalidValue("page_token", "expected the `next_page_token` of an earlier page, unchanged");
  return id;
}
