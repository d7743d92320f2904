/**
 * Page tokens mark where a list continues. To clients they are opaque; they contain the id of the last item of the
 * page before, and of a list in another order than that of ids the value by which it was ordered then.
 */
import { invalidValue, type Refusal } from "../call/refusals.ts";
import { asked } from "./asked.ts";

export function writePageToken(lastId: string, value?: string | number): string {
  return Buffer.from(value === undefined ? lastId : `${lastId}:${value}`).toString("base64url");
}

/** PagePlace is the last item of the page before; `value` is what it was ordered by, unset of a list in the order of ids. */
export interface PagePlace {
  readonly id: string;
  readonly value?: string | undefined;
}

/**
 * pageStart returns the id of the last item of the page before: `prefix`, `_` and its characters. Without a token, or with an empty one as
 * clients send that have none, it returns undefined, for the first page. Throws a Refusal.
 */
export function pageStart(token: string | undefined, prefix: string): string | undefined {
  const place = pagePlace(token, prefix);
  if (place?.value !== undefined) throw unknownToken();
  return place?.id;
}

/** pagePlace does the same for a list in any order, and returns the value with the id. Throws a Refusal. */
export function pagePlace(token: string | undefined, prefix: string): PagePlace | undefined {
  const sent = asked(token);
  if (sent === undefined) return undefined;
  const text = Buffer.from(sent, "base64url").toString();
  const [, id = "", value] = /^([a-z]+_[0-9a-z]{25})(?::(.*))?$/su.exec(text) ?? [];
  if (!id.startsWith(`${prefix}_`) || writePageToken(id, value) !== sent) throw unknownToken();
  return { id, value };
}

/** unknownToken is the refusal of a token that no page of the list has had. */
export function unknownToken(): Refusal {
  return invalidValue("page_token", "expected the `next_page_token` of an earlier page, unchanged");
}
