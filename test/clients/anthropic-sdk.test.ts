/**
 * The official Anthropic SDK, unmodified: only its base URL and key are set. Over the embedded model, and over another
 * gateway as upstream, of its own family and of the other.
 */
import Anthropic, {
  APIConnectionTimeoutError,
  APIError,
  APIUserAbortError,
  AuthenticationError,
  BadRequestError,
  ConflictError,
  ContentTooLargeError,
  InternalServerError,
  NotFoundError,
  OverloadedError,
  PaymentRequiredError,
  PermissionDeniedError,
  RateLimitError,
} from "@anthropic-ai/sdk";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { jsonSchemaOutputFormat } from "@anthropic-ai/sdk/helpers/json-schema";
import { zodOutputFormat } from "@anthropic-ai/sdk/helpers/zod";
import type {
  ContentBlock,
  Message,
  MessageCountTokensParams,
  MessageCreateParamsNonStreaming,
  MessageParam,
  RawMessageStreamEvent,
  Tool,
  ToolUseBlock,
} from "@anthropic-ai/sdk/resources/messages";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { nearAndFar } from "../support/clients/near-and-far.ts";
import { callsOf, oneTry, pixel, Recipe, sentence, thrownBy } from "../support/clients/sdk.ts";
import { eventually } from "../support/eventually.ts";
import { anthropicUpstreamAt, startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { eventStream, type ScriptedUpstream, startScriptedUpstream } from "../support/scripted-upstream.ts";

const gateways = nearAndFar();
/** Responses know no stop texts, and are told of each tool whether it is strict: that is some tokens more. */
/** listed is what is told where a model is not found. */
const listed = "`GET /v1/models` lists those that you may call.";

const overResponses = "an upstream that is asked for responses";

const clientOf = ({ rootUrl, apiKey }: TestGateway) => new Anthropic({ baseURL: rootUrl, apiKey });

/** A request that says what to answer. */
function say(content: string, metadata: Record<string, string> = {}): MessageCreateParamsNonStreaming {
  return {
    model: "embedded-chat",
    max_tokens: 1024,
    messages: [{ role: "user", content: `say: ${content}` }],
    metadata,
  };
}

/** A request with these messages. */
function ask(messages: MessageParam[] | string): MessageCreateParamsNonStreaming {
  const given: MessageParam[] = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
  return { model: "embedded-chat", max_tokens: 1024, messages: given };
}

/** A stream that does not end by itself while a test runs. */
const endless = { ...say("tick ".repeat(1000), { simulate_token_delay_ms: "500" }), stream: true } as const;

/** What a call used may have to be counted first, by a thread that begins with it. */
const picture = { type: "image", source: { type: "base64", media_type: "image/png", data: pixel } } as const;
const cached = { type: "ephemeral" } as const;

const weather: Tool = {
  name: "get_weather",
  description: "Tells the weather of a city.",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const time: Tool = {
  name: "get_time",
  strict: true,
  input_schema: {
    type: "object",
    properties: { zone: { type: "string", enum: ["UTC", "CET"] }, seconds: { type: "boolean" } },
    required: ["zone", "seconds"],
    additionalProperties: false,
  },
};

const textOf = ({ content }: { content: readonly { type: string }[] }) =>
  content.map((block) => (block.type === "text" ? (block as { text?: string }).text : "")).join("");
const usesIn = ({ content }: Message) => content.filter((block): block is ToolUseBlock => block.type === "tool_use");

/** Puts the events of a stream together as a client would by hand, and holds their order to the API's. */
function assembled(events: readonly RawMessageStreamEvent[]) {
  const blocks: { type: string; text: string }[] = [];
  let stop: string | null | undefined;
  let open = false;
  expect(events[0]?.type).toBe("message_start");
  expect(events.at(-1)?.type).toBe("message_stop");
  expect(events.at(-2)?.type).toBe("message_delta");
  for (const event of events.slice(1, -1)) {
    if (event.type === "content_block_start") {
      expect([open, event.index]).toEqual([false, blocks.length]);
      blocks.push({ type: event.content_block.type, text: "" });
      open = true;
    } else if (event.type === "content_block_delta") {
      expect([open, event.index]).toEqual([true, blocks.length - 1]);
      const block = blocks.at(-1) ?? expect.fail("no block is open");
      if (event.delta.type === "text_delta") block.text += event.delta.text;
      if (event.delta.type === "input_json_delta") block.text += event.delta.partial_json;
    } else if (event.type === "content_block_stop") {
      expect([open, event.index]).toEqual([true, blocks.length - 1]);
      open = false;
    } else if (event.type === "message_delta") stop = event.delta.stop_reason;
    else expect.fail(`an event out of place: ${event.type}`);
  }
  expect(open).toBe(false);
  return { blocks, stop };
}

/** Returns the error that the SDK throws. */
const thrown = (work: PromiseLike<unknown>) => thrownBy(work, (error): error is APIError => error instanceof APIError);

for (const [place, gatewayAt] of [
  ["the embedded model", () => gateways.near],
  ["an upstream of its own family", () => gateways.overMessages],
  ["an upstream of the other family", () => gateways.overChat],
  [overResponses, () => gateways.overResponses],
] as const) {
  describe(`the Anthropic SDK over ${place}`, () => {
    let client: Anthropic;

    beforeAll(() => {
      client = clientOf(gatewayAt());
    });

    describe("answers", () => {
      test("gets a whole one, with every key that its types promise, and the request id", async () => {
        const { data, response, request_id } = await client.messages.create(say(sentence)).withResponse();
        expect(data).toEqual({
          id: expect.stringMatching(/^msg_/),
          type: "message",
          role: "assistant",
          model: "embedded-chat",
          content: [{ type: "text", text: sentence, citations: [] }],
          stop_reason: "end_turn",
          stop_sequence: null,
          stop_details: null,
          container: null,
          diagnostics: null,
          usage: {
            input_tokens: expect.any(Number),
            output_tokens: expect.any(Number),
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
            cache_creation: null,
            output_tokens_details: { thinking_tokens: 0 },
            server_tool_use: null,
            service_tier: "standard",
            speed: null,
            inference_geo: null,
          },
        });
        expect(data.usage.input_tokens).toBeGreaterThan(8);
        expect(data.usage.output_tokens).toBeGreaterThan(8);
        expect(response.headers.get("content-type")).toBe("application/json");
        expect(request_id).toMatch(/^req_[0-9a-z]{25}$/);
        expect(response.headers.get("request-id")).toBe(request_id);
        expect((data as { _request_id?: string })._request_id).toBe(request_id);
      });

      test("gets one in events, in the order that the API keeps", async () => {
        const whole = await client.messages.create(say(sentence));
        const { data, response, request_id } = await client.messages
          .create({ ...say(sentence), stream: true })
          .withResponse();
        expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
        expect(request_id).toMatch(/^req_/);
        const events = await Array.fromAsync(data);
        expect(events.length).toBeGreaterThan(12);
        expect(assembled(events)).toEqual({ blocks: [{ type: "text", text: sentence }], stop: "end_turn" });
        const [start] = events;
        expect(start).toMatchObject({
          message: { type: "message", role: "assistant", model: "embedded-chat", content: [], stop_reason: null },
        });
        expect(events.at(-2)).toMatchObject({
          usage: { input_tokens: whole.usage.input_tokens, output_tokens: whole.usage.output_tokens },
        });
      });

      test("follows a stream by its helper, to the same message as the whole answer", async () => {
        const whole = await client.messages.create(say(sentence));
        const stream = client.messages.stream(say(sentence));
        const seen: string[] = [];
        let last = "";
        stream
          .on("connect", () => seen.push("connect"))
          .on("text", (delta, snapshot) => {
            last += delta;
            expect(snapshot).toBe(last);
          })
          .on("contentBlock", ({ type }) => seen.push(`contentBlock ${type}`))
          .on("message", ({ role }) => seen.push(`message ${role}`))
          .on("finalMessage", ({ stop_reason }) => seen.push(`finalMessage ${stop_reason}`))
          .on("end", () => seen.push("end"));
        expect(await stream.finalMessage()).toMatchObject({ ...whole, id: expect.stringMatching(/^msg_/) });
        expect(await stream.finalText()).toBe(sentence);
        await stream.done();
        expect(stream.request_id).toMatch(/^req_/);
        expect(last).toBe(sentence);
        expect(seen).toEqual(["connect", "contentBlock text", "message assistant", "finalMessage end_turn", "end"]);
      });

      if (place !== overResponses)
        test("is stopped at the first of several texts", async () => {
          const stopped = async (stop_sequences: string[]) =>
            textOf(await client.messages.create({ ...say("one two three four"), stop_sequences }));
          expect(await stopped([" three"])).toBe("one two");
          expect(await stopped(["three", " two"])).toBe("one");
          expect(await stopped(["nowhere"])).toBe("one two three four");
          expect(await stopped([])).toBe("one two three four");
        });

      test("is cut at the bound it sets, whole and streamed", async () => {
        const request = { ...say(sentence), max_tokens: 3 };
        const cut = await client.messages.create(request);
        expect(cut).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 3 } });
        expect(textOf(cut)).toBe("The quick brown");
        const final = await client.messages.stream(request).finalMessage();
        expect(final).toMatchObject({ stop_reason: "max_tokens", usage: { output_tokens: 3 } });
        expect(textOf(final)).toBe("The quick brown");
      });

      test("asks for more than the model can say, and gets what it can", async () => {
        const stream = client.messages.stream({ ...say("much"), max_tokens: 128_000 });
        expect(await stream.finalText()).toBe("much");
      });

      test("reads blocks, pictures among them, and instructions as blocks with cache marks", async () => {
        const answer = await client.messages.create({
          ...ask([
            {
              role: "user",
              content: [
                { type: "text", text: "What is in these pictures?" },
                picture,
                { type: "image", source: { type: "url", url: "https://example.com/a.png" }, cache_control: cached },
              ],
            },
          ]),
          system: [
            { type: "text", text: "Be brief.", cache_control: cached },
            { type: "text", text: "Be kind.", cache_control: { type: "ephemeral", ttl: "1h" } },
          ],
        });
        expect(textOf(answer)).toContain("What is in these pictures?");
        expect(textOf(answer)).toContain("2 messages and 2 images");
        expect(textOf(answer)).toContain("19 characters");
      });

      test("gives instructions as one text, and in the middle of the conversation", async () => {
        const answer = await client.messages.create({
          ...ask([
            { role: "user", content: "Hello" },
            { role: "assistant", content: "Hello to you" },
            { role: "user", content: "How are you?" },
            { role: "system", content: "Be brief." },
          ]),
          system: "Be kind.",
        });
        // A model of the Messages API that is not known to take them there is told them by the user.
        const isOfUser = place === "an upstream of its own family";
        const reminder = "\n<system-reminder>\nBe brief.\n</system-reminder>";
        expect(textOf(answer)).toContain(`says: "How are you?${isOfUser ? reminder : ""}"`);
        // A server of which nobody knows where it takes them is given all of them first.
        const isFolded = place === "an upstream of the other family";
        expect(textOf(answer)).toContain(isFolded || isOfUser ? "4 messages" : "5 messages");
        expect(textOf(answer)).toContain(isFolded ? "19 characters" : "8 characters");
      });

      test("lets a model think that cannot, in every way there is to ask for it", async () => {
        const ways: Partial<MessageCreateParamsNonStreaming>[] = [
          { thinking: { type: "adaptive" } },
          { thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "high" } },
          { thinking: { type: "enabled", budget_tokens: 1024 }, max_tokens: 4096 },
          { thinking: { type: "disabled" } },
        ];
        for (const way of ways) {
          const answer = await client.messages.create({ ...say("thought"), ...way });
          expect(textOf(answer), JSON.stringify(way)).toBe("thought");
          expect(await client.messages.stream({ ...say("thought"), ...way }).finalText()).toBe("thought");
        }
      });
    });

    describe("structured output", () => {
      const request = ask('A recipe for "Pancakes", please.');

      test("is parsed to the type of a zod schema", async () => {
        const { parsed_output } = await client.messages.parse({
          ...request,
          output_config: { format: zodOutputFormat(Recipe) },
        });
        expect(Recipe.parse(parsed_output)).toEqual(parsed_output);
        expect(parsed_output?.title).toBe("Pancakes");
      });

      test("is parsed at the end of a stream", async () => {
        const format = zodOutputFormat(Recipe);
        const whole = await client.messages.parse({ ...request, output_config: { format } });
        const final = await client.messages.stream({ ...request, output_config: { format } }).finalMessage();
        expect(final.parsed_output).toEqual(whole.parsed_output);
      });

      test("fits a JSON Schema written by hand", async () => {
        const format = jsonSchemaOutputFormat({
          type: "object",
          properties: { answer: { type: "integer", minimum: 40, maximum: 45 }, why: { type: "string" } },
          required: ["answer", "why"],
          additionalProperties: false,
        });
        const { parsed_output } = await client.messages.parse({ ...request, output_config: { format } });
        expect(parsed_output).toEqual({ answer: expect.any(Number), why: "Pancakes" });
      });
    });

    describe("tools", () => {
      const question: MessageParam = { role: "user", content: "Use get_weather: how warm is it in Oslo?" };

      test("are called step by step, by hand", async () => {
        const request = { ...ask([question]), tools: [weather] };
        const first = await client.messages.create(request);
        expect(first.stop_reason).toBe("tool_use");
        const [use] = usesIn(first);
        expect(use).toMatchObject({ name: "get_weather", input: { city: "Oslo" }, caller: { type: "direct" } });
        expect(use?.id).toMatch(/^[A-Za-z0-9_-]+$/);
        const second = await client.messages.create({
          ...request,
          messages: [
            question,
            { role: "assistant", content: first.content },
            { role: "user", content: [{ type: "tool_result", tool_use_id: use?.id ?? "", content: "4 degrees" }] },
          ],
        });
        expect(second.stop_reason).toBe("end_turn");
        expect(textOf(second)).toContain("The tool get_weather returned: 4 degrees");
      });

      test("give back blocks, failures and nothing at all", async () => {
        const request = { ...ask([]), tools: [weather] };
        const [use] = usesIn(await client.messages.create({ ...request, messages: [question] }));
        const answerTo = async (result: object) => {
          const content = [{ type: "tool_result" as const, tool_use_id: use?.id ?? "", ...result }];
          const called: ContentBlock[] = use ? [use] : [];
          return textOf(
            await client.messages.create({
              ...request,
              messages: [question, { role: "assistant", content: called }, { role: "user", content }],
            }),
          );
        };
        const texts = [
          { type: "text", text: "4 degrees" },
          { type: "text", text: "and rain", cache_control: cached },
        ];
        expect(await answerTo({ content: texts })).toContain("returned: 4 degrees\nand rain");
        expect(await answerTo({ content: "no such city", is_error: true })).toContain("no such city");
        expect(await answerTo({})).toContain("returned: (nothing)");
      });

      test("give back pictures, and the model sees them", async () => {
        const [use] = usesIn(await client.messages.create({ ...ask([question]), tools: [weather] }));
        const result = { type: "tool_result", tool_use_id: use?.id ?? "" } as const;
        const answer = await client.messages.create({
          ...ask([
            question,
            { role: "assistant", content: use ? [use] : [] },
            {
              role: "user",
              content: [
                { ...result, content: [{ type: "text", text: "A radar picture" }, picture] },
                { type: "text", text: "What does it show?" },
              ],
            },
          ]),
          tools: [weather],
        });
        expect(textOf(answer)).toContain("What does it show?");
        expect(textOf(answer)).toContain("1 image");
      });

      test("are called together, in the order of the text, or one at a time", async () => {
        const request = { ...ask("Call get_time and then get_weather for Oslo"), tools: [weather, time] };
        const uses = usesIn(await client.messages.create(request));
        expect(uses.map(({ name }) => name)).toEqual(["get_time", "get_weather"]);
        expect(new Set(uses.map(({ id }) => id)).size).toBe(2);
        expect(uses[0]?.input).toEqual({ zone: "UTC", seconds: expect.any(Boolean) });
        const single = await client.messages.create({
          ...request,
          tool_choice: { type: "auto", disable_parallel_tool_use: true },
        });
        expect(usesIn(single).map(({ name }) => name)).toEqual(["get_time"]);
      });

      test("answer in any order when they were called together", async () => {
        const request = { ...ask("Call get_time and then get_weather for Oslo"), tools: [weather, time] };
        const first = await client.messages.create(request);
        const results = usesIn(first).map(({ id, name }) => ({
          type: "tool_result" as const,
          tool_use_id: id,
          content: `result of ${name}`,
        }));
        const second = await client.messages.create({
          ...request,
          messages: [
            ...request.messages,
            { role: "assistant", content: first.content },
            { role: "user", content: results.reverse() },
          ],
        });
        expect(textOf(second)).toContain("The tool get_weather returned: result of get_weather");
        expect(textOf(second)).toContain("The tool get_time returned: result of get_time");
      });

      test("are called in pieces on a stream, and by the helper's events", async () => {
        const request = { ...ask("Call get_weather and get_time, for Oslo"), tools: [weather, time] };
        const whole = usesIn(await client.messages.create(request));
        const { blocks, stop } = assembled(
          await Array.fromAsync(await client.messages.create({ ...request, stream: true })),
        );
        expect(stop).toBe("tool_use");
        expect(blocks.map(({ type, text }) => [type, JSON.parse(text)])).toEqual(
          whole.map(({ input }) => ["tool_use", input]),
        );
        let pieces = "";
        const stream = client.messages.stream(request).on("inputJson", (piece) => (pieces += piece));
        expect(usesIn(await stream.finalMessage())).toMatchObject(
          whole.map(({ name, input }) => ({ type: "tool_use", name, input })),
        );
        expect(pieces).toBe(whole.map(({ input }) => JSON.stringify(input)).join(""));
      });

      test("are demanded, named and forbidden", async () => {
        const request = { ...say("hello"), tools: [weather, time] };
        const called = async (tool_choice: MessageCreateParamsNonStreaming["tool_choice"]) =>
          usesIn(await client.messages.create({ ...request, ...(tool_choice ? { tool_choice } : {}) })).map(
            ({ name }) => name,
          );
        expect(await called(undefined)).toEqual([]);
        expect(await called({ type: "auto" })).toEqual([]);
        expect(await called({ type: "none" })).toEqual([]);
        expect(await called({ type: "any" })).toEqual(["get_weather"]);
        expect(await called({ type: "tool", name: "get_time" })).toEqual(["get_time"]);
      });

      test("keep a name that is longer than the other family's names may be", async () => {
        const name = `mcp__${"long_".repeat(20)}name`;
        const request = { ...ask("Oslo"), tools: [{ ...weather, name }], tool_choice: { type: "tool", name } as const };
        expect(usesIn(await client.messages.create(request))[0]?.name).toBe(name);
        expect(usesIn(await client.messages.stream(request).finalMessage())[0]?.name).toBe(name);
      });

      for (const stream of [false, true]) {
        test(`are run by the SDK's runner, ${stream ? "streamed" : "whole"}`, async () => {
          const asked: unknown[] = [];
          const tool = betaZodTool({
            name: "get_weather",
            description: "Tells the weather of a city.",
            inputSchema: z.object({ city: z.string() }),
            run: (args) => {
              asked.push(args);
              return [{ type: "text", text: "4 degrees" }];
            },
          });
          const runner = client.beta.messages.toolRunner({
            ...{ model: "embedded-chat", max_tokens: 1024, stream },
            messages: [{ role: "user", content: "Use get_weather: how warm is it in Oslo?" }],
            tools: [tool],
          });
          const final = await runner.runUntilDone();
          expect(textOf(final)).toContain("The tool get_weather returned: 4 degrees");
          expect(asked).toEqual([{ city: "Oslo" }]);
          expect(runner.params.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user", "assistant"]);
        });
      }
    });

    describe("a thread, which the gateway does not hold", () => {
      test("goes on turn by turn all the same, for the SDK sends it again whole", async () => {
        const thread = client.beta.messages.thread({ model: "embedded-chat", max_tokens: 1024, system: "Be kind." });
        for (const turn of [1, 2, 3]) {
          const reply = await thread.send({ role: "user", content: `Turn ${turn}` }, {}, oneTry);
          expect(textOf(reply)).toContain(`${2 * turn} messages`);
        }
        expect(thread.messages.length).toBe(6);
      });

      test("is not found where a request by hand goes on from it", async () => {
        const thread = { type: "continue", previous_message_id: "msg_1" };
        const error = await thrown(client.messages.create({ ...say("lost"), thread } as never, oneTry));
        expect(error).toBeInstanceOf(NotFoundError);
        expect(error).toMatchObject({ type: "not_found_error", errorCode: "thread_not_found" });
      });
    });

    describe("a client like Claude Code", () => {
      const tools: Tool[] = Array.from({ length: 40 }, (_, i) => ({
        name: `Tool${i}`,
        description: `Does thing ${i}. `.repeat(20),
        input_schema: {
          $schema: "https://json-schema.org/draft/2020-12/schema",
          type: "object",
          properties: { command: { type: "string" }, timeout: { type: "number" } },
          required: ["command"],
          additionalProperties: false,
        },
        ...(i === 39 ? { cache_control: cached } : {}),
      }));
      const request = {
        model: "embedded-chat",
        max_tokens: 32_000,
        system: [
          { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.0; cc_entrypoint=cli; cch=00000;" },
          { type: "text", text: "You are a careful engineer.", cache_control: cached },
          { type: "text", text: "Here is the environment.", cache_control: { type: "ephemeral", ttl: "1h" } },
        ],
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text: "<system-reminder>The date is known.</system-reminder>" },
              { type: "text", text: "Run Tool7 on ls", cache_control: cached },
            ],
          },
        ],
        tools,
        thinking: { type: "adaptive" },
        context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
        output_config: { effort: "medium" },
        metadata: { user_id: "user_0123456789abcdef_account__session_00000000-0000-0000-0000-000000000000" },
        betas: ["claude-code-20250219", "interleaved-thinking-2025-05-14", "context-management-2025-06-27"],
      } as const;
      const params = request as unknown as Parameters<typeof client.beta.messages.stream>[0];

      test("works for several steps, with `?beta=true`, betas and cache marks everywhere", async () => {
        const first = await client.beta.messages.stream(params).finalMessage();
        expect(first.stop_reason).toBe("tool_use");
        const [use] = first.content.filter((block) => block.type === "tool_use");
        expect(use).toMatchObject({ name: "Tool7" });
        const result = { type: "tool_result", tool_use_id: use?.id ?? "", cache_control: cached } as const;
        const second = await client.beta.messages
          .stream({
            ...params,
            messages: [
              ...params.messages,
              { role: "assistant", content: first.content },
              { role: "user", content: [{ ...result, content: [{ type: "text", text: "a.txt" }] }] },
            ],
          })
          .finalMessage();
        expect(textOf(second)).toContain("The tool Tool7 returned: a.txt");
        expect(second.stop_reason).toBe("end_turn");
        for (const { usage } of [first, second]) {
          expect(usage.input_tokens).toBeGreaterThan(1000);
          expect(usage.output_tokens).toBeGreaterThan(0);
        }
      });
    });

    describe("credentials and versions", () => {
      test("are taken as a bearer token, as an auth token and as `x-api-key`, under both versions", async () => {
        const { rootUrl: baseURL, apiKey } = gatewayAt();
        const old = { "x-api-key": apiKey, authorization: null };
        for (const version of ["2023-06-01", "2026-10-21"]) {
          const versioned = { "anthropic-version": version };
          for (const client of [
            new Anthropic({ baseURL, apiKey, defaultHeaders: versioned }),
            new Anthropic({ baseURL, apiKey: null, authToken: apiKey, defaultHeaders: versioned }),
            new Anthropic({ baseURL, apiKey: null, defaultHeaders: { ...versioned, ...old } }),
            new Anthropic({ baseURL, apiKey: "foreign", defaultHeaders: { ...versioned, "x-api-key": apiKey } }),
          ]) {
            expect(textOf(await client.messages.create(say("in")))).toBe("in");
          }
        }
      });
    });

    describe("counting tokens", () => {
      const request = {
        ...{ model: "embedded-chat", tools: [weather, time] },
        system: [{ type: "text", text: "Be brief.", cache_control: cached }],
        messages: [
          { role: "user", content: [{ type: "text", text: "What is in this picture?" }, picture] },
          { role: "assistant", content: "A pixel." },
          { role: "user", content: sentence },
        ],
      } satisfies MessageCountTokensParams;

      if (place !== overResponses)
        test("tells what the answer then says that it was asked with, without answering", async () => {
          const { input_tokens } = await client.messages.countTokens(request);
          const { usage } = await client.messages.create({ ...request, max_tokens: 10 });
          expect(input_tokens).toBe(usage.input_tokens);
        });

      test("is done at the beta address too, and is refused for a model that is not there", async () => {
        const { input_tokens } = await client.beta.messages.countTokens({
          ...request,
          betas: ["some-beta-2026-01-01"],
        });
        expect(input_tokens).toBeGreaterThan(20);
        const error = await thrown(client.messages.countTokens({ ...request, model: "vendor/nothing" }, oneTry));
        expect(error).toBeInstanceOf(NotFoundError);
        expect(error).toMatchObject({ type: "not_found_error", apiMessage: `model: vendor/nothing. ${listed}` });
      });
    });

    describe("models", () => {
      test("are listed page by page, with what the SDK knows of a model", async () => {
        const models = await Array.fromAsync(client.models.list({ limit: 1 }));
        expect(models.map(({ id }) => id)).toContain("embedded-chat");
        for (const model of models) {
          expect(model).toMatchObject({
            type: "model",
            display_name: expect.any(String),
            created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
            lifecycle: "active",
          });
        }
      });

      test("are told of one by one; an unknown one is not found", async () => {
        expect(await client.models.retrieve("embedded-chat")).toMatchObject({ id: "embedded-chat", type: "model" });
        const error = await thrown(client.models.retrieve("vendor/nothing:latest", {}, oneTry));
        expect(error).toBeInstanceOf(NotFoundError);
        expect(error).toMatchObject({ type: "not_found_error", apiMessage: `model: vendor/nothing:latest. ${listed}` });
      });
    });

    describe("a caller who leaves", () => {
      /** The call behind this one has ended, too, long before its answer would have. */
      async function hasEnded(before: number, request_id: string | null | undefined) {
        await eventually(() => {
          expect(callsOf(gatewayAt()).map((call) => call.request_id)).toContain(request_id);
          expect(callsOf(gateways.near).length).toBeGreaterThan(before);
        });
        expect(textOf(await client.messages.create(say("still here"), oneTry))).toBe("still here");
      }

      test("by aborting a stream ends it without an error, and its work upstream", async () => {
        const before = callsOf(gateways.near).length;
        const { data: stream, request_id } = await client.messages.create(endless, oneTry).withResponse();
        let events = 0;
        for await (const _ of stream) if (++events === 3) stream.controller.abort();
        expect(events).toBeLessThan(6);
        await hasEnded(before, request_id);
      });

      test("by breaking out of the loop ends the work upstream", async () => {
        const before = callsOf(gateways.near).length;
        const { data: stream, request_id } = await client.messages.create(endless, oneTry).withResponse();
        for await (const { type } of stream) if (type === "content_block_delta") break;
        expect(stream.controller.signal.aborted).toBe(true);
        await hasEnded(before, request_id);
      });

      test("by aborting the helper is told so, and ends the work upstream", async () => {
        const before = callsOf(gateways.near).length;
        const stream = client.messages.stream(endless, oneTry);
        stream.on("text", () => stream.abort());
        expect(await thrown(stream.finalMessage())).toBeInstanceOf(APIUserAbortError);
        await hasEnded(before, stream.request_id);
      });

      test("for lack of patience is told so, and ends the work upstream", async () => {
        const before = callsOf(gateways.near).length;
        const silent = client.messages.create(say("", { simulate_silence: "true" }), { ...oneTry, timeout: 500 });
        expect(await thrown(silent)).toBeInstanceOf(APIConnectionTimeoutError);
        await eventually(() => expect(callsOf(gateways.near)[before]).toMatchObject({ reason: "CANCELLED" }));
      });
    });

    describe("errors", () => {
      const failing = (status: number) => client.messages.create(say("", { simulate_status: String(status) }), oneTry);
      const unchecked = (body: object) => client.messages.create(body as never, oneTry);

      interface Case {
        readonly work: () => PromiseLike<unknown>;
        readonly type: abstract new (...args: never[]) => APIError;
        readonly told: Partial<Pick<APIError, "status" | "type" | "apiMessage">>;
      }
      const invalid = { status: 400, type: "invalid_request_error" } as const;
      const cases: Readonly<Record<string, Case>> = {
        "a wrong type is a bad request": {
          work: () => unchecked({ ...say("hi"), temperature: "hot" }),
          type: BadRequestError,
          told: invalid,
        },
        "a conversation without messages is a bad request": {
          work: () => unchecked({ ...say("hi"), messages: [] }),
          type: BadRequestError,
          told: invalid,
        },
        "a value out of its bounds is a bad request, on a stream too": {
          work: () => unchecked({ ...say("hi"), stream: true, top_p: 2 }),
          type: BadRequestError,
          told: invalid,
        },
        "what the model refuses is a bad request": {
          work: () => failing(400),
          type: BadRequestError,
          told: {
            ...invalid,
            apiMessage: "A simulated refusal with status 400, as metadata.simulate_status asks for.",
          },
        },
        "a wrong key is an authentication error": {
          work: () => client.withOptions({ apiKey: "sk-wrong" }).messages.create(say("hi"), oneTry),
          type: AuthenticationError,
          told: { status: 401, type: "authentication_error" },
        },
        "an unknown model is not found, by name": {
          work: () => unchecked({ ...say("hi"), model: "vendor/nothing:latest" }),
          type: NotFoundError,
          told: { status: 404, type: "not_found_error", apiMessage: `model: vendor/nothing:latest. ${listed}` },
        },
        "an unknown path is not found": {
          work: () => client.get("/v1/messages/_stainless_unknown_path", oneTry),
          type: NotFoundError,
          told: { status: 404, type: "not_found_error" },
        },
        "a path with another method is an error that says so": {
          work: () => client.get("/v1/messages", oneTry),
          type: APIError,
          told: { status: 405, type: "invalid_request_error" },
        },
        "a conflict is one": {
          work: () => failing(409),
          type: ConflictError,
          told: { status: 409, type: "conflict_error" as never },
        },
        "a request that is too large upstream is one": {
          work: () => failing(413),
          type: ContentTooLargeError,
          told: { status: 413, type: "request_too_large" as never },
        },
        "a rate limit is one": {
          work: () => failing(429),
          type: RateLimitError,
          told: { status: 429, type: "rate_limit_error" },
        },
        "a broken upstream is a server error": {
          work: () => failing(502),
          type: InternalServerError,
          told: { status: 502, type: "api_error" },
        },
        "an overloaded upstream is overloaded, by the vendor's own status": {
          work: () => failing(503),
          type: OverloadedError,
          told: { status: 529, type: "overloaded_error" },
        },
        "a whole answer that broke is a server error": {
          work: () => client.messages.create(say(sentence, { simulate_break_after: "3" }), oneTry),
          type: InternalServerError,
          told: { status: 502, type: "api_error" },
        },
      };
      for (const [name, { work, type, told }] of Object.entries(cases)) {
        test(name, async () => {
          const error = await thrown(work());
          expect(error).toBeInstanceOf(type);
          expect(error).toMatchObject(told);
          expect(error.requestID).toMatch(/^req_[0-9a-z]{25}$/);
          expect(error.requestID).toBe(error.headers?.get("request-id"));
          expect(error.error).toMatchObject({ type: "error", error: { message: expect.stringMatching(/\S/) } });
        });
      }

      test("a permission denied is the caller's where the model denies it, and none of the caller's business upstream", async () => {
        const error = await thrown(failing(403));
        if (gatewayAt() === gateways.near) expect(error).toBeInstanceOf(PermissionDeniedError);
        else expect(error).toMatchObject({ status: 502, type: "api_error" });
      });

      test("a demand for payment is the caller's where the model makes it, and none of the caller's business upstream", async () => {
        const error = await thrown(failing(402));
        if (gatewayAt() === gateways.near) expect(error).toBeInstanceOf(PaymentRequiredError);
        else expect(error).toMatchObject({ status: 502, type: "api_error" });
      });

      test("a stream that breaks is an error after its pieces", async () => {
        const broken = say(sentence, { simulate_break_after: "3" });
        const { data, request_id } = await client.messages.create({ ...broken, stream: true }, oneTry).withResponse();
        let text = "";
        const reading = (async () => {
          for await (const event of data) {
            if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
            expect(event.type).not.toBe("message_stop");
          }
        })();
        const error = await thrown(reading);
        expect(error).toMatchObject({ status: undefined, type: "api_error", requestID: request_id });
        expect(error.apiMessage).toContain("failed");
        expect(text).toBe("The quick brown");
        const helper = client.messages.stream(broken, oneTry);
        expect(await thrown(helper.finalMessage())).toMatchObject({ type: "api_error" });
      });

      test("a stream that fails before its first event has a status of its own", async () => {
        const error = await thrown(
          client.messages.create({ ...say("", { simulate_status: "429" }), stream: true }, oneTry),
        );
        expect(error).toBeInstanceOf(RateLimitError);
        expect(error.headers?.get("retry-after")).toBe("1");
      });
    });

    describe("retries", () => {
      test("a rate limit after the time that the answer tells", async () => {
        const before = callsOf(gatewayAt()).length;
        const begun = performance.now();
        const error = await thrown(client.messages.create(say("", { simulate_status: "429" }), { maxRetries: 1 }));
        expect(performance.now() - begun).toBeGreaterThan(990);
        expect(error).toBeInstanceOf(RateLimitError);
        const statuses = callsOf(gatewayAt())
          .slice(before)
          .map(({ status }) => status);
        expect(statuses).toEqual([429, 429]);
      });

      test("nothing that would fail again", async () => {
        const before = callsOf(gatewayAt()).length;
        await thrown(client.messages.create(say("", { simulate_status: "400" })));
        await thrown(client.messages.create({ ...say(""), model: "nothing" }));
        const statuses = callsOf(gatewayAt())
          .slice(before)
          .map(({ status }) => status);
        expect(statuses).toEqual([400, 404]);
      });
    });
  });
}

