/**
 * Page tokens mark where a list continues. To clients they are opaque; they contain the id of the last item of the
 * page before.
 */
import { invalidValue } from "../call/refusals.ts";
import { asked } from "./asked.ts";

export function writePageToken(lastId: string): string {
  return Buffer.from(lastId).toString("base64url");
}

/**
 * pageStart returns the id of the last item of the page before: `prefix`, `_` and its characters. Without a token, or with an empty one as
 * clients send that have none, it returns undefined, for the first page. Throws a Refusal.
 */
export function pageStart(token: string | undefined, prefix: string): string | undefined {
  const sent = asked(token);
  if (sent === undefined) return undefined;
  const id = Buffer.from(sent, "base64url").toString("latin1");
  const isOurs = /^[a-z]+_[0-9a-z]{25}$/.test(id) && id.startsWith(`${prefix}_`) && writePageToken(id) === sent;
  if (!isOurs) throw invalidValue("page_token", "expected the `next_page_token` of an earlier page, unchanged");
  return id;
}
