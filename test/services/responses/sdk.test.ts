/**
 * Responses through the official OpenAI SDK, unmodified: whole, streamed, with tools, with what is kept and without.
 * Over the embedded model, over another gateway that speaks chat, and over one that speaks Anthropic's API.
 */
import OpenAI, { APIError, BadRequestError, NotFoundError } from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import type {
  FunctionTool,
  Response,
  ResponseCreateParamsNonStreaming,
  ResponseInputItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { sentence, thrownBy } from "../../support/clients/sdk.ts";
import { behind, behindAnthropic, startTestGateway, type TestGateway } from "../../support/gateway.ts";

let near: TestGateway;
let far: TestGateway;
let across: TestGateway;

beforeAll(async () => {
  near = await startTestGateway();
  far = await startTestGateway(behind(near));
  across = await startTestGateway(behindAnthropic(near));
});

afterAll(async () => {
  await across.close();
  await far.close();
  await near.close();
});

const clientOf = ({ baseUrl, apiKey }: TestGateway) => new OpenAI({ baseURL: baseUrl, apiKey, maxRetries: 0 });

const model = "embedded-chat";

function say(text: string, more: Partial<ResponseCreateParamsNonStreaming> = {}): ResponseCreateParamsNonStreaming {
  return { model, input: `say: ${text}`, ...more };
}

const weather: FunctionTool = {
  type: "function",
  name: "get_weather",
  description: null,
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};
const time: FunctionTool = { ...weather, name: "get_time" };

/** The events of a stream in short: runs of the same type once. */
function shape(events: readonly ResponseStreamEvent[]): string[] {
  const types = events.map(({ type }) => type.replace("response.", ""));
  return types.filter((type, i) => type !== types[i - 1]);
}

const thrown = (work: PromiseLike<unknown>) => thrownBy(work, (error): error is APIError => error instanceof APIError);

const textEvents = [
  ...["created", "in_progress", "output_item.added", "content_part.added", "output_text.delta", "output_text.done"],
  ...["content_part.done", "output_item.done", "completed"],
];

for (const [place, gatewayAt] of [
  ["the embedded model", () => near],
  ["another gateway that speaks chat", () => far],
  ["another gateway that speaks Anthropic's API", () => across],
] as const) {
  describe(`the OpenAI SDK over ${place}`, () => {
    let client: OpenAI;

    beforeAll(() => {
      client = clientOf(gatewayAt());
    });

    test("gets a whole response, with every key that it declares", async () => {
      const { data, request_id } = await client.responses
        .create(say(sentence, { metadata: { purpose: "test" }, max_output_tokens: 100 }))
        .withResponse();
      expect(data).toMatchObject({
        id: `resp_${request_id?.replace("req_", "")}`,
        object: "response",
        status: "completed",
        model,
        output_text: sentence,
        output: [{ type: "message", role: "assistant", status: "completed", content: [{ text: sentence }] }],
        error: null,
        incomplete_details: null,
        max_output_tokens: 100,
        metadata: { purpose: "test" },
        previous_response_id: null,
        store: true,
        tools: [],
      });
      const { input_tokens, output_tokens, total_tokens } = data.usage ?? expect.fail("no usage");
      expect(output_tokens).toBeGreaterThan(8);
      expect(total_tokens).toBe(input_tokens + output_tokens);
    });

    test("gets its events in order, with increasing numbers, and the same response as whole", async () => {
      const whole = await client.responses.create(say(sentence));
      const events = await Array.fromAsync(await client.responses.create({ ...say(sentence), stream: true }));
      expect(shape(events)).toEqual(textEvents);
      expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, i) => i));
      const last = events.at(-1);
      const { id, output, ...rest } = last?.type === "response.completed" ? last.response : expect.fail("no end");
      const { id: _, output: said, output_text, _request_id, ...others } = whole as Response & { _request_id: string };
      expect(rest).toEqual(others);
      expect(output[0]).toMatchObject({ ...said[0], id: `msg_${id.replace("resp_", "")}_0` });
      const ids = new Set(events.flatMap((event) => ("response" in event ? event.response.id : [])));
      expect([...ids]).toEqual([id]);
    });

    test("follows a stream with its helper, to the final response", async () => {
      const stream = client.responses.stream({ model, input: `say: ${sentence}` });
      let text = "";
      stream.on("response.output_text.delta", ({ delta, snapshot }) => {
        text += delta;
        expect(snapshot).toBe(text);
      });
      const final = await stream.finalResponse();
      expect(final).toMatchObject({ status: "completed", output_text: sentence });
      expect(text).toBe(sentence);
    });

    test("is told that an answer was cut at its bound", async () => {
      const whole = await client.responses.create(say(sentence, { max_output_tokens: 3 }));
      expect(whole).toMatchObject({
        status: "incomplete",
        incomplete_details: { reason: "max_output_tokens" },
        output: [{ status: "incomplete" }],
        output_text: "The quick brown",
      });
      const events = await Array.fromAsync(
        await client.responses.create({ ...say(sentence, { max_output_tokens: 3 }), stream: true }),
      );
      expect(events.at(-1)?.type).toBe("response.incomplete");
    });

    test("goes on from kept responses, without their instructions", async () => {
      const first = await client.responses.create({ model, input: "My name is Ada.", instructions: "Be brief." });
      const second = await client.responses.create({ model, input: "Who am I?", previous_response_id: first.id });
      expect(second.previous_response_id).toBe(first.id);
      // The simulator counts what it was given: the question, and the first question with its answer, not instructions.
      expect(second.output_text).toContain("3 messages");
      expect(second.instructions).toBeNull();
      const third = await client.responses.create({ model, input: "And now?", previous_response_id: second.id });
      expect(third.output_text).toContain("5 messages");
    });

    test("calls tools, and goes on by previous_response_id", async () => {
      const tools = [weather, time];
      const asked = { model, tools, input: 'Call get_weather and get_time for "Oslo".' };
      const first = await client.responses.create(asked);
      const calls = first.output.filter((item) => item.type === "function_call");
      expect(calls).toMatchObject([
        { name: "get_weather", arguments: '{"city":"Oslo"}', status: "completed", id: expect.stringMatching(/^fc_/) },
        { name: "get_time", arguments: '{"city":"Oslo"}' },
      ]);
      const input = calls.map(({ call_id }, i): ResponseInputItem => {
        return { type: "function_call_output", call_id, output: i === 0 ? "4 degrees" : "noon" };
      });
      const second = await client.responses.create({ model, tools, input, previous_response_id: first.id });
      expect(second.output_text).toContain("4 degrees");
      expect(second.output_text).toContain("noon");
    });

    test("streams tool calls", async () => {
      const asked = { model, tools: [weather, time], input: 'Call get_weather and get_time for "Oslo".' };
      const stream = client.responses.stream(asked);
      const seen: string[] = [];
      stream.on("response.function_call_arguments.delta", ({ snapshot }) => seen.push(snapshot));
      const final = await stream.finalResponse();
      expect(seen).toContain('{"city":"Oslo"}');
      const calls = final.output.filter((item) => item.type === "function_call");
      expect(calls.map(({ name, arguments: text }) => [name, text])).toEqual([
        ["get_weather", '{"city":"Oslo"}'],
        ["get_time", '{"city":"Oslo"}'],
      ]);
    });

    test("calls a custom tool with free text", async () => {
      const asked = { model, tools: [{ type: "custom", name: "shell" } as const], input: "Run shell now" };
      const whole = await client.responses.create(asked);
      expect(whole.output.at(-1)).toMatchObject({
        type: "custom_tool_call",
        name: "shell",
        input: expect.stringMatching(/now$/),
      });
      const final = await client.responses.stream(asked).finalResponse();
      expect(final.output.at(-1)).toMatchObject({ type: "custom_tool_call", input: expect.stringMatching(/now$/) });
      const call = whole.output.at(-1) as { call_id: string };
      const next = await client.responses.create({
        ...{ model, tools: asked.tools, previous_response_id: whole.id },
        input: [{ type: "custom_tool_call_output", call_id: call.call_id, output: "done!" }],
      });
      expect(next.output_text).toContain("done!");
    });

    test("goes on without anything kept, by sending all of it again", async () => {
      const tools = [weather];
      const input: ResponseInputItem[] = [{ role: "user", content: 'Call get_weather for "Oslo".' }];
      const first = await client.responses.create({ model, tools, input, store: false });
      expect(first).toMatchObject({ store: false });
      const [call] = first.output.filter((item) => item.type === "function_call");
      input.push(...(first.output as ResponseInputItem[]));
      input.push({ type: "function_call_output", call_id: call?.call_id ?? "", output: "4 degrees" });
      const second = await client.responses.create({ model, tools, input, store: false });
      expect(second.output_text).toContain("4 degrees");
      const error = await thrown(client.responses.retrieve(first.id));
      expect(error).toBeInstanceOf(NotFoundError);
    });

    test("is given structured output, parsed, whole and streamed", async () => {
      const Event = z.object({ name: z.string(), day: z.enum(["Monday", "Friday"]), people: z.array(z.string()) });
      const asked = { model, input: 'Plan a "Party".', text: { format: zodTextFormat(Event, "event") } };
      const { output_parsed } = await client.responses.parse(asked);
      expect(Event.parse(output_parsed)).toEqual(output_parsed);
      expect(output_parsed?.name).toBe("Party");
      const final = await client.responses.stream(asked).finalResponse();
      expect(final.output_parsed).toEqual(output_parsed);
    });

    test("sends images, files and messages of every role", async () => {
      const { output_text } = await client.responses.create({
        model,
        input: [
          { role: "developer", content: "Be brief." },
          {
            role: "user",
            content: [
              { type: "input_text", text: "What is in these?" },
              { type: "input_image", detail: "auto", image_url: "data:image/png;base64,iVBORw0KGgo=" },
              { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
            ],
          },
        ],
      });
      expect(output_text).toContain("1 image");
      expect(output_text).toContain("1 file");
    });

    test("retrieves and deletes what is kept", async () => {
      const { _request_id, ...kept } = (await client.responses.create(say("keep me"))) as Response & {
        _request_id: string;
      };
      const { _request_id: _, ...found } = (await client.responses.retrieve(kept.id)) as typeof kept & {
        _request_id: string;
      };
      expect(found).toEqual(kept);
      await client.responses.delete(kept.id);
      for (const work of [() => client.responses.retrieve(kept.id), () => client.responses.delete(kept.id)]) {
        expect(await thrown(work())).toMatchObject({
          status: 404,
          message: expect.stringContaining(`Response with id '${kept.id}' not found.`),
        });
      }
    });
  });
}

