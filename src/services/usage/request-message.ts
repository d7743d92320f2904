/** Calls, those under way too, and sums of usage, as messages tell of them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type {
  FailedAttemptSchema,
  Outcome,
  RequestSchema,
  RunningSchema,
  UsageSchema,
  UsageSumSchema,
} from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { FailedAttempt } from "../../pipeline/attempt/failed-attempts.ts";
import type { Request, UsageSum } from "../../storage/calls/requests.ts";
import type { Hold } from "../../storage/money/holds.ts";

export function requestMessage(request: Request): MessageInitShape<typeof RequestSchema> {
  const { id, account_id, key_id, operation, model, upstream, outcome, estimated, first_byte_ms } = request;
  return {
    ...{ id, accountId: account_id, keyId: key_id, operation, model, upstream, outcome: outcome as Outcome },
    usage: usageMessage(request),
    estimated: estimated === 1,
    cost: BigInt(request.cost),
    waived: BigInt(request.waived),
    createdAt: timestampFromMs(request.created_at),
    durationMs: request.duration_ms,
    ...(first_byte_ms === null ? {} : { firstByteMs: first_byte_ms }),
    tried: triedOf(request),
    cached: request.cached === 1,
  };
}

/** As `Tried` in pipeline/tried.ts was written down. */
function triedOf({ tried }: Request): MessageInitShape<typeof FailedAttemptSchema>[] {
  const list = tried === null ? [] : (JSON.parse(tried) as readonly FailedAttempt[]);
  return list.map(({ upstream, model = "", at, ms, failure, lost }) => ({
    ...{ upstream, model, durationMs: Math.max(0, Math.round(ms)), failure },
    at: timestampFromMs(at),
    lostCost: BigInt(lost ?? 0),
    overtaken: lost !== undefined,
  }));
}

export function runningMessage(hold: Hold): MessageInitShape<typeof RunningSchema> {
  const { request_id, account_id, key_id, operation, model, amount, created_at } = hold;
  return {
    ...{ id: request_id, accountId: account_id, keyId: key_id, operation, model },
    held: BigInt(amount),
    createdAt: timestampFromMs(created_at),
  };
}

export function sumMessage(sum: UsageSum): MessageInitShape<typeof UsageSumSchema> {
  const { begins_at, key_id, model, requests, cost } = sum;
  return {
    beginsAt: timestampFromMs(begins_at),
    ...(key_id === null ? {} : { keyId: key_id }),
    ...(model === null ? {} : { model }),
    requests: BigInt(requests),
    usage: usageMessage(sum),
    cost: BigInt(cost),
  };
}

type Parts = "input" | "cache_read" | "cache_write" | "output" | "reasoning" | "characters";

function usageMessage(used: Pick<Request, Parts>): MessageInitShape<typeof UsageSchema> {
  return {
    inputTokens: BigInt(used.input),
    cacheReadTokens: BigInt(used.cache_read),
    cacheWriteTokens: BigInt(used.cache_write),
    outputTokens: BigInt(used.output),
    reasoningTokens: BigInt(used.reasoning),
    characters: BigInt(used.characters),
  };
}
