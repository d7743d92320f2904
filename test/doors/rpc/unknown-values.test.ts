/**
 * What an RPC may say and JSON may not: numbers of enums that no word stands for, and moments beyond those of RFC 3339. A client of a newer
 * version sends the former, one that takes milliseconds for seconds the latter. Both are refused by their path, by every protocol.
 */
import { ConnectError, createClient } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorDetailSchema, Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { transports } from "../../support/clients/endpoints.ts";
import { hurriedClock, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({}, { admin: true, clock: hurriedClock() });
});

afterAll(() => gateway.close());

async function refusedBy(answer: Promise<unknown>): Promise<object | undefined> {
  const error = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  const [detail] = error ? ConnectError.from(error).findDetails(ErrorDetailSchema) : [];
  return detail && { reason: detail.reason, param: detail.param };
}

/** A number that no word of any enum stands for. */
const unknown = 99 as never;
/** 2030 in milliseconds, as seconds. */
const inMilliseconds = { seconds: 1_893_456_000_000n };
const wrongType = (param: string) => ({ reason: Reason.INVALID_TYPE, param });
const wrongValue = (param: string) => ({ reason: Reason.INVALID_VALUE, param });

// Connect's JSON has words for enums and moments, and its clients write no others.
const binary = Object.entries(transports).filter(([name]) => name !== "Connect, JSON");

describe.each(binary)("by %s", (_, transportTo) => {
  const headers = () => ({ headers: { authorization: `Bearer ${gateway.apiKey}` } });

  test("the end of a key, which else would have none", async () => {
    const keys = createClient(KeyService, transportTo(gateway));
    const before = await gateway.storage.keys.list(gateway.accountId);
    expect(await refusedBy(keys.createKey({ name: "k", expiresAt: { at: inMilliseconds } }, headers()))).toEqual(
      wrongValue("expires_at"),
    );
    expect(await gateway.storage.keys.list(gateway.accountId)).toHaveLength(before.length);
  });

  test("the time and the buckets of usage, which else would be all and days", async () => {
    const usage = createClient(UsageService, transportTo(gateway));
    expect(await refusedBy(usage.listRequests({ filter: { to: inMilliseconds } }, headers()))).toEqual(
      wrongValue("filter.to"),
    );
    expect(await refusedBy(usage.summarizeRequests({ bucket: unknown }, headers()))).toEqual(wrongType("bucket"));
    expect(await refusedBy(usage.summarizeRequests({ groupBy: unknown }, headers()))).toEqual(wrongType("group_by"));
    expect(await refusedBy(usage.summarizeRequests({ bucket: 0, groupBy: 0 }, headers()))).toBeUndefined();
  });

  test.each([1, 300_000])("the role of a message of %i characters, and formats of answers", async (length) => {
    const inference = createClient(InferenceService, transportTo(gateway));
    const content = { case: "text" as const, value: "a".repeat(length) };
    const chat = { model: "embedded-chat", messages: [{ role: unknown, content }] };
    expect(await refusedBy(inference.createChatCompletion(chat, headers()))).toEqual(wrongType("messages[0].role"));
    const input = { case: "inputText" as const, value: "a".repeat(length) };
    const embeddings = { model: "embedded-embedding", input, encodingFormat: unknown };
    expect(await refusedBy(inference.createEmbeddings(embeddings, headers()))).toEqual(wrongType("encoding_format"));
  });
});
