/** Calls and sums of usage, as messages tell of them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Outcome, RequestSchema, UsageSchema, UsageSumSchema } from "../../gen/modelgateway/v1/usage_pb.ts";
import type { Request, UsageSum } from "../storage/requests.ts";

export function requestMessage(request: Request): MessageInitShape<typeof RequestSchema> {
  const { id, key_id, operation, model, upstream, outcome, estimated, first_byte_ms } = request;
  return {
    ...{ id, keyId: key_id, operation, model, upstream, outcome: outcome as Outcome },
    usage: usageMessage(request),
    estimated: estimated === 1,
    cost: BigInt(request.cost),
    waived: BigInt(request.waived),
    createdAt: timestampFromMs(request.created_at),
    durationMs: request.duration_ms,
    ...(first_byte_ms === null ? {} : { firstByteMs: first_byte_ms }),
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
