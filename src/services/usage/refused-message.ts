/** Lists and counts refused calls, for an account or for the operator. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ListRefusedRequest,
  type RefusedFilter,
  RefusedGroup,
  type RefusedSchema,
  type SummarizeRefusedRequest,
  type SummarizeRefusedResponseSchema,
} from "../../../gen/modelgateway/v1/usage_pb.ts";
import { invalidValue, type Reason, reasonOf, reasonWord } from "../../call/refusals.ts";
import { hourMs } from "../../runtime/time/durations.ts";
import type { RefusedCall, RefusedColumn, RefusedStore } from "../../storage/calls/refused.ts";
import { asked } from "../asked.ts";
import { pageOf } from "../page.ts";
import { bucketedSpan, bucketMsOf, span } from "./time-span.ts";

const maxGroups = 100;

const columns: Readonly<Record<RefusedGroup, RefusedColumn | undefined>> = {
  [RefusedGroup.UNSPECIFIED]: undefined,
  [RefusedGroup.REASON]: "reason",
  [RefusedGroup.MODEL]: "model",
  [RefusedGroup.KEY]: "key_id",
  [RefusedGroup.ACCOUNT]: "account_id",
};

/** listRefused lists the calls of an account; of all, if it is undefined. Throws a Refusal for an invalid page or time. */
export async function listRefused(
  store: Pick<RefusedStore, "page" | "find">,
  accountId: string | undefined,
  { filter, id, pageSize, pageToken }: Pick<ListRefusedRequest, "filter" | "id" | "pageSize" | "pageToken">,
): Promise<{ refused: MessageInitShape<typeof RefusedSchema>[]; nextPageToken?: string }> {
  const only = asked(id);
  if (only !== undefined) {
    const found = await store.find(only, accountId);
    return { refused: found ? [refusedMessage(found)] : [] };
  }
  const selected = { accountId, ...filterOf(filter), ...span(filter?.from, filter?.to) };
  const { items, next } = await pageOf({ pageSize, pageToken }, "req", (before, limit) =>
    store.page(selected, before, limit),
  );
  return { refused: items.map(refusedMessage), ...next };
}

/** summarizeRefused counts the calls of an account; of all, if it is undefined. Throws a Refusal for an invalid time. */
export async function summarizeRefused(
  store: Pick<RefusedStore, "sums">,
  accountId: string | undefined,
  request: SummarizeRefusedRequest | undefined,
  now: number,
): Promise<MessageInitShape<typeof SummarizeRefusedResponseSchema>> {
  const { filter, bucket, groupBy = RefusedGroup.UNSPECIFIED } = request ?? {};
  const bucketMs = bucketMsOf(bucket);
  const by = columns[groupBy];
  // Refused calls of more than two days ago are counted by the hour.
  const times = bucketedSpan(filter ?? {}, bucketMs, now, Math.min(bucketMs, hourMs));
  const found = await store.sums({ accountId, ...filterOf(filter), ...times, bucketMs, groupBy: by }, maxGroups);
  const nameOf = (group: string) => (by === "reason" ? reasonWord(Number(group) as Reason) : group);
  return {
    total: BigInt(found.total),
    groups: found.groups.map(({ group, requests }) => ({ group: nameOf(group), requests: BigInt(requests) })),
    sums: found.sums.map(({ beginsAt, group, requests }) => ({
      beginsAt: timestampFromMs(beginsAt),
      group: nameOf(group),
      requests: BigInt(requests),
    })),
  };
}

function filterOf({ keyId, model, reasons = [] }: Partial<RefusedFilter> = {}) {
  return { keyId: asked(keyId), model: asked(model), reasons: reasons.map(reasonNamed) };
}

function reasonNamed(word: string, place: number): Reason {
  const reason = reasonOf(word);
  if (reason === undefined)
    throw invalidValue(`filter.reasons[${place}]`, "expected the name of a Reason, as RATE_LIMITED");
  return reason;
}

function refusedMessage(call: RefusedCall): MessageInitShape<typeof RefusedSchema> {
  const { id, account_id, key_id, operation, model, reason, status, detail, created_at } = call;
  return {
    ...{
      id,
      accountId: account_id,
      keyId: key_id,
      operation,
      model,
      reason: reasonWord(reason as Reason),
      status,
      detail,
    },
    createdAt: timestampFromMs(created_at),
  };
}
