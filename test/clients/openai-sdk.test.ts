/**
 * The official OpenAI SDK, unmodified: only its base URL and key are set. Over the embedded model, and over another
 * gateway as upstream.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import OpenAI, {
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
} from "openai";
import { LengthFinishReasonError } from "openai/error";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  ChatCompletionCreateParamsNonStreaming,
  ChatCompletionFunctionTool,
  ChatCompletionMessageFunctionToolCall,
  ChatCompletionMessageParam,
} from "openai/resources/chat/completions";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { nearAndFar } from "../support/clients/near-and-far.ts";
import { callsOf, oneTry, Recipe, sentence, thrownBy } from "../support/clients/sdk.ts";
import { eventually } from "../support/eventually.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";

const gateways = nearAndFar();
/** Responses know neither stop texts nor several choices, and have an id of their own each time. */
const overResponses = "another gateway that is asked for responses";

const clientOf = ({ baseUrl, apiKey }: TestGateway) => new OpenAI({ baseURL: baseUrl, apiKey });

/** A request that says what to answer. */
function say(content: string, metadata: Record<string, string> = {}): ChatCompletionCreateParamsNonStreaming {
  return { model: "embedded-chat", messages: [{ role: "user", content: `say: ${content}` }], metadata };
}

/** A stream that does not end by itself while a test runs. */
const endless = { ...say("tick ".repeat(1000), { simulate_token_delay_ms: "500" }), stream: true } as const;

/** What a call used may have to be counted first, by a thread that begins with it. */

