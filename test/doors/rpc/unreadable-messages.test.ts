/** A body that is no message of its RPC is refused for the same reason as over REST, by every protocol: unary, streamed, short and long. */
import type { DescMethodServerStreaming, DescMethodUnary } from "@bufbuild/protobuf";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorDetailSchema, Reason } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { SpeechSchema } from "../../../gen/modelgateway/v1/speech_pb.ts";
import { transports } from "../../support/clients/endpoints.ts";
import { hurriedClock, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway({}, { admin: true, clock: hurriedClock() });
});

afterAll(() => gateway.close());

/** A message whose second field is bytes, where those of the RPCs have messages: bytes that cannot be such. */
const another = (length: number) => ({ audio: Buffer.alloc(length, 0xff) });

async function refusedBy(answer: Promise<unknown>): Promise<ConnectError> {
  const error = await answer.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return ConnectError.from(error);
}

async function unary(transport: Transport, length: number): Promise<unknown> {
  const method = { ...KeyService.method.createKey, input: SpeechSchema } as unknown as DescMethodUnary<
    typeof SpeechSchema
  >;
  const headers = { authorization: `Bearer ${gateway.apiKey}` };
  return transport.unary(method, undefined, undefined, headers, another(length));
}

async function streamed(transport: Transport, length: number): Promise<unknown> {
  const method = {
    ...InferenceService.method.streamChatCompletion,
    input: SpeechSchema,
  } as unknown as DescMethodServerStreaming<typeof SpeechSchema>;
  async function* input() {
    yield another(length);
  }
  const headers = { authorization: `Bearer ${gateway.apiKey}` };
  const { message } = await transport.stream(method, undefined, undefined, headers, input());
  return Array.fromAsync(message);
}

describe.each(Object.entries(transports))("by %s", (_, transportTo) => {
  for (const [kind, send] of Object.entries({ unary, streamed })) {
    test.each([3, 300_000])(`${kind}, of %i bytes`, async (length) => {
      const error = await refusedBy(send(transportTo(gateway), length));
      expect(error.code).toBe(Code.InvalidArgument);
      const [detail] = error.findDetails(ErrorDetailSchema);
      expect(detail).toMatchObject({ reason: Reason.MALFORMED_BODY, httpStatus: 400, param: "" });
      expect(detail?.requestId).toMatch(/^req_/);
    });
  }
});
