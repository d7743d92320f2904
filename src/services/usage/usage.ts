/** UsageService: the calls of the caller's account and their sums. Contains no prompts or answers. */
import { setImmediate } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import {
  ExportRequestsResponseSchema,
  GetRequestResponseSchema,
  ListRefusedResponseSchema,
  ListRequestsResponseSchema,
  ListRunningResponseSchema,
  ListUsageResponseSchema,
  SummarizeRefusedResponseSchema,
  SummarizeRequestsResponseSchema,
  type UsageService,
} from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { Frames, ServiceImplementation } from "../../call/call.ts";
import { invalidValue, resourceNotFound } from "../../call/refusals.ts";
import type { RefusedStore } from "../../storage/calls/refused.ts";
import type { RequestStore } from "../../storage/calls/requests.ts";
import type { CallRow } from "../../storage/columns.ts";
import type { KeyStore } from "../../storage/keys.ts";
import type { HoldStore } from "../../storage/money/holds.ts";
import type { PriceStore } from "../../storage/money/prices.ts";
import { Wire } from "../../wire/wire.ts";
import { asked } from "../asked.ts";
import { pageOf } from "../page.ts";
import { whole } from "../whole.ts";
import { keyedFilter, keysTagged, labelsOfCalls } from "./key-labels.ts";
import { listRefused, summarizeRefused } from "./refused-message.ts";
import { callWithBill, requestMessage, runningMessage, sumMessage } from "./request-message.ts";
import { csvHead, csvLines } from "./requests-csv.ts";
import { summaryFilterOf, summaryLimits, summaryMessage } from "./summary-message.ts";
import { bucketedSpan, bucketMsOf, requestFilterOf } from "./time-span.ts";

export interface UsageParts {
  readonly requests: RequestStore;
  readonly refused: RefusedStore;
  readonly holds: HoldStore;
  readonly prices: PriceStore;
  readonly keys: Pick<KeyStore, "labels">;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

/** maxSums is the most sums returned: buckets times keys and models. */
const maxSums = 10_000;
/** maxRunning is the most running calls returned. */
const maxRunning = 100;

export function usageService({
  requests,
  refused,
  holds,
  prices,
  keys,
  clock,
}: UsageParts): ServiceImplementation<typeof UsageService> {
  return {
    async listRequests({ request, caller, signal }) {
      const message = request.message();
      const { accountId } = caller;
      const keyIds = await keysTagged(keys, message.filter?.tag, accountId);
      const filter = { accountId, keyIds, ...requestFilterOf(message.filter) };
      const { items, next } = await pageOf(message, "req", (before, limit) =>
        requests.page(filter, before, limit, signal),
      );
      const labelsOf = await labelsOfCalls(keys, items);
      const messages = items.map((item) => requestMessage(item, labelsOf));
      return whole(ListRequestsResponseSchema, { requests: messages, ...next });
    },
    async listRunning({ caller }) {
      const running = await holds.list(caller.accountId, clock(), maxRunning);
      return whole(ListRunningResponseSchema, { running: running.map(runningMessage) });
    },
    async getRequest({ request, caller }) {
      const { id = "" } = request.message();
      const found = await requests.find(caller.accountId, id);
      if (!found) throw resourceNotFound("request", id);
      return whole(GetRequestResponseSchema, await callWithBill(found, { prices, keys }));
    },
    async listUsage({ request, caller }) {
      const message = request.message();
      const { keyId, model, byKey = false, byModel = false } = message;
      const bucketMs = bucketMsOf(message.bucket);
      const times = bucketedSpan(message, bucketMs, clock());
      const limit = maxSums + 1;
      const filter = { accountId: caller.accountId, keyId: asked(keyId), model: asked(model), ...times };
      const sums = await requests.sums({ ...filter, bucketMs, byKey, byModel, limit });
      if (sums.length === limit) {
        const advice = "ask for a shorter time, longer buckets, or one key or model";
        throw invalidValue("from", `there are more than ${maxSums} sums; ${advice}`);
      }
      return whole(ListUsageResponseSchema, { sums: sums.map(sumMessage) });
    },
    async summarizeRequests({ request, caller, signal }) {
      const message = request.message();
      const filter = await keyedFilter(keys, message, {
        ...summaryFilterOf(message, clock()),
        accountId: caller.accountId,
      });
      const summary = await requests.summarize(filter, summaryLimits, signal);
      return whole(SummarizeRequestsResponseSchema, summaryMessage(summary, filter.groupBy));
    },
    ...refusedRpcs({ refused, clock }),
    exportRequests: exportRequests({ requests, keys }),
  };
}

type Rpcs = ServiceImplementation<typeof UsageService>;

function refusedRpcs({
  refused,
  clock,
}: Pick<UsageParts, "refused" | "clock">): Pick<Rpcs, "listRefused" | "summarizeRefused"> {
  return {
    async listRefused({ request, caller }) {
      return whole(ListRefusedResponseSchema, await listRefused(refused, caller.accountId, request.message()));
    },
    async summarizeRefused({ request, caller }) {
      const counted = await summarizeRefused(refused, caller.accountId, request.message(), clock());
      return whole(SummarizeRefusedResponseSchema, counted);
    },
  };
}

/** exportRequests returns the RPC that writes the calls of an account as a table. */
function exportRequests({ requests, keys }: Pick<UsageParts, "requests" | "keys">) {
  const rpc: ServiceImplementation<typeof UsageService>["exportRequests"] = async ({ request, caller, signal }) => {
    const { keyId, model, upstream, tag, from, to } = request.message();
    const { accountId } = caller;
    const keyIds = await keysTagged(keys, tag, accountId);
    const filter = { accountId, keyIds, ...requestFilterOf({ keyId, model, upstream, from, to }) };
    const pages = requests.pages(filter, signal);
    const headers = { "content-disposition": 'attachment; filename="requests.csv"' };
    return { kind: "stream", frames: csvFrames(pages, keys), headers };
  };
  return rpc;
}

/** csvFrames reads each page on demand; between pages other calls get their turn. */
async function* csvFrames(
  pages: AsyncIterable<readonly CallRow[]>,
  keys: UsageParts["keys"],
): Frames<typeof ExportRequestsResponseSchema> {
  const piece = (csv: string, contentType?: string) => [
    Wire.ofMessage(
      ExportRequestsResponseSchema,
      create(ExportRequestsResponseSchema, { csv: Buffer.from(csv), ...(contentType ? { contentType } : {}) }),
    ),
  ];
  yield piece(csvHead, "text/csv; charset=utf-8");
  for await (const page of pages) {
    yield piece(csvLines(page, await labelsOfCalls(keys, page)));
    await setImmediate();
  }
}
