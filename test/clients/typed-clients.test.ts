/**
 * Internal services call with the generated types: every field by its name, what vendors add in `extra`, deadlines,
 * cancellation, compression, and errors that programs can read.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { create, fromBinary, type JsonObject, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type CallOptions, type Client, Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  compressionBrotli,
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { credentials, Client as GrpcClient, status as grpcStatus, Metadata } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ContentPartType,
  CreateChatCompletionRequestSchema,
  FinishReason,
  ReasoningEffort,
  ResponseFormatType,
  Role,
  ToolChoiceMode,
  ToolType,
} from "../../gen/modelgateway/v1/chat_pb.ts";
import { ErrorDetailSchema, Reason } from "../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { eventually } from "../support/eventually.ts";
import { behind, startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";

/** A request as callers write it: a plain object. */
type Request = Extract<MessageInitShape<typeof CreateChatCompletionRequestSchema>, { $typeName?: never }>;

/** An OpenAI-compatible server of the test's own, for what the embedded model never says or never tells. */
interface Upstream {
  readonly baseUrl: string;
  /** What it was asked, parsed. */
  readonly asked: JsonObject[];
  answer: (res: ServerResponse, asked: JsonObject, req: IncomingMessage) => void;
  close(): void;
}

async function startUpstream(): Promise<Upstream> {
  const server = createServer(async (req, res) => {
    const asked = (await json(req)) as JsonObject;
    upstream.asked.push(asked);
    upstream.answer(res, asked, req);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const upstream: Upstream = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: [],
    answer: (res) => res.end(),
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return upstream;
}

function answerJson(res: ServerResponse, body: JsonObject): void {
  res.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
}

function answerStream(res: ServerResponse, frames: readonly (JsonObject | "[DONE]")[]): void {
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (const frame of frames) res.write(`data: ${typeof frame === "string" ? frame : JSON.stringify(frame)}\n\n`);
  res.end();
}

function completion(content: string, more: JsonObject = {}): JsonObject {
  const message = { role: "assistant", content };
  return {
    id: "1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason: "stop" }],
    ...more,
  };
}

let near: TestGateway;
let far: TestGateway;
let upstream: Upstream;
let odd: TestGateway;

beforeAll(async () => {
  near = await startTestGateway();
  far = await startTestGateway({ ...behind(near), disconnectDrainMs: 100 });
  upstream = await startUpstream();
  odd = await startTestGateway({ ...upstreamAt(upstream.baseUrl), disconnectDrainMs: 100 });
});

afterAll(async () => {
  await odd.close();
  upstream.close();
  await far.close();
  await near.close();
});

type TransportOptions = Partial<Parameters<typeof createGrpcTransport>[0]>;

function grpc({ rootUrl }: TestGateway, options: TransportOptions = {}): Transport {
  return createGrpcTransport({ baseUrl: rootUrl, ...options });
}

function clientOf(gateway: TestGateway, transport = grpc(gateway)): Client<typeof InferenceService> {
  return createClient(InferenceService, transport);
}

function authorized({ apiKey }: TestGateway, options: CallOptions = {}): CallOptions {
  return { ...options, headers: { authorization: `Bearer ${apiKey}` } };
}

function user(text: string, metadata: Record<string, string> = {}): Request {
  return { model: "embedded-chat", messages: [{ role: Role.USER, content: { case: "text", value: text } }], metadata };
}

async function thrown(work: PromiseLike<unknown>): Promise<ConnectError> {
  return work.then(
    () => expect.fail("it was answered"),
    (error) => ConnectError.from(error),
  );
}

function reasonsOf({ logged }: TestGateway): (string | undefined)[] {
  const lines = logged().split("\n").filter(Boolean);
  return lines
    .map((line) => JSON.parse(line))
    .filter(({ rpc }) => rpc !== undefined)
    .map(({ reason }) => reason);
}

const weather = {
  type: ToolType.FUNCTION,
  function: {
    name: "get_weather",
    description: "Tells the weather.",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};

for (const [place, gatewayAt] of [
  ["the embedded model", () => near],
  ["another gateway as upstream", () => far],
] as const) {
  describe(`a typed client over ${place}`, () => {
    test("gets an answer in typed fields", async () => {
      const answer = await clientOf(gatewayAt()).createChatCompletion(user("say: hello"), authorized(gatewayAt()));
      expect(answer).toMatchObject({
        object: "chat.completion",
        model: "embedded-chat",
        choices: [{ index: 0, message: { role: Role.ASSISTANT, content: "hello" }, finishReason: FinishReason.STOP }],
      });
      expect(answer.created).toBeTypeOf("bigint");
      const { promptTokens, completionTokens, totalTokens } = answer.usage ?? expect.fail("no usage");
      expect([promptTokens > 0, completionTokens]).toEqual([true, 1]);
      expect(totalTokens).toBe(promptTokens + completionTokens);
    });

    test("gets a stream in typed chunks, with the usage where it asks for it", async () => {
      const request = { ...user("say: one two three"), streamOptions: { includeUsage: true } };
      const chunks = await Array.fromAsync(
        clientOf(gatewayAt()).streamChatCompletion(request, authorized(gatewayAt())),
      );
      const last = chunks.pop();
      expect(last).toMatchObject({ choices: [], usage: { completionTokens: 3 } });
      expect(chunks[0]?.choices[0]?.delta?.role).toBe(Role.ASSISTANT);
      expect(chunks.map(({ choices }) => choices[0]?.delta?.content ?? "").join("")).toBe("one two three");
      expect(chunks.at(-1)?.choices[0]?.finishReason).toBe(FinishReason.STOP);
    });

    test("is answered by the RPC that it calls, whatever `stream` says", async () => {
      const client = clientOf(gatewayAt());
      const options = authorized(gatewayAt());
      const whole = await client.createChatCompletion({ ...user("say: hello"), stream: true }, options);
      expect(whole.choices[0]?.message?.content).toBe("hello");
      const request = { ...user("say: hello"), stream: false };
      expect((await Array.fromAsync(client.streamChatCompletion(request, options))).length).toBeGreaterThan(2);
    });

    test("sends parts, and roles of every kind", async () => {
      const { choices } = await clientOf(gatewayAt()).createChatCompletion(
        {
          model: "embedded-chat",
          messages: [
            { role: Role.SYSTEM, content: { case: "text", value: "Be brief." } },
            { role: Role.DEVELOPER, content: { case: "text", value: "Be kind." } },
            {
              role: Role.USER,
              content: {
                case: "parts",
                value: {
                  parts: [
                    { type: ContentPartType.TEXT, text: "What is this?" },
                    { type: ContentPartType.IMAGE_URL, imageUrl: { url: "data:image/png;base64,AAAA" } },
                  ],
                },
              },
            },
          ],
        },
        authorized(gatewayAt()),
      );
      expect(choices[0]?.message?.content).toContain("What is this?");
      expect(choices[0]?.message?.content).toContain("3 messages and 1 image");
    });

    test("gives tools their parameters as plain objects, and answers their calls", async () => {
      const client = clientOf(gatewayAt());
      const options = authorized(gatewayAt());
      const question = { role: Role.USER, content: { case: "text", value: "Use get_weather for Oslo" } } as const;
      const request = { model: "embedded-chat", messages: [question], tools: [weather] };
      const { choices } = await client.createChatCompletion(request, options);
      expect(choices[0]).toMatchObject({
        finishReason: FinishReason.TOOL_CALLS,
        message: {
          toolCalls: [{ type: ToolType.FUNCTION, function: { name: "get_weather", arguments: '{"city":"Oslo"}' } }],
        },
      });
      expect(choices[0]?.message).not.toHaveProperty("content");
      const { toolCalls = [] } = choices[0]?.message ?? {};
      const messages = [
        question,
        { role: Role.ASSISTANT, toolCalls },
        { role: Role.TOOL, toolCallId: toolCalls[0]?.id ?? "", content: { case: "text" as const, value: "4 degrees" } },
      ];
      const second = await client.createChatCompletion({ ...request, messages }, options);
      expect(second.choices[0]?.message?.content).toContain("The tool get_weather returned: 4 degrees");
    });

    test("chooses tools by mode or by name", async () => {
      const client = clientOf(gatewayAt());
      const called = async (toolChoice: NonNullable<Request["toolChoice"]>) => {
        const request = { ...user("hello"), tools: [weather], toolChoice };
        const { choices } = await client.createChatCompletion(request, authorized(gatewayAt()));
        return choices[0]?.message?.toolCalls.map((call) => call.function?.name);
      };
      expect(await called({ case: "toolChoiceMode", value: ToolChoiceMode.NONE })).toEqual([]);
      expect(await called({ case: "toolChoiceMode", value: ToolChoiceMode.REQUIRED })).toEqual(["get_weather"]);
      const named = { type: ToolType.FUNCTION, function: { name: "get_weather" } };
      expect(await called({ case: "toolChoiceNamed", value: named })).toEqual(["get_weather"]);
    });

    test("is told in the headers which request it was, also of a refusal", async () => {
      const client = clientOf(gatewayAt());
      let id: string | null = null;
      const onHeader = (header: Headers) => {
        id = header.get("x-request-id");
      };
      await client.createChatCompletion(user("hello"), authorized(gatewayAt(), { onHeader }));
      expect(id).toMatch(/^req_[0-9a-z]{25}$/);
      const answered = id;
      await Array.fromAsync(client.streamChatCompletion(user("hello"), authorized(gatewayAt(), { onHeader })));
      expect(id).toMatch(/^req_/);
      expect(id).not.toBe(answered);
      const refused = await thrown(client.createChatCompletion({}, authorized(gatewayAt())));
      expect(refused.metadata.get("x-request-id")).toMatch(/^req_/);
      expect(refused.findDetails(ErrorDetailSchema)[0]?.requestId).toBe(refused.metadata.get("x-request-id"));
    });

    describe("is refused with a reason, a field, the status on the public API, and its request id:", () => {
      interface Case {
        readonly request: Request;
        readonly key?: string;
        readonly code: Code;
        readonly detail: { readonly reason: Reason; readonly param: string; readonly httpStatus: number };
        /** Whether the upstream's own words are there. */
        readonly upstream?: boolean;
      }
      const hi = user("hi");
      const cases: Readonly<Record<string, Case>> = {
        "no key": {
          request: hi,
          key: "",
          code: Code.Unauthenticated,
          detail: { reason: Reason.INVALID_API_KEY, param: "", httpStatus: 401 },
        },
        "a wrong key": {
          request: hi,
          key: "sk-wrong",
          code: Code.Unauthenticated,
          detail: { reason: Reason.INVALID_API_KEY, param: "", httpStatus: 401 },
        },
        "no model": {
          request: { messages: hi.messages ?? [] },
          code: Code.InvalidArgument,
          detail: { reason: Reason.MISSING_FIELD, param: "model", httpStatus: 400 },
        },
        "a message without a role": {
          request: { model: "embedded-chat", messages: [{ content: { case: "text", value: "hi" } }] },
          code: Code.InvalidArgument,
          detail: { reason: Reason.MISSING_FIELD, param: "messages[0].role", httpStatus: 400 },
        },
        "a value out of its bounds": {
          request: { ...hi, temperature: 3 },
          code: Code.InvalidArgument,
          detail: { reason: Reason.INVALID_VALUE, param: "temperature", httpStatus: 400 },
        },
        "an unknown model": {
          request: { ...hi, model: "nothing" },
          code: Code.NotFound,
          detail: { reason: Reason.MODEL_NOT_FOUND, param: "model", httpStatus: 404 },
        },
        "an upstream that refuses": {
          request: user("hi", { simulate_status: "422" }),
          code: Code.InvalidArgument,
          detail: { reason: Reason.UPSTREAM_REFUSED, param: "", httpStatus: 422 },
          upstream: true,
        },
        "an upstream that is busy": {
          request: user("hi", { simulate_status: "429" }),
          code: Code.ResourceExhausted,
          detail: { reason: Reason.UPSTREAM_REFUSED, param: "", httpStatus: 429 },
          upstream: true,
        },
        "an upstream that is overloaded": {
          request: user("hi", { simulate_status: "503" }),
          code: Code.Unavailable,
          detail: { reason: Reason.UPSTREAM_REFUSED, param: "", httpStatus: 503 },
          upstream: true,
        },
      };
      for (const [name, { request, key, code, detail, upstream = false }] of Object.entries(cases)) {
        for (const form of ["whole", "streamed"]) {
          test(`${name}, ${form}`, async () => {
            const { apiKey } = gatewayAt();
            const options: CallOptions = { headers: key === "" ? {} : { authorization: `Bearer ${key ?? apiKey}` } };
            const client = clientOf(gatewayAt());
            const work =
              form === "whole"
                ? client.createChatCompletion(request, options)
                : Array.fromAsync(client.streamChatCompletion(request, options));
            const error = await thrown(work);
            expect(Code[error.code]).toBe(Code[code]);
            const [found, ...others] = error.findDetails(ErrorDetailSchema);
            expect(found).toMatchObject({ ...detail, requestId: expect.stringMatching(/^req_[0-9a-z]{25}$/) });
            expect(others).toEqual([]);
            if (!upstream) expect(found?.upstreamBody).toBe("");
            else expect(JSON.parse(found?.upstreamBody ?? "")).toMatchObject({ error: { code: "simulated" } });
          });
        }
      }

      test("a stream that breaks, after its chunks", async () => {
        const request = user("say: one two three four five", { simulate_break_after: "3" });
        const chunks: ChatCompletionChunk[] = [];
        const reading = (async () => {
          for await (const chunk of clientOf(gatewayAt()).streamChatCompletion(request, authorized(gatewayAt())))
            chunks.push(chunk);
        })();
        const error = await thrown(reading);
        expect(error.findDetails(ErrorDetailSchema)[0]).toMatchObject({ httpStatus: 502 });
        expect(chunks.map(({ choices }) => choices[0]?.delta?.content ?? "").join("")).toBe("one two three");
      });

      test("with the time to wait in the metadata", async () => {
        const busy = user("hi", { simulate_status: "429" });
        const error = await thrown(clientOf(gatewayAt()).createChatCompletion(busy, authorized(gatewayAt())));
        expect(error.metadata.get("retry-after")).toBe("1");
      });
    });

    test("that leaves a stream ends the work behind it", async () => {
      const before = reasonsOf(near).length;
      const leaving = new AbortController();
      const endless = user(`say: ${"tick ".repeat(1000)}`, { simulate_token_delay_ms: "500" });
      const stream = clientOf(gatewayAt()).streamChatCompletion(
        endless,
        authorized(gatewayAt(), { signal: leaving.signal }),
      );
      const reading = (async () => {
        for await (const { choices } of stream) if (choices[0]?.delta?.content) leaving.abort();
      })();
      expect((await thrown(reading)).code).toBe(Code.Canceled);
      await eventually(() => expect(reasonsOf(near).slice(before)).toEqual(["CANCELLED"]));
    });

    test("of grpc-js that cancels a stream ends the work behind it", async () => {
      const before = reasonsOf(near).length;
      const { port, apiKey } = gatewayAt();
      const client = new GrpcClient(`127.0.0.1:${port}`, credentials.createInsecure());
      const metadata = new Metadata();
      metadata.set("authorization", `Bearer ${apiKey}`);
      const endless = create(
        CreateChatCompletionRequestSchema,
        user(`say: ${"tick ".repeat(1000)}`, { simulate_token_delay_ms: "500" }),
      );
      const stream = client.makeServerStreamRequest(
        `/${InferenceService.typeName}/StreamChatCompletion`,
        (message: typeof endless) => Buffer.from(toBinary(CreateChatCompletionRequestSchema, message)),
        (bytes) => fromBinary(ChatCompletionChunkSchema, bytes),
        endless,
        metadata,
      );
      await once(stream, "data");
      stream.cancel();
      expect(await once(stream, "error")).toMatchObject([{ code: grpcStatus.CANCELLED }]);
      await eventually(() => expect(reasonsOf(near).slice(before)).toEqual(["CANCELLED"]));
      client.close();
    });
  });
}

describe("a deadline", () => {
  const silent = user("hi", { simulate_silence: "true" });

  for (const [name, transportTo] of Object.entries<(gateway: TestGateway) => Transport>({
    gRPC: grpc,
    "gRPC-Web": ({ rootUrl }) => createGrpcWebTransport({ baseUrl: rootUrl, httpVersion: "1.1" }),
    Connect: ({ rootUrl }) => createConnectTransport({ baseUrl: rootUrl, httpVersion: "1.1" }),
  })) {
    test(`ends a call, whole or streamed, and the work behind it, over ${name}`, async () => {
      const client = clientOf(near, transportTo(near));
      const before = reasonsOf(near).length;
      const options = authorized(near, { timeoutMs: 1000 });
      const [whole, streamed] = await Promise.all([
        thrown(client.createChatCompletion(silent, options)),
        thrown(Array.fromAsync(client.streamChatCompletion(silent, options))),
      ]);
      expect([whole.code, streamed.code]).toEqual([Code.DeadlineExceeded, Code.DeadlineExceeded]);
      await eventually(() => expect(reasonsOf(near).slice(before)).toEqual(["CANCELLED", "CANCELLED"]));
    });
  }

  test("is kept by the gateway, not only by its client", async () => {
    const response = await fetch(`${near.rootUrl}/${InferenceService.typeName}/CreateChatCompletion`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${near.apiKey}`,
        "content-type": "application/json",
        "connect-timeout-ms": "300",
      },
      body: JSON.stringify({
        model: "embedded-chat",
        messages: [{ role: "ROLE_USER", text: "hi" }],
        metadata: { simulate_silence: "true" },
      }),
    });
    expect(response.status).toBe(504);
    expect(await response.json()).toMatchObject({ code: "deadline_exceeded" });
  });

  test("that is not reached changes nothing", async () => {
    const options = authorized(near, { timeoutMs: 60_000 });
    const { choices } = await clientOf(near).createChatCompletion(user("say: in time"), options);
    expect(choices[0]?.message?.content).toBe("in time");
  });
});

test("a call that is cancelled takes its upstream's connection with it", async () => {
  const arrived = Promise.withResolvers<IncomingMessage>();
  upstream.answer = (_res, _asked, req) => arrived.resolve(req);
  const leaving = new AbortController();
  const call = thrown(clientOf(odd).createChatCompletion(user("hi"), authorized(odd, { signal: leaving.signal })));
  const closed = once((await arrived.promise).socket, "close");
  leaving.abort();
  expect((await call).code).toBe(Code.Canceled);
  await closed;
});

describe("what no schema knows", () => {
  test("reaches the upstream from `extra`, wherever it stands, and typed fields under their public names", async () => {
    upstream.answer = (res) => answerJson(res, completion("ok"));
    await clientOf(odd).createChatCompletion(
      {
        model: "embedded-chat",
        messages: [
          {
            role: Role.USER,
            content: {
              case: "parts",
              value: {
                parts: [{ type: ContentPartType.TEXT, text: "hi", extra: { cache_control: { type: "ephemeral" } } }],
              },
            },
            extra: { prefix: true },
          },
        ],
        maxCompletionTokens: 5,
        temperature: 0,
        stop: { case: "stopList", value: { texts: ["a", "b"] } },
        seed: 9007199254740991n,
        logitBias: { "50256": -100 },
        reasoningEffort: ReasoningEffort.XHIGH,
        responseFormat: { type: ResponseFormatType.JSON_OBJECT },
        tools: [{ ...weather, extra: { cache: [1, null] } }],
        toolChoice: { case: "toolChoiceMode", value: ToolChoiceMode.AUTO },
        parallelToolCalls: false,
        extra: { top_k: 5, min_p: 0.05, chat_template_kwargs: { enable_thinking: false }, guided_choice: ["a", null] },
      },
      authorized(odd),
    );
    expect(upstream.asked.at(-1)).toEqual({
      model: "embedded-chat",
      messages: [
        {
          role: "user",
          content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }],
          prefix: true,
        },
      ],
      max_completion_tokens: 5,
      temperature: 0,
      stop: ["a", "b"],
      seed: 9007199254740991,
      logit_bias: { "50256": -100 },
      reasoning_effort: "xhigh",
      response_format: { type: "json_object" },
      tools: [{ type: "function", function: weather.function, cache: [1, null] }],
      tool_choice: "auto",
      parallel_tool_calls: false,
      top_k: 5,
      min_p: 0.05,
      chat_template_kwargs: { enable_thinking: false },
      guided_choice: ["a", null],
    });
  });

  test("comes back in `extra`, and what an upstream gets wrong does not cost the answer", async () => {
    upstream.answer = (res) =>
      answerJson(res, {
        id: 17,
        created: 1790000000.25,
        model: "odd",
        provider: { name: "somebody", region: null },
        choices: [
          {
            index: 0,
            finish_reason: "eos_token",
            native_finish_reason: 2,
            message: {
              role: "assistant",
              content: "hello",
              reasoning: "because",
              tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: { city: "Oslo" } } }],
            },
          },
        ],
        usage: { prompt_tokens: 3, completion_tokens: "4", total_tokens: 7, cost: 0.25, queue: null },
      });
    const answer = await clientOf(odd).createChatCompletion(user("hi"), authorized(odd));
    expect(answer).toMatchObject({
      // As clients in typed languages read them over REST.
      id: "17",
      created: 1790000000n,
      model: "odd",
      extra: { provider: { name: "somebody", region: null } },
      usage: {
        promptTokens: 3,
        // It is charged, and told, what the total leaves for it.
        completionTokens: 4,
        totalTokens: 7,
        extra: { cost: 0.25, queue: null },
      },
    });
    const [choice] = answer.choices;
    expect(choice).toMatchObject({
      extra: { native_finish_reason: 2 },
      message: { role: Role.ASSISTANT, content: "hello", extra: { reasoning: "because" } },
    });
    expect(choice?.finishReason).toBe(FinishReason.STOP);
    expect(choice?.message?.toolCalls[0]).toMatchObject({
      id: "c",
      function: { name: "f", extra: { arguments: { city: "Oslo" } } },
    });
  });

  test("comes back in `extra` of a stream's chunks, too", async () => {
    const chunk = (delta: JsonObject, finish_reason: string | null): JsonObject => ({
      id: "1",
      object: "chat.completion.chunk",
      created: 1,
      model: "odd",
      choices: [{ index: 0, delta, finish_reason }],
    });
    upstream.answer = (res) =>
      answerStream(res, [
        { id: "1", model: "odd", prompt_filter_results: [{ prompt_index: 0 }] },
        { ...chunk({ role: "assistant", content: "he" }, null), p: "padding" },
        { ...chunk({ content: "llo", reasoning: "hm" }, "eos_token"), error: null },
        { id: "1", choices: [], usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3, cost: 0.5 } },
        "[DONE]",
      ]);
    const request = { ...user("hi"), streamOptions: { includeUsage: true } };
    const chunks = await Array.fromAsync(clientOf(odd).streamChatCompletion(request, authorized(odd)));
    expect(chunks).toMatchObject([
      { model: "odd", choices: [], extra: { prompt_filter_results: [{ prompt_index: 0 }] } },
      { choices: [{ delta: { role: Role.ASSISTANT, content: "he" } }], extra: { p: "padding" } },
      {
        choices: [
          {
            delta: { content: "llo", extra: { reasoning: "hm" } },
            finishReason: FinishReason.STOP,
            extra: { native_finish_reason: "eos_token" },
          },
        ],
        extra: { error: null },
      },
      { choices: [], usage: { totalTokens: 3, extra: { cost: 0.5 } } },
    ]);
  });
});

describe("on the way", () => {
  const compressions = [compressionGzip, compressionBrotli];
  const long = "never gonna give you up ".repeat(1000);

  for (const compression of compressions) {
    test(`a message is compressed with ${compression.name}, both ways, where its caller would have it`, async () => {
      upstream.answer = (res, { messages }) =>
        answerJson(res, completion((messages as { content: string }[])[0]?.content ?? ""));
      const transports = [
        grpc(odd, { sendCompression: compression, acceptCompression: [compression], compressMinBytes: 0 }),
        grpc(odd, { acceptCompression: [compression] }),
        grpc(odd, { acceptCompression: [compression], useBinaryFormat: false }),
        createGrpcWebTransport({
          baseUrl: odd.rootUrl,
          httpVersion: "1.1",
          sendCompression: compression,
          acceptCompression: [compression],
          compressMinBytes: 0,
        }),
        createConnectTransport({
          baseUrl: odd.rootUrl,
          httpVersion: "1.1",
          sendCompression: compression,
          acceptCompression: [compression],
          compressMinBytes: 0,
        }),
      ];
      for (const transport of transports) {
        let coding: string | null = null;
        const onHeader = (header: Headers) => {
          coding = header.get("grpc-encoding") ?? header.get("content-encoding");
        };
        const { choices } = await clientOf(odd, transport).createChatCompletion(
          user(long),
          authorized(odd, { onHeader }),
        );
        expect(choices[0]?.message?.content).toBe(long);
        expect(coding).toBe(compression.name);
      }
    });

    test(`a stream is compressed with ${compression.name} where its caller does so`, async () => {
      const transport = grpc(near, {
        sendCompression: compression,
        acceptCompression: [compression],
        compressMinBytes: 0,
      });
      const stream = clientOf(near, transport).streamChatCompletion(user("say: one two three"), authorized(near));
      const chunks = await Array.fromAsync(stream);
      expect(chunks.map(({ choices }) => choices[0]?.delta?.content ?? "").join("")).toBe("one two three");
    });
  }

  test("a message that unpacks to more than the limit is refused", async () => {
    const small = await startTestGateway({ maxBodyBytes: 1024 * 1024 });
    const transport = grpc(small, { sendCompression: compressionGzip, compressMinBytes: 0 });
    const bomb = user("0".repeat(8 * 1024 * 1024));
    expect((await thrown(clientOf(small, transport).createChatCompletion(bomb, authorized(small)))).code).toBe(
      Code.ResourceExhausted,
    );
    await small.close();
  });

  test("messages of 4 MB pass, both ways", async () => {
    upstream.answer = (res, { messages }) =>
      answerJson(res, completion((messages as { content: string }[])[0]?.content ?? ""));
    const text = "Grüße! ".repeat(500_000);
    for (const transport of [
      grpc(odd),
      createGrpcWebTransport({ baseUrl: odd.rootUrl, httpVersion: "1.1" }),
      createConnectTransport({ baseUrl: odd.rootUrl, httpVersion: "2" }),
    ]) {
      const { choices } = await clientOf(odd, transport).createChatCompletion(user(text), authorized(odd));
      expect(choices[0]?.message?.content === text).toBe(true);
    }
  });

  test("a slow reader gets every chunk of a large stream", async () => {
    const piece = "x".repeat(64 * 1024);
    const chunk: JsonObject = { id: "1", choices: [{ index: 0, delta: { content: piece }, finish_reason: null }] };
    const last: JsonObject = { id: "1", choices: [{ index: 0, delta: {}, finish_reason: "stop" }] };
    upstream.answer = (res) => answerStream(res, [...Array.from({ length: 64 }, () => chunk), last, "[DONE]"]);
    let bytes = 0;
    for await (const { choices } of clientOf(odd).streamChatCompletion(user("hi"), authorized(odd))) {
      bytes += choices[0]?.delta?.content?.length ?? 0;
      await setTimeout(2);
    }
    expect(bytes).toBe(64 * piece.length);
  });

  test("many calls share a connection", async () => {
    const client = clientOf(near);
    const contents = await Promise.all(
      Array.from({ length: 50 }, async (_, i) => {
        const { choices } = await client.createChatCompletion(user(`say: ${i}`), authorized(near));
        return choices[0]?.message?.content;
      }),
    );
    expect(contents).toEqual(Array.from({ length: 50 }, (_, i) => String(i)));
  });
});

test("an RPC is not to be had by GET: nothing that costs is cached or prefetched", async () => {
  const query = new URLSearchParams({ connect: "v1", encoding: "json", message: "{}" });
  const url = `${near.rootUrl}/${InferenceService.typeName}/CreateChatCompletion?${query}`;
  const response = await fetch(url, { headers: { authorization: `Bearer ${near.apiKey}` } });
  expect(response.status).toBe(405);
  expect(response.headers.get("allow")).toBe("POST");
});
