/** UsageService: the calls of the caller's account and their sums. Contains no prompts or answers. */
import { setImmediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import {
  Bucket,
  ExportRequestsResponseSchema,
  GetRequestResponseSchema,
  ListRequestsResponseSchema,
  ListRunningResponseSchema,
  type ListUsageRequest,
  ListUsageResponseSchema,
  type RequestFilter,
  type UsageService,
} from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Frames, ServiceImplementation } from "../../call/call.ts";
import { invalidValue, resourceNotFound } from "../../call/refusals.ts";
import type { RequestStore } from "../../storage/calls/requests.ts";
import type { CallRow } from "../../storage/columns.ts";
import type { HoldStore } from "../../storage/money/holds.ts";
import type { PriceStore } from "../../storage/money/prices.ts";
import { Wire } from "../../wire/wire.ts";
import { pageOf } from "../page.ts";
import { whole } from "../whole.ts";
import { callWithBill, requestMessage, runningMessage, sumMessage } from "./request-message.ts";
import { csvHead, csvLines } from "./requests-csv.ts";

export interface UsageParts {
  readonly requests: RequestStore;
  readonly holds: HoldStore;
  readonly prices: PriceStore;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const defaultBuckets = 30;
const maxBuckets = 1000;
/** maxSums is the most sums returned: buckets times keys and models. */
const maxSums = 10_000;
/** maxRunning is the most running calls returned. */
const maxRunning = 100;

export function usageService({
  requests,
  holds,
  prices,
  clock,
}: UsageParts): ServiceImplementation<typeof UsageService> {
  return {
    async listRequests({ request, caller, signal }) {
      const message = request.message();
      const filter = { accountId: caller.accountId, ...requestFilterOf(message.filter) };
      const { items, next } = await pageOf(message, "req", (before, limit) =>
        requests.page(filter, before, limit, signal),
      );
      return whole(ListRequestsResponseSchema, { requests: items.map(requestMessage), ...next });
    },
    async listRunning({ caller }) {
      const running = await holds.list(caller.accountId, clock(), maxRunning);
      return whole(ListRunningResponseSchema, { running: running.map(runningMessage) });
    },
    async getRequest({ request, caller }) {
      const { id = "" } = request.message();
      const found = await requests.find(caller.accountId, id);
      if (!found) throw resourceNotFound("request", id);
      return whole(GetRequestResponseSchema, await callWithBill(found, prices));
    },
    async listUsage({ request, caller }) {
      const message = request.message();
      const { keyId, model, byKey = false, byModel = false } = message;
      const bucketMs = message.bucket === Bucket.HOUR ? hourMs : dayMs;
      const times = usageSpan(message, bucketMs, clock());
      const limit = maxSums + 1;
      const sums = await requests.sums({
        accountId: caller.accountId,
        keyId,
        model,
        ...times,
        bucketMs,
        byKey,
        byModel,
        limit,
      });
      if (sums.length === limit) {
        const advice = "ask for a shorter time, longer buckets, or one key or model";
        throw invalidValue("from", `there are more than ${maxSums} sums; ${advice}`);
      }
      return whole(ListUsageResponseSchema, { sums: sums.map(sumMessage) });
    },
    async exportRequests({ request, caller, signal }) {
      const { keyId, model, from, to } = request.message();
      const pages = requests.pages({ accountId: caller.accountId, keyId, model, ...span(from, to) }, signal);
      const headers = { "content-disposition": 'attachment; filename="requests.csv"' };
      return { kind: "stream", frames: csvFrames(pages), headers };
    },
  };
}

/** csvFrames reads each page on demand; between pages other calls get their turn. */
async function* csvFrames(pages: AsyncIterable<readonly CallRow[]>): Frames<typeof ExportRequestsResponseSchema> {
  const piece = (csv: string, contentType?: string) => [
    Wire.ofMessage(
      ExportRequestsResponseSchema,
      create(ExportRequestsResponseSchema, { csv: Buffer.from(csv), ...(contentType ? { contentType } : {}) }),
    ),
  ];
  yield piece(csvHead, "text/csv; charset=utf-8");
  for await (const page of pages) {
    yield piece(csvLines(page));
    await setImmediate();
  }
}

/** requestFilterOf returns the storage's filter. Throws a Refusal if the time span is empty. */
export function requestFilterOf({ keyId, model, outcomes = [], from, to }: Partial<RequestFilter> = {}) {
  return { keyId, model, outcomes, ...span(from, to) };
}

/** span returns the time span in milliseconds. Throws a Refusal if it is empty. */
function span(from: Timestamp | undefined, to: Timestamp | undefined): { from?: number; to?: number } {
  const [begins, ends] = [from && timestampMs(from), to && timestampMs(to)];
  if (begins !== undefined && ends !== undefined) refuseBackwards(begins, ends);
  return { ...(begins === undefined ? {} : { from: begins }), ...(ends === undefined ? {} : { to: ends }) };
}

function usageSpan({ from, to }: ListUsageRequest, bucketMs: number, now: number): { from: number; to: number } {
  const ends = to ? timestampMs(to) : now;
  const asked = from ? timestampMs(from) : ends - defaultBuckets * bucketMs;
  refuseBackwards(asked, ends);
  const begins = Math.floor(asked / bucketMs) * bucketMs;
  if (ends - begins > (maxBuckets + 1) * bucketMs) {
    throw invalidValue("from", `expected at most ${maxBuckets} buckets before \`to\``);
  }
  return { from: begins, to: ends };
}

function refuseBackwards(from: number, to: number): void {
  if (from >= to) throw invalidValue("from", "expected a moment before `to`");
}
