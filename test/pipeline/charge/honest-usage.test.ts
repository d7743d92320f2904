/**
 * An honest upstream is never doubted: whatever its vendor counts, and wherever it reports it. Each form of usage is read as the gateway
 * reads it, for each vendor of the catalogue, and held against the bounds of usage that may be true.
 */
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateCompletionRequestSchema } from "../../../gen/modelgateway/v1/completions_pb.ts";
import { CreateEmbeddingsRequestSchema } from "../../../gen/modelgateway/v1/embeddings_pb.ts";
import { CreateMessageRequestSchema } from "../../../gen/modelgateway/v1/messages_pb.ts";
import { CreateResponseRequestSchema } from "../../../gen/modelgateway/v1/responses_pb.ts";
import { CreateSpeechRequestSchema } from "../../../gen/modelgateway/v1/speech_pb.ts";
import type { Operation } from "../../../src/call/operations.ts";
import { MeteredAttempt } from "../../../src/pipeline/charge/metered-attempt.ts";
import {
  areSearchesImplausible,
  isInputImplausible,
  isOutputImplausible,
} from "../../../src/pipeline/charge/plausible-usage.ts";
import { ChatUsageReader } from "../../../src/providers/usage/chat-counts.ts";
import { MessageUsageReader } from "../../../src/providers/usage/message-counts.ts";
import { readDocuments } from "../../../src/tokens/media/read-documents.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { writePdf } from "../../support/pdf.ts";
import { vendors } from "../../support/upstreams/vendor-profiles.ts";

type Json = Record<string, unknown>;

const schemas = {
  chat: CreateChatCompletionRequestSchema,
  completions: CreateCompletionRequestSchema,
  embeddings: CreateEmbeddingsRequestSchema,
  messages: CreateMessageRequestSchema,
  responses: CreateResponseRequestSchema,
  speech: CreateSpeechRequestSchema,
} as const;

interface Reported {
  readonly operation: keyof typeof schemas;
  readonly request: Json;
  /** The reports of one answer, in their order. */
  readonly usage: readonly Json[];
  /** The text that was answered. Default: a short one. */
  readonly text?: string;
  /** Whether some of the output was no text. */
  readonly hasOther?: boolean;
}

/** Returns which parts of the usage are doubted. */
async function doubted(reported: Reported): Promise<string[]> {
  const { operation, request, usage, text = "Hello.", hasOther = false } = reported;
  const wire = Wire.ofBytes(schemas[operation], Buffer.from(JSON.stringify({ model: "m", ...request })));
  await readDocuments(wire);
  const attempt = new MeteredAttempt(operation as Operation, wire);
  attempt.countText(text);
  if (hasOther) attempt.countText("");
  const [ofMessages, ofChat] = [new MessageUsageReader(), new ChatUsageReader()];
  for (const one of usage) {
    if (operation === "messages") ofMessages.take(one as never);
    else ofChat.take({ choices: [], usage: one } as never);
    attempt.reportUsage(operation === "messages" ? ofMessages.reported : ofChat.reported);
  }
  const doubts = {
    broken: attempt.isBroken,
    input: isInputImplausible(attempt),
    output: isOutputImplausible(attempt),
    searches: areSearchesImplausible(attempt.rare?.searches, attempt.asked.searches),
  };
  return Object.entries(doubts).flatMap(([part, isDoubted]) => (isDoubted ? [part] : []));
}

const hi = [{ role: "user", content: "hi" }];
const said = (...content: Json[]) => [{ role: "user", content }];
const long = "The quick brown fox jumps over the lazy dog. ".repeat(20_000);
const tool = (name: string) => ({ type: "function", function: { name, parameters: { type: "object" } } });
const png = Buffer.from("89504e470d0a1a0a0000000d49484452000007d0000007d0", "hex").toString("base64");
const image = { type: "image_url", image_url: { url: `data:image/png;base64,${png}` } };
const pdf = writePdf(Array(80).fill("(a) Tj")).toString("base64");
const words = "A long answer. ".repeat(400);

