/**
 * The models that a key may use: by id or by family, under whatever name, at every endpoint and every door.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorDetailSchema } from "../../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { CreateSpeechRequestSchema } from "../../../gen/modelgateway/v1/speech_pb.ts";
import type { ModelConfig } from "../../../src/config/config.ts";
import { readMessage } from "../../../src/wire/read.ts";
import { doorsOf, type Endpoint, type EndpointName, endpoints } from "../../support/clients/endpoints.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { openAccount, type Payer } from "../../support/payer.ts";

let gateway: TestGateway;

/** Two families, each with a model of every kind; those that no key here may use come first, and so are the defaults. */
const models = ["latin", "greek"].flatMap((family) => [
  model(family, "chat", "embedded-chat"),
  model(family, "embedding", "embedded-embedding"),
  model(family, "speech", "tts-1"),
]);

function model(family: string, kind: ModelConfig["kind"], served: string): ModelConfig {
  const targets = [{ upstream: "embedded", model: served, priority: 0, weight: 1 }];
  return { id: `${family}-${kind}`, aliases: [`${family}-${kind}-latest`], family, kind, targets };
}

beforeAll(async () => {
  gateway = await startTestGateway({ models, embeddedModels: false });
});

afterAll(() => gateway.close());

/** An account with one key, billed afterwards and of the fastest tier. */
async function payerOf(permissions?: readonly string[]): Promise<Payer> {
  const init = { postpaid: true, recharge: 300_000_000 };
  return await openAccount(gateway, permissions ? { ...init, models: permissions } : init);
}

/** The ways to permit the same models. */
const permissions: Readonly<Record<string, readonly string[]>> = {
  "the models of a family by their ids": ["greek-chat", "greek-embedding", "greek-speech"],
  "a family": ["family:greek"],
};

const messages = [{ role: "user", content: "Hello" }];

const requests: Readonly<Record<Exclude<EndpointName, "models" | "model">, (model: string) => JsonObject>> = {
  chat: (model) => ({ model, messages, max_tokens: 4 }),
  messages: (model) => ({ model, messages, max_tokens: 4 }),
  count_tokens: (model) => ({ model, messages }),
  completions: (model) => ({ model, prompt: "Hello", max_tokens: 4 }),
  responses: (model) => ({ model, input: "Hello", max_output_tokens: 16, store: false }),
  embeddings: (model) => ({ model, input: "Hello" }),
};

function kindOf({ name }: Endpoint): string {
  return name === "embeddings" ? "embedding" : "chat";
}

for (const [what, permitted] of Object.entries(permissions)) {
  describe(`a key that is permitted ${what}`, () => {
    for (const [name, requestOf] of Object.entries(requests)) {
      const endpoint = endpoints[name as EndpointName];
      const forms = endpoint.stream ? [false, true] : [false];
      for (const door of doorsOf(endpoint)) {
        test(`is answered by these and refused all others at ${name}, by ${door.name}`, async () => {
          const { apiKey } = await payerOf(permitted);
          for (const stream of forms) {
            for (const word of ["", "-latest"]) {
              const own = requestOf(`greek-${kindOf(endpoint)}${word}`);
              const answered = await door.call(gateway, { request: own, stream, apiKey });
              expect(answered.refused, `${own.model}, streamed: ${stream}`).toBeUndefined();
              expect(answered.answers.length).toBeGreaterThan(0);

              const other = requestOf(`latin-${kindOf(endpoint)}${word}`);
              const { refused, answers } = await door.call(gateway, { request: other, stream, apiKey });
              expect(refused, `${other.model}, streamed: ${stream}`).toMatchObject({
                status: 403,
                message: expect.stringContaining(`not permitted to use the model \`${other.model}\``),
              });
              expect(answers).toEqual([]);
            }
          }
        });
      }
    }

    test.each(["completions", "embeddings"] as const)(
      "is refused the default model of %s, which is another",
      async (name) => {
        const { apiKey } = await payerOf(permitted);
        const { model: _, ...request } = requests[name]("");
        for (const door of doorsOf(endpoints[name])) {
          const { refused } = await door.call(gateway, { request, apiKey });
          expect(refused, door.name).toMatchObject({ status: 403 });
        }
      },
    );

    test("finds no others in the list of models, nor by their names, through any door", async () => {
      const { apiKey } = await payerOf(permitted);
      for (const door of doorsOf(endpoints.models)) {
        const { answers } = await door.call(gateway, { request: {}, apiKey });
        const listed = ["greek-chat", "greek-embedding", "greek-speech"].map((id) => ({ id }));
        expect(answers[0], door.name).toMatchObject({ data: listed });
      }
      for (const door of doorsOf(endpoints.model)) {
        for (const word of ["", "-latest"]) {
          const found = await door.call(gateway, { request: { id: `greek-chat${word}` }, apiKey });
          expect(found.answers, door.name).toMatchObject([{ id: "greek-chat" }]);
          const { refused } = await door.call(gateway, { request: { id: `latin-chat${word}` }, apiKey });
          const unknown = await door.call(gateway, { request: { id: "nobody" }, apiKey });
          expect(refused?.status, door.name).toBe(unknown.refused?.status);
          expect(refused?.message).toBe(unknown.refused?.message.replace("nobody", `latin-chat${word}`));
        }
      }
    });

    for (const [name, speak] of Object.entries(speechDoors())) {
      test(`is answered by these and refused all others at speech, by ${name}`, async () => {
        const { apiKey } = await payerOf(permitted);
        for (const word of ["", "-latest"]) {
          expect(await speak(apiKey, `greek-speech${word}`)).toBe(200);
          expect(await speak(apiKey, `latin-speech${word}`)).toBe(403);
        }
      });
    }
  });
}