describe("the OpenAI SDK is refused", () => {
  const refused: Record<string, [Partial<ResponseCreateParamsNonStreaming>, param: string, code: string | null]> = {
    "an earlier response that nobody has": [
      { previous_response_id: "resp_nobody" },
      "previous_response_id",
      "previous_response_not_found",
    ],
    "a conversation": [{ conversation: "conv_1" }, "conversation", "invalid_value"],
    "a conversation by its object": [{ conversation: { id: "conv_1" } }, "conversation", "invalid_value"],
    "work in the background that is not kept": [{ background: true, store: false }, "background", "invalid_value"],
    "a prompt template": [{ prompt: { id: "pmpt_1" } }, "prompt", "invalid_value"],
    "a temperature out of bounds": [{ temperature: 3 }, "temperature", "invalid_value"],
    "a message without a role": [
      { input: [{ content: "hi" } as never] },
      "input[0].role",
      "missing_required_parameter",
    ],
    "a result without its call": [
      { input: [{ type: "function_call_output", output: "x" } as never] },
      "input[0].call_id",
      "missing_required_parameter",
    ],
    "a choice of a tool that only a vendor has": [
      { tools: [weather], tool_choice: { type: "file_search" } },
      "tool_choice",
      "invalid_value",
    ],
    "an image that only a vendor has": [
      { input: [{ role: "user", content: [{ type: "input_image", detail: "auto", file_id: "file-1" }] }] },
      "input[0].content[0]",
      "invalid_value",
    ],
  };

  for (const [name, [more, param, code]] of Object.entries(refused)) {
    test(name, async () => {
      const error = await thrown(clientOf(near).responses.create(say("x", more)));
      expect(error).toBeInstanceOf(BadRequestError);
      expect(error).toMatchObject({ status: 400, param, code, type: "invalid_request_error" });
      const streamed = await thrown(clientOf(near).responses.create({ ...say("x", more), stream: true }));
      expect(streamed).toMatchObject({ status: 400, param, code });
    });
  }

  test("a model that nobody serves, and an item that is not kept", async () => {
    expect(await thrown(clientOf(near).responses.create(say("x", { model: "nobody" })))).toMatchObject({
      status: 404,
      code: "model_not_found",
    });
    const input: ResponseInputItem[] = [{ type: "item_reference", id: "msg_nobody_0" }];
    expect(await thrown(clientOf(near).responses.create({ model, input }))).toMatchObject({
      status: 404,
      param: "input",
      message: expect.stringContaining("Item with id 'msg_nobody_0' not found."),
    });
  });

  test("a stream that breaks, by an event that counts on", async () => {
    for (const gateway of [near, far]) {
      const events: ResponseStreamEvent[] = [];
      const stream = await clientOf(gateway).responses.create({
        ...say(sentence, { metadata: { simulate_break_after: "3" } }),
        stream: true,
      });
      const error = await thrown(
        (async () => {
          for await (const event of stream) events.push(event);
        })(),
      );
      expect(error).toBeInstanceOf(APIError);
      // As at the end of a chat: clients read the status from it.
      expect(error.code).toBe("502");
      expect(events.at(-1)?.type).toBe("response.output_text.delta");
      const [first] = events;
      const id = first?.type === "response.created" ? first.response.id : expect.fail("nothing was begun");
      expect(await thrown(clientOf(gateway).responses.retrieve(id))).toBeInstanceOf(NotFoundError);
    }
  });
});