const ofOpenAi: Readonly<Record<string, Omit<Reported, "operation"> & { readonly operation?: Reported["operation"] }>> =
  {
    "a short call": {
      request: { messages: hi },
      usage: [{ prompt_tokens: 8, completion_tokens: 9, total_tokens: 17 }],
    },
    "cached tokens inside the prompt": {
      request: { messages: [{ role: "user", content: long }] },
      usage: [{ prompt_tokens: 190_000, completion_tokens: 9, prompt_tokens_details: { cached_tokens: 189_000 } }],
    },
    "cached tokens beside the input": {
      request: { messages: [{ role: "user", content: long }] },
      usage: [
        { input_tokens: 1_000, cache_read_input_tokens: 189_000, cache_creation_input_tokens: 3_000, output_tokens: 9 },
      ],
    },
    "DeepSeek's hits and misses": {
      request: { messages: hi },
      usage: [
        { prompt_tokens: 1_000, completion_tokens: 9, prompt_cache_hit_tokens: 900, prompt_cache_miss_tokens: 100 },
      ],
    },
    "reasoning beside the completion, beyond the bound": {
      request: { messages: hi, max_tokens: 10 },
      usage: [
        {
          prompt_tokens: 8,
          completion_tokens: 9,
          total_tokens: 40_017,
          completion_tokens_details: { reasoning_tokens: 40_000 },
        },
      ],
    },
    "reasoning in the total alone": {
      request: { messages: hi, max_tokens: 1_000 },
      usage: [{ prompt_tokens: 9, completion_tokens: 664, total_tokens: 30_994 }],
    },
    "reasoning inside the completion, beyond the bound": {
      request: { messages: hi, max_completion_tokens: 100 },
      usage: [{ prompt_tokens: 9, completion_tokens: 32_100, completion_tokens_details: { reasoning_tokens: 32_050 } }],
      text: words,
    },
    "a bound that the server ignores": {
      request: { messages: hi, max_tokens: 5 },
      usage: [{ prompt_tokens: 9, completion_tokens: 1_600 }],
      text: words,
    },
    "a prompt of the server's own, of an agent": {
      request: { messages: hi },
      usage: [{ prompt_tokens: 60_000, completion_tokens: 9 }],
    },
    "tools, with the prompt that they make": {
      request: { messages: hi, tools: Array.from({ length: 128 }, (_, at) => tool(`tool_${at}`)) },
      usage: [{ prompt_tokens: 12_000, completion_tokens: 30, completion_tokens_details: { reasoning_tokens: 0 } }],
    },
    "a call of a tool, which is no text": {
      request: { messages: hi, tools: [tool("f")], max_tokens: 8_000 },
      usage: [{ prompt_tokens: 400, completion_tokens: 7_000 }],
      text: "",
      hasOther: true,
    },
    "a search that is part of the model": {
      request: { messages: hi, web_search_options: { search_context_size: "high" } },
      usage: [
        {
          prompt_tokens: 900_000,
          completion_tokens: 800,
          server_tool_use: { web_search_requests: 12 },
          num_sources_used: 90,
        },
      ],
      text: words,
    },
    "several answers": {
      request: { messages: hi, n: 8, max_tokens: 100 },
      usage: [{ prompt_tokens: 9, completion_tokens: 800 }],
      text: "x",
    },
    pictures: {
      request: { messages: said(...Array.from({ length: 20 }, () => image)) },
      usage: [
        { prompt_tokens: 20 * 36_900, completion_tokens: 9, prompt_tokens_details: { image_tokens: 20 * 36_835 } },
      ],
    },
    "a picture by a URL": {
      request: { messages: said({ type: "image_url", image_url: { url: "https://example.com/a.png" } }) },
      usage: [{ prompt_tokens: 48_169, completion_tokens: 9 }],
    },
    sound: {
      request: { messages: said({ type: "input_audio", input_audio: { data: "A".repeat(4_000_000), format: "mp3" } }) },
      usage: [{ prompt_tokens: 60_000, completion_tokens: 9, prompt_tokens_details: { audio_tokens: 59_990 } }],
    },
    "sound that is answered": {
      request: { messages: hi, modalities: ["text", "audio"] },
      usage: [
        {
          prompt_tokens: 9,
          completion_tokens: 9_000,
          completion_tokens_details: { audio_tokens: 8_900, text_tokens: 100 },
        },
      ],
      hasOther: true,
    },
    "a PDF of eighty dense pages": {
      request: { messages: said({ type: "file", file: { file_data: `data:application/pdf;base64,${pdf}` } }) },
      usage: [{ prompt_tokens: 80 * 7_000, completion_tokens: 9 }],
    },
    "a file that is kept there": {
      request: { messages: said({ type: "file", file: { file_id: "file-1" } }) },
      usage: [{ prompt_tokens: 1_900_000, completion_tokens: 9 }],
    },
    "a video by a URL": {
      request: { messages: said({ type: "video_url", video_url: { url: "https://example.com/a.mp4" } }) },
      usage: [{ prompt_tokens: 1_900_000, completion_tokens: 9 }],
    },
    "usage that grows in a stream, and ends with less": {
      request: { messages: hi },
      usage: [
        { prompt_tokens: 9, completion_tokens: 1 },
        { prompt_tokens: 9, completion_tokens: 70 },
        { prompt_tokens: 0, completion_tokens: 1 },
      ],
    },
    "members that are null or absent": {
      request: { messages: hi },
      usage: [
        {
          prompt_tokens: 9,
          completion_tokens: 2,
          total_tokens: null,
          prompt_tokens_details: null,
          completion_tokens_details: null,
        },
      ],
    },
    "eight prompts with four answers each": {
      operation: "completions",
      request: { prompt: Array(8).fill("hi"), n: 4, best_of: 6, max_tokens: 50 },
      usage: [{ prompt_tokens: 16, completion_tokens: 8 * 6 * 50 }],
      text: "x",
    },
    "a prompt in tokens": {
      operation: "completions",
      request: { prompt: Array.from({ length: 190_000 }, () => 7), max_tokens: 5 },
      usage: [{ prompt_tokens: 190_000, completion_tokens: 5 }],
    },
    "embeddings of many texts": {
      operation: "embeddings",
      request: { input: Array(2_048).fill("hello world ".repeat(50)) },
      usage: [{ prompt_tokens: 2_048 * 105, total_tokens: 2_048 * 105 }],
      text: "",
    },
    "embeddings of tokens": {
      operation: "embeddings",
      request: { input: Array.from({ length: 100 }, () => Array(8_000).fill(7)) },
      usage: [{ prompt_tokens: 800_000, total_tokens: 800_000 }],
      text: "",
    },
    speech: {
      operation: "speech",
      request: { input: "hello", voice: "alloy" },
      usage: [{ input_tokens: 20, output_tokens: 4_000, total_tokens: 4_020 }],
      text: "",
      hasOther: true,
    },
    "a response that goes on from another": {
      operation: "responses",
      request: { input: "hi", previous_response_id: "resp_1", max_output_tokens: 100 },
      usage: [{ input_tokens: 390_000, input_tokens_details: { cached_tokens: 380_000 }, output_tokens: 90 }],
    },
    "a prompt that is kept there": {
      operation: "responses",
      request: { prompt: { id: "pmpt_1" } },
      usage: [{ input_tokens: 390_000, output_tokens: 90 }],
    },
    "a research by tools of the vendor": {
      operation: "responses",
      request: {
        input: "hi",
        tools: [{ type: "web_search" }, { type: "code_interpreter", container: { type: "auto" } }],
      },
      usage: [{ input_tokens: 9_000_000, output_tokens: 90_000, output_tokens_details: { reasoning_tokens: 80_000 } }],
      text: words,
    },
  };