/** Asks for speech, and returns the status. */
type Speak = (apiKey: string, model: string) => Promise<number>;

function speechDoors(): Readonly<Record<string, Speak>> {
  const order = { input: "Hi", voice: "nova", response_format: "pcm" };
  const rest =
    (bodyOf: (request: Record<string, string>) => NonNullable<RequestInit["body"]>, type?: string): Speak =>
    async (apiKey, model) => {
      const headers = { authorization: `Bearer ${apiKey}`, ...(type ? { "content-type": type } : {}) };
      const body = bodyOf({ ...order, model });
      const response = await fetch(`${gateway.baseUrl}/audio/speech`, { method: "POST", headers, body });
      await response.arrayBuffer();
      return response.status;
    };
  const rpc =
    (transportTo: (baseUrl: string) => Transport, stream: boolean): Speak =>
    async (apiKey, model) => {
      const client = createClient(InferenceService, transportTo(gateway.rootUrl));
      const request = readMessage(CreateSpeechRequestSchema, { ...order, model }, { lenient: false });
      const options = { headers: { authorization: `Bearer ${apiKey}` } };
      try {
        if (!stream) await client.createSpeech(request, options);
        else for await (const _ of client.streamSpeech(request, options));
        return 200;
      } catch (error) {
        return ConnectError.from(error).findDetails(ErrorDetailSchema)[0]?.httpStatus ?? 0;
      }
    };
  const connect = (baseUrl: string) => createConnectTransport({ baseUrl, httpVersion: "1.1" });
  const grpc = (baseUrl: string) => createGrpcTransport({ baseUrl });
  const grpcWeb = (baseUrl: string) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" });
  return {
    "REST, JSON": rest(JSON.stringify, "application/json"),
    "REST, form": rest((request) => new URLSearchParams(request)),
    "REST, events": rest((request) => JSON.stringify({ ...request, stream_format: "sse" }), "application/json"),
    Connect: rpc(connect, false),
    "Connect, streamed": rpc(connect, true),
    gRPC: rpc(grpc, false),
    "gRPC, streamed": rpc(grpc, true),
    "gRPC-Web": rpc(grpcWeb, false),
    "gRPC-Web, streamed": rpc(grpcWeb, true),
  };
}

describe("a key", () => {
  const chat = (apiKey: string, model: string) =>
    doorsOf(endpoints.chat)[0].call(gateway, { request: requests.chat(model), apiKey });

  test("that nobody restricted may use all", async () => {
    const { apiKey } = await payerOf();
    for (const { id, kind } of models) {
      if (kind === "chat") expect((await chat(apiKey, id)).refused).toBeUndefined();
    }
    const { answers } = await doorsOf(endpoints.models)[0].call(gateway, { request: {}, apiKey });
    expect(answers[0]?.data).toHaveLength(models.length);
  });

  test("is permitted a family by its whole name, and a model by its id alone", async () => {
    for (const near of ["family:lat", "family:latin-chat", "latin", "latin-chat-latest", "LATIN-CHAT"]) {
      const { refused } = await chat((await payerOf([near])).apiKey, "latin-chat");
      expect(refused, near).toMatchObject({ status: 403 });
    }
  });

  test("is held to what it is narrowed to, and given what it is widened to, from the next request on", async () => {
    const { apiKey, accountId, keyId } = await payerOf();
    const permit = (list: readonly string[] | null) =>
      gateway.storage.keys.update(accountId, keyId, { models: list && JSON.stringify(list) });
    expect((await chat(apiKey, "latin-chat")).refused).toBeUndefined();
    await permit(["family:greek"]);
    expect((await chat(apiKey, "latin-chat")).refused).toMatchObject({ status: 403 });
    await permit(["latin-chat"]);
    expect((await chat(apiKey, "latin-chat")).refused).toBeUndefined();
    expect((await chat(apiKey, "greek-chat")).refused).toMatchObject({ status: 403 });
    await permit(null);
    expect((await chat(apiKey, "greek-chat")).refused).toBeUndefined();
  });

  test("that is refused a model leaves no trace of it in the books", async () => {
    const payer = await payerOf(["family:greek"]);
    await chat((await payer).apiKey, "latin-chat");
    expect(await gateway.storage.requests.page({ accountId: (await payer).accountId }, undefined, 10)).toEqual([]);
    expect(await gateway.storage.keys.find((await payer).accountId, (await payer).keyId)).toMatchObject({
      spent: 0,
      held: 0,
    });
  });
});
