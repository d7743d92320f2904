/** What is kept of a response: itself, and the items that were new in its request, as far as they are short enough. */
import type { StoredResponse } from "../../storage/answers/responses.ts";
import type { JsonObject } from "../../wire/json.ts";
import type { Resolved } from "./input.ts";
import type { CreateCall, ResponsesParts } from "./parts.ts";

/** Returns what makes of a response what is kept of it. */
export function rowsOf(
  { caller }: Pick<CreateCall, "caller">,
  { items, previousId }: Resolved,
  { clock, limits }: Pick<ResponsesParts, "clock" | "limits">,
): (id: string, response: string) => StoredResponse {
  const { accountId } = caller;
  const input = textWithin(items, limits.maxBytes);
  return (id, response) => {
    const now = clock();
    const times = { created_at: now, expires_at: now + limits.keepMs };
    return { id, account_id: accountId, previous_id: previousId, ...times, input, response };
  };
}

/** Writes a list as JSON; null where that has more bytes. */
function textWithin(items: readonly JsonObject[], maxBytes: number): string | null {
  const texts: string[] = [];
  let bytes = 1;
  for (const item of items) {
    const text = JSON.stringify(item);
    bytes += 1 + Buffer.byteLength(text);
    if (bytes > maxBytes) return null;
    texts.push(text);
  }
  return `[${texts.join(",")}]`;
}
