/**
 * Builds the stored row of a response: the response itself, and the new items of its request unless they are too long.
 */
import type { StoredResponse } from "../../storage/answers/responses.ts";
import type { JsonObject } from "../../wire/json.ts";
import type { Resolved } from "./input.ts";
import type { CreateCall, ResponsesParts } from "./parts.ts";

/** storedRowBuilder returns a function that builds the row of a response. */
export function storedRowBuilder(
  { caller }: Pick<CreateCall, "caller">,
  { items, previousId }: Resolved,
  { clock, settings }: Pick<ResponsesParts, "clock" | "settings">,
): (id: string, response: string) => StoredResponse {
  const { accountId } = caller;
  const { responses: limits } = settings();
  const input = jsonWithin(items, limits.maxBytes);
  return (id, response) => {
    const now = clock();
    const times = { created_at: now, expires_at: now + limits.keepMs };
    return { id, account_id: accountId, previous_id: previousId, ...times, input, response };
  };
}

/** jsonWithin returns a list as JSON; null if that is longer than `maxBytes`. */
function jsonWithin(items: readonly JsonObject[], maxBytes: number): string | null {
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