describe("the Anthropic SDK over an upstream that speaks its language", () => {
  let upstream: ScriptedUpstream;
  let gateway: TestGateway;
  let client: Anthropic;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    gateway = await startTestGateway(anthropicUpstreamAt(upstream.baseUrl));
    client = clientOf(gateway);
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  const usage = {
    ...{ input_tokens: 7, output_tokens: 3, cache_creation_input_tokens: 11, cache_read_input_tokens: 13 },
    ...{ cache_creation: { ephemeral_5m_input_tokens: 4, ephemeral_1h_input_tokens: 7 }, service_tier: "priority" },
  };
  const head = {
    ...{ id: "msg_vendor", type: "message", role: "assistant", model: "claude-x", content: [] as object[] },
    ...{ stop_reason: null as string | null, stop_sequence: null, usage },
  };
  const frames = (...events: readonly { type: string }[]) =>
    events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
  const problem = (type: string, message: string, details?: object) => ({
    ...{ type: "error", error: { type, message, ...(details ? { details } : {}) }, request_id: "req_vendor" },
  });

  test("hands on betas, version and every key that nobody knows, and keeps the caller's credential to itself", async () => {
    const answering = client.beta.messages.create(
      {
        ...{ model: "embedded-chat", max_tokens: 5, messages: [{ role: "user", content: "hi" }] },
        ...{ system: [{ type: "text", text: "x-anthropic-billing-header: a", cache_control: cached }] },
        betas: ["context-1m-2025-08-07", "never-heard-of-2030-01-01"],
        ...({ from_the_future: { a: [1, null] } } as object),
      },
      { headers: { "x-claude-code-session-id": "s" } },
    );
    const exchange = await upstream.next();
    expect(exchange.path).toBe("/v1/messages");
    expect(exchange.headers).toMatchObject({
      "anthropic-version": "2026-10-21",
      "anthropic-beta": "context-1m-2025-08-07,never-heard-of-2030-01-01",
      "x-api-key": "upstream-key",
    });
    expect(exchange.headers.authorization).toBeUndefined();
    expect(JSON.stringify(exchange.headers)).not.toContain(gateway.apiKey);
    expect(exchange.asked).toEqual({
      ...{ model: "embedded-chat", max_tokens: 5, messages: [{ role: "user", content: "hi" }] },
      ...{ system: [{ type: "text", text: "x-anthropic-billing-header: a", cache_control: cached }] },
      ...{ from_the_future: { a: [1, null] } },
    });
    const content = [{ type: "from_the_future", anything: { at: "all" } }];
    exchange.json(200, { ...head, content, stop_reason: "pause_turn" });
    expect(await answering).toMatchObject({ id: "msg_vendor", model: "claude-x", content, usage });
  });

  test("is told which sampling settings its version of the API has no more, or refused for them if it is strict", async () => {
    const sampling = { temperature: 0.5, top_p: 0.9, top_k: 3 } as object;
    for (const stream of [false, true]) {
      const answering = client.messages.create({ ...ask("hi"), ...sampling, stream }).withResponse();
      const exchange = await upstream.next();
      expect(Object.keys(exchange.asked)).not.toEqual(
        expect.arrayContaining([expect.stringMatching(/^(temperature|top_p|top_k)$/)]),
      );
      if (stream) {
        exchange.head(200, { ...eventStream, "x-gateway-dropped": "metadata" });
        exchange.end(frames({ type: "message_start", ...{ message: head } }, { type: "message_stop" }));
      } else exchange.json(200, head, { "x-gateway-dropped": "metadata" });
      const { response } = await answering;
      expect(response.headers.get("x-gateway-dropped")).toBe("temperature, top_p, top_k, metadata");
    }
    const before = upstream.received.length;
    const strict = { ...oneTry, headers: { "x-gateway-strict": "true" } };
    const error = await thrown(client.messages.create({ ...ask("hi"), ...sampling }, strict));
    expect(error).toMatchObject({ status: 400 });
    expect(error.message).toContain("'temperature', 'top_p', 'top_k'");
    expect(upstream.received.length).toBe(before);
  });

  test("has the older version where the caller has it, with its sampling settings", async () => {
    const old = new Anthropic({
      ...{ baseURL: gateway.rootUrl, apiKey: null },
      defaultHeaders: { "x-api-key": gateway.apiKey, authorization: null, "anthropic-version": "2023-06-01" },
    });
    const answering = old.messages.create({ ...ask("hi"), ...({ temperature: 0.5, top_k: 3 } as object) });
    const exchange = await upstream.next();
    expect(exchange.headers["anthropic-version"]).toBe("2023-06-01");
    expect(exchange.asked).toMatchObject({ temperature: 0.5, top_k: 3 });
    exchange.json(200, head);
    expect((await answering).id).toBe("msg_vendor");
  });

  test("gets thinking with its signature, citations, server tools and pings as the vendor sends them", async () => {
    const stream = client.messages.stream({ ...ask("think"), thinking: { type: "adaptive" } });
    const signatures: string[] = [];
    stream.on("signature", (signature) => signatures.push(signature));
    const citation = {
      ...{ type: "char_location", cited_text: "a", document_index: 0, document_title: null, file_id: null },
      ...{ start_char_index: 0, end_char_index: 1 },
    };
    const final = stream.finalMessage();
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    const at = (index: number, delta: object) => ({ type: "content_block_delta", index, delta });
    exchange.end(
      frames(
        { type: "message_start", ...{ message: head } },
        {
          type: "content_block_start",
          ...{ index: 0, content_block: { type: "thinking", thinking: "", signature: "" } },
        },
        at(0, { type: "thinking_delta", thinking: "Hm." }),
        { type: "ping" },
        at(0, { type: "signature_delta", signature: "c2lnbmVk" }),
        { type: "content_block_stop", ...{ index: 0 } },
        {
          type: "content_block_start",
          ...{ index: 1, content_block: { type: "redacted_thinking", data: "ZGF0YQ==" } },
        },
        { type: "content_block_stop", ...{ index: 1 } },
        {
          type: "content_block_start",
          ...{ index: 2, content_block: { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: {} } },
        },
        at(2, { type: "input_json_delta", partial_json: '{"query":' }),
        at(2, { type: "input_json_delta", partial_json: '"x"}' }),
        { type: "content_block_stop", ...{ index: 2 } },
        { type: "event_from_the_future", ...{ anything: 1 } },
        { type: "content_block_start", ...{ index: 3, content_block: { type: "text", text: "", citations: [] } } },
        at(3, { type: "citations_delta", citation }),
        at(3, { type: "text_delta", text: "Done 👋" }),
        { type: "content_block_stop", ...{ index: 3 } },
        {
          type: "message_delta",
          ...{ delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 40 } },
        },
        { type: "message_stop" },
      ),
    );
    expect(await final).toMatchObject({
      id: "msg_vendor",
      content: [
        { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" },
        { type: "redacted_thinking", data: "ZGF0YQ==" },
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "x" } },
        { type: "text", text: "Done 👋", citations: [citation] },
      ],
      stop_reason: "end_turn",
      usage: { ...usage, output_tokens: 40 },
    });
    expect(signatures).toEqual(["c2lnbmVk"]);
  });

  test("gets the vendor's errors in the vendor's words, details and retry hint among them", async () => {
    const cases = [
      [400, "invalid_request_error", BadRequestError, 400],
      [404, "not_found_error", NotFoundError, 404],
      [413, "request_too_large", ContentTooLargeError, 413],
      [429, "rate_limit_error", RateLimitError, 429],
      [529, "overloaded_error", OverloadedError, 529],
      [500, "api_error", InternalServerError, 502],
    ] as const;
    for (const [status, type, expected, seen] of cases) {
      const failing = thrown(client.messages.create(ask("hi"), oneTry));
      const body = problem(type, `thinking.adaptive: not for this model (${type})`, { error_code: "some_code" });
      (await upstream.next()).json(status, body, { "retry-after": "7" });
      const error = await failing;
      expect(error).toBeInstanceOf(expected);
      expect(error).toMatchObject({ status: seen, error: body, type, errorCode: "some_code" });
      expect(error.headers?.get("retry-after")).toBe("7");
    }
  });

  test("never sees that the gateway's own credential has failed", async () => {
    for (const [status, type] of [
      [401, "authentication_error"],
      [403, "permission_error"],
    ] as const) {
      const failing = thrown(client.messages.create(ask("hi"), oneTry));
      (await upstream.next()).json(status, problem(type, "invalid x-api-key"));
      const error = await failing;
      expect(error).toMatchObject({ status: 502, type: "api_error" });
      expect(error.message).not.toContain("x-api-key");
    }
  });

  test("gets an error inside a stream, and no end that looks like success where the stream is cut", async () => {
    const begun = frames(
      { type: "message_start", ...{ message: head } },
      { type: "content_block_start", ...{ index: 0, content_block: { type: "text", text: "" } } },
      { type: "content_block_delta", ...{ index: 0, delta: { type: "text_delta", text: "Half" } } },
    );
    const overloaded = problem("overloaded_error", "Overloaded");
    for (const [rest, type] of [
      [frames(overloaded), "overloaded_error"],
      ["", "api_error"],
    ] as const) {
      let text = "";
      const reading = thrown(
        (async () => {
          for await (const event of await client.messages.create({ ...ask("hi"), stream: true }, oneTry)) {
            if (event.type === "content_block_delta" && event.delta.type === "text_delta") text += event.delta.text;
          }
        })(),
      );
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      exchange.end(begun + rest);
      expect(await reading).toMatchObject({ status: undefined, type });
      expect(text).toBe("Half");
    }
  });

  test("aborts a call in flight, and the upstream's connection goes with it", async () => {
    const leaving = new AbortController();
    const call = thrown(client.messages.create(ask("hi"), { signal: leaving.signal }));
    const exchange = await upstream.next();
    leaving.abort();
    expect(await call).toBeInstanceOf(APIUserAbortError);
    await exchange.left;
  });
});