const cached = { ephemeral_5m_input_tokens: 20_000, ephemeral_1h_input_tokens: 150_000 };

const ofAnthropic: typeof ofOpenAi = {
  "a short call": { request: { messages: hi }, usage: [{ input_tokens: 8, output_tokens: 9 }] },
  "writes for an hour, and reads, beside the input": {
    request: { messages: [{ role: "user", content: long }] },
    usage: [
      {
        input_tokens: 12,
        cache_creation_input_tokens: 170_000,
        cache_creation: cached,
        cache_read_input_tokens: 40_000,
        output_tokens: 1,
      },
      { output_tokens: 30 },
    ],
  },
  "the sum of writes in the end": {
    request: { messages: [{ role: "user", content: long }] },
    usage: [
      { input_tokens: 12, cache_creation_input_tokens: 170_000, cache_creation: cached, output_tokens: 1 },
      { input_tokens: 12, cache_creation_input_tokens: 170_000, cache_read_input_tokens: 0, output_tokens: 30 },
    ],
  },
  "no input in the end": {
    request: { messages: hi },
    usage: [
      { input_tokens: 100_000, output_tokens: 1 },
      { input_tokens: 0, output_tokens: 30 },
    ],
  },
  "the prompt of tools": {
    request: { messages: hi, tools: [{ name: "f", input_schema: { type: "object" } }], tool_choice: { type: "any" } },
    usage: [{ input_tokens: 1_300, output_tokens: 60 }],
  },
  "a computer to use": {
    request: {
      messages: hi,
      tools: [{ type: "computer_20251124", name: "computer", display_width_px: 1, display_height_px: 1 }],
    },
    usage: [{ input_tokens: 3_000, output_tokens: 60 }],
  },
  "searches and fetches of its own": {
    request: {
      messages: hi,
      tools: [
        { type: "web_search_20250305", name: "web_search", max_uses: 20 },
        { type: "web_fetch_20250910", name: "web_fetch" },
      ],
    },
    usage: [
      {
        input_tokens: 3_500_000,
        cache_read_input_tokens: 900_000,
        output_tokens: 9_000,
        server_tool_use: { web_search_requests: 20, web_fetch_requests: 30 },
      },
    ],
    text: words,
  },
  "servers of tools": {
    request: { messages: hi, mcp_servers: [{ type: "url", name: "x", url: "https://example.com" }] },
    usage: [{ input_tokens: 900_000, output_tokens: 9 }],
  },
  "thinking within its budget": {
    request: { messages: hi, max_tokens: 20_000, thinking: { type: "enabled", budget_tokens: 16_000 } },
    usage: [{ input_tokens: 40, output_tokens: 19_990, output_tokens_details: { thinking_tokens: 15_990 } }],
  },
  "thinking that is not told apart": {
    request: { messages: hi, max_tokens: 20_000, thinking: { type: "adaptive" } },
    usage: [{ input_tokens: 40, output_tokens: 20_000 }],
  },
  "thinking between calls of tools, beyond the bound of one round": {
    request: { messages: hi, max_tokens: 2_000, tools: [{ type: "code_execution_20250825", name: "code_execution" }] },
    usage: [{ input_tokens: 40, output_tokens: 30_000 }],
  },
  "a call of a tool, which is no text": {
    request: { messages: hi, max_tokens: 8_000, tools: [{ name: "f", input_schema: {} }] },
    usage: [{ input_tokens: 400, output_tokens: 8_000 }],
    text: "",
    hasOther: true,
  },
  pictures: {
    request: {
      messages: said(
        ...Array.from({ length: 100 }, () => ({
          type: "image",
          source: { type: "base64", media_type: "image/png", data: png },
        })),
      ),
    },
    usage: [{ input_tokens: 100 * 4_784, output_tokens: 9 }],
  },
  "a PDF of eighty dense pages": {
    request: {
      messages: said({ type: "document", source: { type: "base64", media_type: "application/pdf", data: pdf } }),
    },
    usage: [{ input_tokens: 80 * 7_784, output_tokens: 9 }],
  },
  "a file that is kept there": {
    request: { messages: said({ type: "document", source: { type: "file", file_id: "file_1" } }) },
    usage: [{ input_tokens: 980_000, output_tokens: 9 }],
  },
  "a container with skills": {
    request: { messages: hi, container: { skills: [{ type: "anthropic", skill_id: "pptx" }] } },
    usage: [{ input_tokens: 600_000, output_tokens: 9 }],
  },
};

