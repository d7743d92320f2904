/** Builds the API messages of calls, running calls and sums of usage. */
import { type DescField, type MessageInitShape, ScalarType } from "@bufbuild/protobuf";
import { TimestampSchema, timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ChargeSchema,
  type FailedAttemptSchema,
  Outcome,
  type PricePartSchema,
  RequestSchema,
  type RunningSchema,
  type UsageSchema,
  UsageSumSchema,
} from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { FailedAttempt } from "../../pipeline/attempt/failed-attempts.ts";
import { type BillLine, billOf, priceIdsOf, type WrittenPart } from "../../pipeline/charge/bill.ts";
import type { UsageSum } from "../../storage/calls/requests.ts";
import type { CallRow, ColumnName, SummedColumn } from "../../storage/columns.ts";
import type { KeyStore } from "../../storage/keys.ts";
import type { HoldRow } from "../../storage/money/holds.ts";
import type { PriceStore } from "../../storage/money/prices.ts";
import { type CallField, callFields } from "./call-fields.ts";
import { type LabelsOf, labelsOfCalls } from "./key-labels.ts";

const ofRequest = callFields(RequestSchema);
const ofSum = callFields(UsageSumSchema, { summedOnly: true });

export function requestMessage(row: CallRow, labelsOf: LabelsOf): MessageInitShape<typeof RequestSchema> {
  const { tags = [], owner = null } = labelsOf(row.key_id) ?? {};
  return { ...messageOf(ofRequest, row), keyTags: [...tags], ...(owner === null ? {} : { keyOwner: owner }) };
}

export function sumMessage(sum: UsageSum): MessageInitShape<typeof UsageSumSchema> {
  const { begins_at, key_id, model, requests } = sum;
  return {
    ...messageOf(ofSum, sum),
    beginsAt: timestampFromMs(begins_at),
    ...(key_id === null ? {} : { keyId: key_id }),
    ...(model === null ? {} : { model }),
    requests: BigInt(requests),
  };
}

/** usageOfSums returns the usage that sums of calls have. */
export function usageOfSums(sums: Readonly<Record<SummedColumn, number>>): MessageInitShape<typeof UsageSchema> {
  return messageOf(ofSum, sums).usage as MessageInitShape<typeof UsageSchema>;
}

interface BillParts {
  readonly prices: Pick<PriceStore, "find">;
  readonly keys: Pick<KeyStore, "labels">;
}

/** callWithBill returns a call with the lines of its bill, by the prices that are kept. */
export async function callWithBill(row: CallRow, { prices, keys }: BillParts) {
  const [cards, labelsOf] = await Promise.all([prices.find(priceIdsOf(row)), labelsOfCalls(keys, [row])]);
  return { request: requestMessage(row, labelsOf), charges: billOf(row, cards).map(chargeMessage) };
}

function chargeMessage({ count, rate, factor, ...line }: BillLine): MessageInitShape<typeof ChargeSchema> {
  return { ...line, count: BigInt(count), rate: BigInt(rate), factor: BigInt(factor) };
}

/** messageOf returns the message of a row. Null columns are unset fields. */
function messageOf(
  fields: readonly CallField[],
  row: { readonly [column in ColumnName]?: CallRow[column] | string | null },
): Record<string, unknown> {
  const usage: Record<string, unknown> = {};
  const message: Record<string, unknown> = { usage };
  for (const { column, field, isOfUsage } of fields) {
    const value = row[column] ?? null;
    if (value !== null) (isOfUsage ? usage : message)[field.localName] = fieldValue(field, value);
  }
  return message;
}

function fieldValue(field: DescField, value: string | number): unknown {
  const list = field.fieldKind === "list" ? lists.get(field.name) : undefined;
  if (list) return list(String(value));
  if (field.message?.typeName === TimestampSchema.typeName) return timestampFromMs(Number(value));
  if (field.scalar === ScalarType.BOOL) return value === 1;
  return field.scalar === ScalarType.INT64 ? BigInt(value) : value;
}

/** lists reads columns of JSON lists, by the fields that they become. */
const lists: ReadonlyMap<string, (json: string) => unknown> = new Map<string, (json: string) => unknown>([
  ["tried", attemptsOf],
  ["price_parts", partsOf],
]);

/** partsOf reads the column `price_parts`, which `ledger/reprice.ts` describes. */
function partsOf(parts: string): MessageInitShape<typeof PricePartSchema>[] {
  const list = JSON.parse(parts) as readonly WrittenPart[];
  return list.map((part) => ({
    priceId: part.price ?? "",
    requests: part.requests ?? (part.of === undefined ? 1 : 0),
    usage: { ...tokensOf(part), characters: BigInt(part.characters ?? 0) },
    inputAudioTokens: BigInt(part.input_audio ?? 0),
    inputImageTokens: BigInt(part.input_image ?? 0),
    outputAudioTokens: BigInt(part.output_audio ?? 0),
    searches: BigInt(part.searches ?? 0),
  }));
}

function tokensOf(part: NonNullable<FailedAttempt["told"]>): MessageInitShape<typeof UsageSchema> {
  return {
    inputTokens: BigInt(part.input ?? 0),
    cacheReadTokens: BigInt(part.cache_read ?? 0),
    cacheWriteTokens: BigInt(part.cache_write ?? 0),
    cacheWriteHourTokens: BigInt(part.cache_write_hour ?? 0),
    outputTokens: BigInt(part.output ?? 0),
    reasoningTokens: BigInt(part.reasoning ?? 0),
  };
}

/** attemptsOf reads the column `tried`, which `pipeline/attempt/failed-attempts.ts` writes. */
function attemptsOf(tried: string): MessageInitShape<typeof FailedAttemptSchema>[] {
  const list = JSON.parse(tried) as readonly FailedAttempt[];
  return list.map(({ upstream, model = "", at, ms, failure, lost, told, outcome = Outcome.FAILED }) => ({
    upstream,
    model,
    durationMs: Math.max(0, Math.round(ms)),
    failure,
    at: timestampFromMs(at),
    lostCost: BigInt(lost ?? 0),
    overtaken: lost !== undefined,
    outcome: lost === undefined ? outcome : Outcome.UNSPECIFIED,
    ...(told && { told: tokensOf(told) }),
  }));
}

export function runningMessage(hold: HoldRow): MessageInitShape<typeof RunningSchema> {
  const { request_id, account_id, key_id, operation, model, amount, created_at } = hold;
  return {
    id: request_id,
    accountId: account_id,
    keyId: key_id,
    operation,
    model,
    held: BigInt(amount),
    createdAt: timestampFromMs(created_at),
  };
}
