/**
 * Page tokens mark where a list continues. To clients they are opaque; they contain the id of the last item of the
 * page before.
 */
import { invalidValue } from "../call/refusals.ts";

export function writePageToken(lastId: string): string {
  return Buffer.from(lastId).toString("base64url");
}

/** readPageToken returns the id of the last item: `prefix`, `_` and its characters. Throws a Refusal. */
export function readPageToken(token: string, prefix: string): string {
  const id = Buffer.from(token, "base64url").toString("latin1");
  const isOurs = /^[a-z]+_[0-9a-z]{25}$/.test(id) && id.startsWith(`${prefix}_`) && writePageToken(id) === token;
  if (!isOurs) throw invalidValue("page_token", "expected the `next_page_token` of an earlier page, unchanged");
  return id;
}