describe("usage of an honest upstream is not doubted", () => {
  for (const { name, kind = "openai" } of vendors) {
    const isAnthropic = kind === "anthropic";
    const shapes = Object.entries(isAnthropic ? ofAnthropic : ofOpenAi);
    test.each(shapes)(`${name}: %s`, async (_, shape) => {
      const own = isAnthropic ? { max_tokens: 100_000 } : {};
      const operation = shape.operation ?? (isAnthropic ? "messages" : "chat");
      expect(await doubted({ ...shape, operation, request: { ...own, ...shape.request } })).toEqual([]);
    });
  }
});

describe("usage that cannot be true is doubted", () => {
  test.each<[string, Reported, string[]]>([
    [
      "input without bytes for it",
      { operation: "chat", request: { messages: hi }, usage: [{ prompt_tokens: 200_000, completion_tokens: 2 }] },
      ["input"],
    ],
    [
      "input beyond a PDF's pages",
      {
        operation: "chat",
        request: { messages: said({ type: "file", file: { file_data: pdf } }) },
        usage: [{ prompt_tokens: 3_000_000, completion_tokens: 2 }],
      },
      ["input"],
    ],
    [
      "input beyond any file",
      {
        operation: "chat",
        request: { messages: said({ type: "file", file: { file_id: "f" } }) },
        usage: [{ prompt_tokens: 20_000_000, completion_tokens: 2 }],
      },
      ["input"],
    ],
    [
      "output beyond its bound",
      {
        operation: "messages",
        request: { messages: hi, max_tokens: 100 },
        usage: [{ input_tokens: 9, output_tokens: 5_000 }],
      },
      ["output"],
    ],
    [
      "more output than any model has",
      {
        operation: "chat",
        request: { messages: hi },
        usage: [{ prompt_tokens: 9, completion_tokens: 20_000_000 }],
        hasOther: true,
      },
      ["output"],
    ],
    [
      "a thousand searches",
      {
        operation: "chat",
        request: { messages: hi },
        usage: [{ prompt_tokens: 9, completion_tokens: 2, num_sources_used: 5_000 }],
      },
      ["searches"],
    ],
    [
      "a fraction",
      { operation: "chat", request: { messages: hi }, usage: [{ prompt_tokens: 9.5, completion_tokens: 2 }] },
      ["broken"],
    ],
  ])("%s", async (_, reported, parts) => {
    expect(await doubted(reported)).toEqual(parts);
  });
});
