/**
 * The examples of requests, by operation: bodies, and the parameters in paths and queries. The models are the embedded ones, so that
 * each works at a gateway without an upstream.
 *
 * A test validates each against its schema, and sends it to a gateway.
 */
export interface RequestExample {
  readonly summary: string;
  readonly value: Readonly<Record<string, unknown>>;
  /** form is whether it is shown as a form, too. */
  readonly form?: boolean;
  /** The media type of its answer. Default: JSON. */
  readonly answer?: string;
}

type Examples = Readonly<Record<string, RequestExample>>;

const events = "text/event-stream";
const hello = [{ role: "user", content: "say Hello!" }];

const weather = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

/** bodies are the examples of the bodies of operations. */
export const bodies: Readonly<Record<string, Examples>> = {
  createChatCompletion: {
    message: { summary: "One message", value: { model: "embedded-chat", messages: hello } },
    stream: {
      summary: "A stream with its usage",
      value: { model: "embedded-chat", stream: true, stream_options: { include_usage: true }, messages: hello },
      answer: events,
    },
    tool: {
      summary: "A tool that the model may call",
      value: {
        model: "embedded-chat",
        messages: [{ role: "user", content: "How warm is it in Oslo? Use get_weather." }],
        tools: [{ type: "function", function: { name: "get_weather", parameters: weather } }],
      },
    },
    schema: {
      summary: "An answer that is valid for a schema",
      value: {
        model: "embedded-chat",
        messages: [{ role: "user", content: 'Which city is "Oslo"?' }],
        response_format: { type: "json_schema", json_schema: { name: "city", schema: weather } },
      },
    },
  },
  createMessage: {
    message: { summary: "One message", value: { model: "embedded-chat", max_tokens: 100, messages: hello } },
    stream: {
      summary: "A stream",
      value: { model: "embedded-chat", max_tokens: 100, stream: true, messages: hello },
      answer: events,
    },
  },
  countMessageTokens: {
    count: { summary: "The tokens of a conversation", value: { model: "embedded-chat", messages: hello } },
  },
  createCompletion: {
    prompt: {
      summary: "A text to continue",
      value: { model: "embedded-chat", prompt: "say Once upon a time", max_tokens: 16 },
      form: true,
    },
    stream: {
      summary: "A stream",
      value: { model: "embedded-chat", prompt: "say Once upon a time", stream: true },
      form: true,
      answer: events,
    },
  },
  createEmbeddings: {
    text: {
      summary: "A text",
      value: { model: "embedded-embedding", input: "The quick brown fox", encoding_format: "float", dimensions: 4 },
      form: true,
    },
    base64: {
      summary: "Several texts, the vectors in base64",
      value: { model: "embedded-embedding", input: ["one", "two"], encoding_format: "base64", dimensions: 4 },
    },
  },
  createSpeech: {
    mp3: {
      summary: "Speech as MP3",
      value: { model: "tts-1", voice: "alloy", input: "Hello!" },
      form: true,
      answer: "audio/mpeg",
    },
    events: {
      summary: "Speech as events",
      value: { model: "tts-1", voice: "alloy", input: "Hello!", response_format: "pcm", stream_format: "sse" },
      answer: events,
    },
  },
  createResponse: {
    text: { summary: "A text", value: { model: "embedded-chat", input: "say Hello!" } },
    stream: {
      summary: "A stream",
      value: { model: "embedded-chat", input: "say Hello!", stream: true },
      answer: events,
    },
    background: {
      summary: "In the background",
      value: { model: "embedded-chat", input: "say Hello!", background: true },
    },
  },
  createResponseCompaction: {
    conversation: {
      summary: "A conversation to shorten",
      value: {
        model: "embedded-chat",
        input: [
          { role: "user", content: "say Hello!" },
          { role: "assistant", content: "Hello!" },
        ],
      },
    },
  },
  countResponseTokens: {
    count: { summary: "The tokens of a request", value: { model: "embedded-chat", input: "say Hello!" } },
  },
  explainCall: {
    message: {
      summary: "What would become of a message",
      value: {
        path: "/v1/messages",
        request: { model: "embedded-chat", max_tokens: 100, messages: hello },
      },
    },
  },
  listKeys: { page: { summary: "The first keys", value: { page_size: 1000 }, form: true } },
  createKey: {
    limited: {
      summary: "A key with a credit limit, for one family of models",
      value: { name: "ci", credit_limit: "5", models: "family:embedded" },
      form: true,
    },
    list: {
      summary: "A key for some models that expires",
      value: { name: "ci", models: ["embedded-chat", "tts-1"], expires_at: "2030-01-31T12:00:00Z" },
    },
    rates: {
      summary: "A key with rates, for some addresses, with a tag and an owner",
      value: {
        ...{ name: "search", requests_per_minute: 60, tokens_per_minute: 100_000, max_concurrent: 5 },
        model_rates: [{ model: "embedded-chat", requests_per_minute: 20 }],
        ...{ allowed_ips: ["192.0.2.0/24"], tags: ["team-search"], owner: "Ada Lovelace" },
      },
    },
  },
  updateKey: {
    limit: {
      summary: "Removes the credit limit",
      value: { id: "key_0123456789abcdef", credit_limit: "" },
      form: true,
    },
  },
  rotateKey: {
    hour: {
      summary: "The old secret stays valid for an hour",
      value: { id: "key_0123456789abcdef", overlap_seconds: 3600 },
      form: true,
    },
  },
  deleteKey: { key: { summary: "A key", value: { id: "key_0123456789abcdef" }, form: true } },
};

/** parameters are examples of the parameters in paths and queries, by operation. */
export const parameters: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>> = {
  getModel: { id: "embedded-chat" },
  listModels: { limit: 20 },
  getResponse: { id: "resp_0123456789abcdef" },
  deleteResponse: { id: "resp_0123456789abcdef" },
  cancelResponse: { id: "resp_0123456789abcdef" },
  listResponseInputItems: { id: "resp_0123456789abcdef", limit: 20, order: "asc" },
  exportRequests: { from: "2026-01-01T00:00:00Z" },
};