describe("the Anthropic SDK over a gateway with little patience for large bodies", () => {
  test("is told that a request is too large", async () => {
    const gateway = await startTestGateway({ maxBodyBytes: 2048 });
    const error = await thrown(clientOf(gateway).messages.create(say("x".repeat(4096)), oneTry));
    expect(error).toBeInstanceOf(ContentTooLargeError);
    expect(error).toMatchObject({ status: 413, type: "request_too_large" });
    await gateway.close();
  });
});

describe("the Anthropic SDK over an upstream that speaks the other language", () => {
  let upstream: ScriptedUpstream;
  let gateway: TestGateway;
  let client: Anthropic;

  beforeAll(async () => {
    upstream = await startScriptedUpstream();
    gateway = await startTestGateway({ ...upstreamAt(upstream.baseUrl), keepAliveMs: 20 });
    client = clientOf(gateway);
  });

  afterAll(async () => {
    await gateway.close();
    await upstream.close();
  });

  const chunk = (delta: object, finish_reason: string | null = null) => ({
    ...{ id: "c", object: "chat.completion.chunk", created: 1, model: "m" },
    choices: [{ index: 0, delta, finish_reason }],
  });
  const call = (index: number, fields: object, args = "") =>
    chunk({
      tool_calls: [{ index, ...fields, function: { ...("id" in fields ? { name: "f" } : {}), arguments: args } }],
    });
  const counted = { ...chunk({}), choices: [], usage: { prompt_tokens: 9, completion_tokens: 4, total_tokens: 13 } };
  const stopped = chunk({}, "stop");

  const streams: Readonly<Record<string, { chunks: readonly object[]; content: readonly object[]; stop: string }>> = {
    "reasoning, then text, then a tool": {
      chunks: [
        chunk({ role: "assistant", reasoning_content: "Hm" }),
        chunk({ reasoning_content: "." }),
        chunk({ content: "Let me see." }),
        call(0, { id: "call_a", type: "function" }),
        call(0, {}, '{"a":'),
        call(0, {}, "1}"),
        chunk({}, "tool_calls"),
        counted,
      ],
      content: [
        { type: "thinking", thinking: "Hm.", signature: "" },
        { type: "text", text: "Let me see." },
        { type: "tool_use", id: "call_a", name: "f", input: { a: 1 } },
      ],
      stop: "tool_use",
    },
    "two tools whose pieces come in turn": {
      chunks: [
        call(0, { id: "call_a", type: "function" }, '{"a"'),
        call(1, { id: "call_b", type: "function" }, '{"b"'),
        call(0, {}, ":1}"),
        call(1, {}, ":2}"),
        chunk({}, "tool_calls"),
        counted,
      ],
      content: [
        { type: "tool_use", id: "call_a", input: { a: 1 } },
        { type: "tool_use", id: "call_b", input: { b: 2 } },
      ],
      stop: "tool_use",
    },
    "a tool without arguments": {
      chunks: [call(0, { id: "call_a", type: "function" }), chunk({}, "tool_calls"), counted],
      content: [{ type: "tool_use", id: "call_a", input: {} }],
      stop: "tool_use",
    },
    "the last words and the finish in one chunk, with the usage": {
      chunks: [
        chunk({ role: "assistant", content: "One" }),
        { ...chunk({ content: " two" }, "stop"), usage: counted.usage },
      ],
      content: [{ type: "text", text: "One two" }],
      stop: "end_turn",
    },
    "an answer without a word": {
      chunks: [chunk({ role: "assistant", content: "" }), stopped, counted],
      content: [],
      stop: "end_turn",
    },
    "a refusal": {
      chunks: [chunk({ role: "assistant", refusal: "I will not." }), stopped, counted],
      content: [{ type: "text", text: "I will not." }],
      stop: "refusal",
    },
  };
  for (const [name, { chunks, content, stop }] of Object.entries(streams)) {
    test(`gets ${name}, as the API itself would tell it`, async () => {
      const final = client.messages.stream(ask("hi")).finalMessage();
      (await upstream.next()).stream(...chunks);
      const usage = { input_tokens: 9, output_tokens: 4 };
      expect(await final).toMatchObject({ content, stop_reason: stop, usage });
      const raw = client.messages.create({ ...ask("hi"), stream: true });
      (await upstream.next()).stream(...chunks);
      expect(assembled(await Array.fromAsync(await raw)).stop).toBe(stop);
    });
  }

  test("is kept waiting by pings alone until the answer begins", async () => {
    const { data: stream, response } = await begunInSilence();
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    (await upstream.next()).stream(chunk({ role: "assistant", content: "At last" }), stopped, counted);
    expect(assembled(await Array.fromAsync(stream)).blocks).toEqual([{ type: "text", text: "At last" }]);
  });

  test("is told of a failure after a long silence inside the stream", async () => {
    const { data: stream } = await begunInSilence();
    const refusal = { error: { message: "Slow down", type: "requests", param: null, code: null } };
    (await upstream.next()).json(429, refusal);
    const error = await thrown(Array.fromAsync(stream));
    expect(error).toMatchObject({ status: undefined, type: "rate_limit_error", apiMessage: "Slow down" });
  });

  /** The stream's head is there, and the upstream has not said a word. */
  const begunInSilence = () => client.messages.create({ ...ask("hi"), stream: true }, oneTry).withResponse();

  test("is told what was left out, or refused where it would rather be", async () => {
    const request = {
      ...ask("hi"),
      container: "c_1",
      messages: [{ role: "user", content: [{ type: "text", text: "hi", cache_control: cached }] }],
    };
    const answering = client.messages.create(request as never).withResponse();
    (await upstream.next()).json(200, {
      ...{ id: "c", object: "chat.completion", created: 1, model: "m", usage: counted.usage },
      choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
    });
    const { response } = await answering;
    expect(response.headers.get("x-gateway-dropped")).toBe("messages[0].content[0].cache_control, container");
    const strict = { ...oneTry, headers: { "x-gateway-strict": "true" } };
    const error = await thrown(client.messages.create(request as never, strict));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.apiMessage).toContain("'messages[0].content[0].cache_control', 'container'");
  });
});