const weather: ChatCompletionFunctionTool = {
  type: "function",
  function: {
    name: "get_weather",
    parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
};
const time: ChatCompletionFunctionTool = {
  type: "function",
  function: {
    name: "get_time",
    strict: true,
    parameters: {
      type: "object",
      properties: { zone: { type: "string", enum: ["UTC", "CET"] }, seconds: { type: "boolean" } },
      required: ["zone", "seconds"],
      additionalProperties: false,
    },
  },
};

/** Puts the chunks of one choice together as a client would by hand. */
function assembled(chunks: readonly ChatCompletionChunk[], index = 0) {
  let role: string | undefined;
  let content = "";
  const calls: { id: string; type: string; name: string; arguments: string }[] = [];
  const finishes: string[] = [];
  for (const choice of chunks.flatMap(({ choices }) => choices).filter((choice) => choice.index === index)) {
    role ??= choice.delta.role;
    content += choice.delta.content ?? "";
    for (const { index: at, id, type, function: called } of choice.delta.tool_calls ?? []) {
      const call = calls[at] ?? { id: id ?? "", type: type ?? "", name: called?.name ?? "", arguments: "" };
      calls[at] = { ...call, arguments: call.arguments + (called?.arguments ?? "") };
    }
    if (choice.finish_reason) finishes.push(choice.finish_reason);
  }
  return { role, content, calls, finishes };
}

function functionCalls({ choices }: ChatCompletion): ChatCompletionMessageFunctionToolCall[] {
  return (choices[0]?.message.tool_calls ?? []).filter((call) => call.type === "function");
}

/** Returns the error that the SDK throws. */
const thrown = (work: PromiseLike<unknown>) => thrownBy(work, (error): error is APIError => error instanceof APIError);

for (const [place, gatewayAt] of [
  ["the embedded model", () => gateways.near],
  ["another gateway as upstream", () => gateways.overChat],
  [overResponses, () => gateways.overResponses],
] as const) {
  describe(`the OpenAI SDK over ${place}`, () => {
    let client: OpenAI;

    beforeAll(() => {
      client = clientOf(gatewayAt());
    });

    describe("answers", () => {
      test("gets a whole one, with its usage and request id", async () => {
        const { data, response, request_id } = await client.chat.completions.create(say(sentence)).withResponse();
        expect(data).toMatchObject({
          id: expect.stringMatching(/^chatcmpl-/),
          object: "chat.completion",
          created: expect.any(Number),
          model: "embedded-chat",
          choices: [
            {
              index: 0,
              finish_reason: "stop",
              logprobs: null,
              message: { role: "assistant", content: sentence, refusal: null },
            },
          ],
        });
        const { prompt_tokens, completion_tokens, total_tokens } = data.usage ?? expect.fail("no usage");
        expect(prompt_tokens).toBeGreaterThan(8);
        expect(completion_tokens).toBeGreaterThan(8);
        expect(total_tokens).toBe(prompt_tokens + completion_tokens);
        expect(response.headers.get("content-type")).toBe("application/json");
        expect(request_id).toMatch(/^req_[0-9a-z]{25}$/);
        expect(response.headers.get("x-request-id")).toBe(request_id);
        expect((data as { _request_id?: string })._request_id).toBe(request_id);
      });

      test("gets one in pieces, as servers of this family send them", async () => {
        const { data, response, request_id } = await client.chat.completions
          .create({ ...say(sentence), stream: true })
          .withResponse();
        expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
        expect(request_id).toMatch(/^req_/);
        const chunks = await Array.fromAsync(data);
        expect(chunks.length).toBeGreaterThan(8);
        const [first] = chunks;
        for (const chunk of chunks) {
          expect(chunk).toMatchObject({ id: first?.id, created: first?.created, model: first?.model });
          expect(chunk.object).toBe("chat.completion.chunk");
          expect(chunk).not.toHaveProperty("usage");
          expect(chunk.choices.length).toBe(1);
        }
        expect(first?.choices[0]?.delta.role).toBe("assistant");
        expect(assembled(chunks)).toEqual({ role: "assistant", content: sentence, calls: [], finishes: ["stop"] });
      });

      test("gets the usage in a last chunk of its own where it asks for it", async () => {
        const whole = await client.chat.completions.create(say(sentence));
        const stream = await client.chat.completions.create({
          ...say(sentence),
          stream: true,
          stream_options: { include_usage: true },
        });
        const chunks = await Array.fromAsync(stream);
        const last = chunks.pop();
        expect(last).toMatchObject({ choices: [], usage: whole.usage });
        for (const { usage } of chunks) expect(usage).toBeNull();
        expect(assembled(chunks).content).toBe(sentence);
      });

      if (place !== overResponses)
        test("follows a stream by the events of its helper, to the same completion as the whole answer", async () => {
          const whole = await client.chat.completions.create(say(sentence));
          const stream = client.chat.completions.stream({
            ...say(sentence),
            stream: true,
            stream_options: { include_usage: true },
          });
          const seen: string[] = [];
          let last = "";
          stream
            .on("connect", () => seen.push("connect"))
            .on("content", (delta, snapshot) => {
              last += delta;
              expect(snapshot).toBe(last);
            })
            .on("content.done", ({ content }) => seen.push(`content.done ${content}`))
            .on("message", ({ role }) => seen.push(`message ${role}`))
            .on("finalContent", (content) => seen.push(`finalContent ${content}`))
            .on("end", () => seen.push("end"));
          expect(await stream.finalChatCompletion()).toMatchObject({
            ...whole,
            choices: [{ ...whole.choices[0], message: { role: "assistant", content: sentence } }],
          });
          expect(await stream.totalUsage()).toMatchObject({ total_tokens: whole.usage?.total_tokens });
          await stream.done();
          expect(last).toBe(sentence);
          expect(seen).toEqual([
            "connect",
            `content.done ${sentence}`,
            "message assistant",
            `finalContent ${sentence}`,
            "end",
          ]);
        });

      if (place !== overResponses)
        test("gets as many choices as it asks for, whole and streamed", async () => {
          const request = { ...say("pick"), n: 2 };
          const { choices } = await client.chat.completions.create(request);
          expect(choices.map(({ index, message }) => [index, message.content])).toEqual([
            [0, "pick"],
            [1, "pick (choice 2)"],
          ]);
          const chunks = await Array.fromAsync(await client.chat.completions.create({ ...request, stream: true }));
          expect(assembled(chunks, 0)).toMatchObject({ role: "assistant", content: "pick", finishes: ["stop"] });
          expect(assembled(chunks, 1)).toMatchObject({
            role: "assistant",
            content: "pick (choice 2)",
            finishes: ["stop"],
          });
          const final = await client.chat.completions.stream({ ...request, stream: true }).finalChatCompletion();
          expect(final.choices.map(({ message }) => message.content)).toEqual(["pick", "pick (choice 2)"]);
        });

      if (place !== overResponses)
        test("is stopped at a text, or at the first of several", async () => {
          const stops: [stop: string | string[] | null, content: string][] = [
            [" three", "one two"],
            [["three", " two"], "one"],
            ["nowhere", "one two three four"],
            [null, "one two three four"],
          ];
          for (const [stop, content] of stops) {
            const { choices } = await client.chat.completions.create({ ...say("one two three four"), stop });
            expect(choices[0], String(stop)).toMatchObject({ finish_reason: "stop", message: { content } });
          }
        });

      test("is cut at the bound it sets, under both names", async () => {
        for (const bound of [
          { max_completion_tokens: 3 },
          { max_tokens: 3 },
          { max_completion_tokens: 3, max_tokens: 100 },
        ]) {
          const { choices, usage } = await client.chat.completions.create({ ...say(sentence), ...bound });
          expect(choices[0]).toMatchObject({ finish_reason: "length", message: { content: "The quick brown" } });
          expect(usage?.completion_tokens).toBe(3);
        }
        const stream = await client.chat.completions.create({
          ...say(sentence),
          max_completion_tokens: 3,
          stream: true,
        });
        expect(assembled(await Array.fromAsync(stream))).toMatchObject({
          content: "The quick brown",
          finishes: ["length"],
        });
      });

      test("reads parts, images among them, and instructions", async () => {
        const { choices } = await client.chat.completions.create({
          model: "embedded-chat",
          messages: [
            { role: "developer", content: "Be brief." },
            {
              role: "user",
              content: [
                { type: "text", text: "What is in this picture?" },
                { type: "image_url", image_url: { url: "data:image/png;base64,AAAA", detail: "low" } },
              ],
            },
          ],
        });
        expect(choices[0]?.message.content).toContain("What is in this picture?");
        expect(choices[0]?.message.content).toContain("2 messages and 1 image");
      });
    });

    describe("structured output", () => {
      const request = {
        model: "embedded-chat",
        messages: [{ role: "user", content: 'A recipe for "Pancakes", please.' }] as ChatCompletionMessageParam[],
      };
      const response_format = zodResponseFormat(Recipe, "recipe");

      test("is parsed to the type of a zod schema", async () => {
        const { choices } = await client.chat.completions.parse({ ...request, response_format });
        const parsed = choices[0]?.message.parsed ?? expect.fail("nothing parsed");
        expect(Recipe.parse(parsed)).toEqual(parsed);
        expect(parsed.title).toBe("Pancakes");
        expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual(parsed);
      });

      test("is parsed as it comes, and whole at the end", async () => {
        const stream = client.chat.completions.stream({ ...request, response_format });
        const partial: unknown[] = [];
        stream.on("content.delta", ({ parsed }) => partial.push(parsed));
        const { choices } = await stream.finalChatCompletion();
        const whole = await client.chat.completions.parse({ ...request, response_format });
        expect(choices[0]?.message.parsed).toEqual(whole.choices[0]?.message.parsed);
        expect(partial.length).toBeGreaterThan(5);
        expect(partial.at(-1)).toEqual(choices[0]?.message.parsed);
      });

      test("that is cut off is an error of the SDK's own", async () => {
        const cut = client.chat.completions.parse({ ...request, response_format, max_completion_tokens: 4 });
        await expect(cut).rejects.toThrow(LengthFinishReasonError);
      });

      test("fits a JSON Schema written by hand", async () => {
        const schema = {
          type: "object",
          properties: { answer: { type: "integer", minimum: 40, maximum: 45 }, why: { type: "string" } },
          required: ["answer", "why"],
        };
        const { choices } = await client.chat.completions.create({
          ...request,
          response_format: { type: "json_schema", json_schema: { name: "answer", schema, strict: true } },
        });
        expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({
          answer: expect.toSatisfy((n: number) => Number.isInteger(n) && n >= 40 && n <= 45),
          why: "Pancakes",
        });
      });

      test("is some object where any will do", async () => {
        const { choices } = await client.chat.completions.create({
          ...request,
          response_format: { type: "json_object" },
        });
        expect(JSON.parse(choices[0]?.message.content ?? "")).toEqual({ answer: expect.any(String) });
      });
    });

    describe("tools", () => {
      const question: ChatCompletionMessageParam = {
        role: "user",
        content: "Use get_weather: how warm is it in Oslo?",
      };

      test("are called step by step, by hand", async () => {
        const messages: ChatCompletionMessageParam[] = [question];
        const first = await client.chat.completions.create({ model: "embedded-chat", messages, tools: [weather] });
        const choice = first.choices[0] ?? expect.fail("no choice");
        expect(choice).toMatchObject({ finish_reason: "tool_calls", message: { role: "assistant", content: null } });
        const [call] = functionCalls(first);
        expect(call).toMatchObject({
          type: "function",
          id: expect.stringMatching(/^call_/),
          function: { name: "get_weather" },
        });
        expect(JSON.parse(call?.function.arguments ?? "")).toEqual({ city: "Oslo" });
        messages.push(choice.message, { role: "tool", tool_call_id: call?.id ?? "", content: "4 degrees" });
        const second = await client.chat.completions.create({ model: "embedded-chat", messages, tools: [weather] });
        expect(second.choices[0]).toMatchObject({ finish_reason: "stop" });
        expect(second.choices[0]?.message.content).toContain("The tool get_weather returned: 4 degrees");
        expect(functionCalls(second)).toEqual([]);
      });

      for (const stream of [false, true]) {
        test(`are run by the SDK's runner, ${stream ? "streamed" : "whole"}`, async () => {
          const asked: unknown[] = [];
          const tools = [
            zodFunction({
              name: "get_weather",
              parameters: z.object({ city: z.string() }),
              function: (args) => {
                asked.push(args);
                return { degrees: 4 };
              },
            }),
          ];
          const request = { model: "embedded-chat", messages: [question], tools };
          const runner = stream
            ? client.chat.completions.runTools({ ...request, stream: true })
            : client.chat.completions.runTools(request);
          expect(await runner.finalContent()).toContain('The tool get_weather returned: {"degrees":4}');
          expect(asked).toEqual([{ city: "Oslo" }]);
          expect(runner.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
          expect((await runner.totalUsage()).total_tokens).toBeGreaterThan(stream ? -1 : 20);
        });
      }

      test("are called together, in the order of the text, or one at a time", async () => {
        const request = {
          model: "embedded-chat",
          messages: [
            { role: "user", content: "Call get_time and then get_weather for Oslo" },
          ] as ChatCompletionMessageParam[],
          tools: [weather, time],
        };
        const calls = functionCalls(await client.chat.completions.create(request));
        expect(calls.map((call) => call.function.name)).toEqual(["get_time", "get_weather"]);
        expect(new Set(calls.map(({ id }) => id)).size).toBe(2);
        expect(JSON.parse(calls[0]?.function.arguments ?? "")).toEqual({ zone: "UTC", seconds: expect.any(Boolean) });
        const single = await client.chat.completions.create({ ...request, parallel_tool_calls: false });
        expect(functionCalls(single).map((call) => call.function.name)).toEqual(["get_time"]);
      });

      test("are called in pieces on a stream, and by the helper's events", async () => {
        const request = {
          model: "embedded-chat",
          messages: [
            { role: "user", content: "Call get_weather and get_time, for Oslo" },
          ] as ChatCompletionMessageParam[],
          tools: [weather, time],
        };
        const whole = functionCalls(await client.chat.completions.create(request));
        const expected = whole.map(({ id, type, function: called }) => ({ id, type, ...called }));
        const chunks = await Array.fromAsync(await client.chat.completions.create({ ...request, stream: true }));
        expect(assembled(chunks)).toEqual({
          role: "assistant",
          content: "",
          calls: expected,
          finishes: ["tool_calls"],
        });
        const done: unknown[] = [];
        const stream = client.chat.completions
          .stream({ ...request, stream: true })
          .on("tool_calls.function.arguments.done", (event) => done.push([event.index, event.name, event.arguments]));
        expect((await stream.finalMessage()).tool_calls).toMatchObject(whole);
        expect(done).toEqual(expected.map(({ name, arguments: text }, i) => [i, name, text]));
      });

      test("are demanded, named, narrowed and forbidden", async () => {
        const request = { ...say("hello"), tools: [weather, time] };
        const called = async (tool_choice: NonNullable<ChatCompletionCreateParamsNonStreaming["tool_choice"]>) =>
          functionCalls(await client.chat.completions.create({ ...request, tool_choice })).map(
            (call) => call.function.name,
          );
        expect(await called("auto")).toEqual([]);
        expect(await called("none")).toEqual([]);
        expect(await called("required")).toEqual(["get_weather"]);
        expect(await called({ type: "function", function: { name: "get_time" } })).toEqual(["get_time"]);
        const tools = [{ type: "function", function: { name: "get_time" } }];
        expect(await called({ type: "allowed_tools", allowed_tools: { mode: "required", tools } })).toEqual([
          "get_time",
        ]);
      });

      test("that take free text get it", async () => {
        const { choices } = await client.chat.completions.create({
          ...say("x = 1"),
          tools: [{ type: "custom", custom: { name: "run_code" } }],
          tool_choice: { type: "custom", custom: { name: "run_code" } },
        });
        expect(choices[0]?.message.tool_calls).toMatchObject([
          { type: "custom", custom: { name: "run_code", input: "say: x = 1" } },
        ]);
      });
    });

    describe("a caller who leaves", () => {
      /** The call behind this one has ended, too, long before its answer would have. */
      async function hasEnded(before: number, request_id: string | null) {
        await eventually(() => {
          expect(callsOf(gatewayAt()).map((call) => call.request_id)).toContain(request_id);
          expect(callsOf(gateways.near).length).toBeGreaterThan(before);
        });
        const { choices } = await client.chat.completions.create(say("still here"), oneTry);
        expect(choices[0]?.message.content).toBe("still here");
      }

      test("by aborting a stream ends it without an error, and its work upstream", async () => {
        const before = callsOf(gateways.near).length;
        const { data: stream, request_id } = await client.chat.completions.create(endless, oneTry).withResponse();
        let chunks = 0;
        for await (const _ of stream) if (++chunks === 2) stream.controller.abort();
        expect(chunks).toBeLessThan(5);
        await hasEnded(before, request_id);
      });

      test("by breaking out of the loop ends the work upstream", async () => {
        const before = callsOf(gateways.near).length;
        const { data: stream, request_id } = await client.chat.completions.create(endless, oneTry).withResponse();
        for await (const chunk of stream) if (chunk.choices[0]?.delta.content) break;
        expect(stream.controller.signal.aborted).toBe(true);
        await hasEnded(before, request_id);
      });

      test("by aborting the helper is told so, and ends the work upstream", async () => {
        const before = callsOf(gateways.near).length;
        const stream = client.chat.completions.stream({ ...endless }, oneTry);
        stream.on("content", () => stream.abort());
        expect(await thrown(stream.finalChatCompletion())).toBeInstanceOf(APIUserAbortError);
        await eventually(() => expect(callsOf(gateways.near).length).toBeGreaterThan(before));
      });

      test("for lack of patience is told so, and ends the work upstream", async () => {
        const before = callsOf(gateways.near).length;
        const silent = client.chat.completions.create(say("", { simulate_silence: "true" }), {
          ...oneTry,
          timeout: 1000,
        });
        expect(await thrown(silent)).toBeInstanceOf(APIConnectionTimeoutError);
        await eventually(() => expect(callsOf(gateways.near)[before]).toMatchObject({ reason: "CANCELLED" }));
      });
    });

    describe("errors", () => {
      const failing = (status: number) =>
        client.chat.completions.create(say("", { simulate_status: String(status) }), oneTry);
      const unchecked = (body: object) => client.chat.completions.create(body as never, oneTry);

      interface Case {
        readonly work: () => PromiseLike<unknown>;
        readonly type: abstract new (...args: never[]) => APIError;
        readonly told: Pick<APIError, "status" | "code" | "type" | "param">;
      }
      const simulated = { code: "simulated", param: null };
      const invalid = { type: "invalid_request_error" };
      const cases: Readonly<Record<string, Case>> = {
        "a conversation without messages is a bad request": {
          work: () => unchecked({ model: "embedded-chat", messages: [] }),
          type: BadRequestError,
          told: { status: 400, ...invalid, code: "invalid_value", param: "messages" },
        },
        "a missing model is a bad request": {
          work: () => unchecked({ messages: [{ role: "user", content: "hi" }] }),
          type: BadRequestError,
          told: { status: 400, ...invalid, code: "missing_required_parameter", param: "model" },
        },
        "a missing role is a bad request": {
          work: () =>
            unchecked({ model: "embedded-chat", messages: [{ role: "user", content: "hi" }, { content: "hi" }] }),
          type: BadRequestError,
          told: { status: 400, ...invalid, code: "missing_required_parameter", param: "messages[1].role" },
        },
        "a wrong type is a bad request": {
          work: () => unchecked({ ...say("hi"), temperature: "hot" }),
          type: BadRequestError,
          told: { status: 400, ...invalid, code: "invalid_type", param: "temperature" },
        },
        "a value out of its bounds is a bad request, on a stream too": {
          work: () => unchecked({ ...say("hi"), stream: true, top_p: 2 }),
          type: BadRequestError,
          told: { status: 400, ...invalid, code: "invalid_value", param: "top_p" },
        },
        "what the upstream refuses is a bad request": {
          work: () => failing(400),
          type: BadRequestError,
          told: { status: 400, ...invalid, ...simulated },
        },
        "a wrong key is an authentication error": {
          work: () => client.withOptions({ apiKey: "sk-wrong" }).chat.completions.create(say("hi"), oneTry),
          type: AuthenticationError,
          told: { status: 401, ...invalid, code: "invalid_api_key", param: null },
        },
        "an unknown model is not found": {
          work: () => unchecked({ ...say("hi"), model: "vendor/nothing:latest" }),
          type: NotFoundError,
          told: { status: 404, ...invalid, code: "model_not_found", param: "model" },
        },
        "an unknown path is not found": {
          work: () => client.get("/_stainless_unknown_path", oneTry),
          type: NotFoundError,
          told: { status: 404, ...invalid, code: "unknown_url", param: null },
        },
        "a path with another method is an error that says so": {
          work: () => client.get("/chat/completions", oneTry),
          type: APIError,
          told: { status: 405, ...invalid, code: "method_not_supported", param: null },
        },
        "a conflict is one": {
          work: () => failing(409),
          type: ConflictError,
          told: { status: 409, ...invalid, ...simulated },
        },
        "an entity that cannot be processed is one": {
          work: () => failing(422),
          type: UnprocessableEntityError,
          told: { status: 422, ...invalid, ...simulated },
        },
        "a rate limit is one": {
          work: () => failing(429),
          type: RateLimitError,
          told: { status: 429, type: "rate_limit_error", ...simulated },
        },
        "a broken upstream is a server error": {
          work: () => failing(502),
          type: InternalServerError,
          told: { status: 502, type: "server_error", ...simulated },
        },
        "an overloaded upstream is a server error": {
          work: () => failing(503),
          type: InternalServerError,
          told: { status: 503, type: "server_error", ...simulated },
        },
        "a whole answer that broke is a server error": {
          work: () => client.chat.completions.create(say(sentence, { simulate_break_after: "3" }), oneTry),
          type: InternalServerError,
          told: { status: 502, type: "server_error", code: "upstream_error", param: null },
        },
      };
      for (const [name, { work, type, told }] of Object.entries(cases)) {
        test(name, async () => {
          const error = await thrown(work());
          expect(error).toBeInstanceOf(type);
          expect(error).toMatchObject(told);
          expect(error.requestID).toMatch(/^req_[0-9a-z]{25}$/);
          expect(error.requestID).toBe(error.headers?.get("x-request-id"));
          expect(error.message).toMatch(new RegExp(`^${told.status} \\S`));
        });
      }

      test("a permission denied is the caller's where the model denies it, and none of the caller's business upstream", async () => {
        const error = await thrown(failing(403));
        if (gatewayAt() === gateways.near) expect(error).toBeInstanceOf(PermissionDeniedError);
        else expect(error).toMatchObject({ status: 502, code: "upstream_error", type: "server_error" });
      });

      test("a stream that breaks is an error after its pieces", async () => {
        const broken = say(sentence, { simulate_break_after: "3" });
        const { data, request_id } = await client.chat.completions
          .create({ ...broken, stream: true }, oneTry)
          .withResponse();
        const chunks: ChatCompletionChunk[] = [];
        const reading = (async () => {
          for await (const chunk of data) chunks.push(chunk);
        })();
        const error = await thrown(reading);
        expect(error).toMatchObject({
          status: undefined,
          code: "502",
          type: "server_error",
          param: null,
          requestID: request_id,
        });
        expect(error.message).toContain("failed");
        expect(assembled(chunks)).toMatchObject({ content: "The quick brown", finishes: [] });
        const helper = client.chat.completions.stream({ ...broken, stream: true }, oneTry);
        expect(await thrown(helper.finalChatCompletion())).toMatchObject({ code: "502", type: "server_error" });
      });

      test("a stream that fails before its first piece has a status of its own", async () => {
        const error = await thrown(
          client.chat.completions.create({ ...say("", { simulate_status: "429" }), stream: true }, oneTry),
        );
        expect(error).toBeInstanceOf(RateLimitError);
        expect(error.headers?.get("retry-after")).toBe("1");
      });
    });

    describe("retries", () => {
      test("a rate limit after the time that the answer tells", async () => {
        const before = callsOf(gatewayAt()).length;
        const begun = performance.now();
        const error = await thrown(
          client.chat.completions.create(say("", { simulate_status: "429" }), { maxRetries: 1 }),
        );
        expect(performance.now() - begun).toBeGreaterThan(990);
        expect(error).toBeInstanceOf(RateLimitError);
        expect(error.headers?.get("retry-after")).toBe("1");
        expect(
          callsOf(gatewayAt())
            .slice(before)
            .map(({ status }) => status),
        ).toEqual([429, 429]);
      });

      test("nothing that would fail again", async () => {
        const before = callsOf(gatewayAt()).length;
        await thrown(client.chat.completions.create(say("", { simulate_status: "400" })));
        await thrown(client.chat.completions.create({ ...say(""), model: "nothing" }));
        expect(
          callsOf(gatewayAt())
            .slice(before)
            .map(({ status }) => status),
        ).toEqual([400, 404]);
      });
    });
  });
}

describe("the OpenAI SDK over an upstream that never answers", () => {
  test("aborts a call in flight, and the upstream's connection goes with it", async () => {
    const requests: IncomingMessage[] = [];
    const upstream = createServer((req) => requests.push(req)).listen(0, "127.0.0.1");
    await once(upstream, "listening");
    const gateway = await startTestGateway(
      upstreamAt(`http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`),
    );
    const leaving = new AbortController();
    const call = clientOf(gateway).chat.completions.create(say("hi"), { signal: leaving.signal });
    const [req] = (await once(upstream, "request")) as [IncomingMessage];
    expect(JSON.parse(await text(req))).toMatchObject({ model: "embedded-chat" });
    const closed = once(req.socket, "close");
    leaving.abort();
    expect(await thrown(call)).toBeInstanceOf(APIUserAbortError);
    await closed;
    expect(requests.length).toBe(1);
    await gateway.close();
    upstream.close();
  });
});
