/**
 * Makes every call of the service by a client whose types openapi-typescript has made of the gateway's document (`types.ts`). It is
 * compiled against those types, and run against a gateway:
 *
 *   ROOT_URL=http://127.0.0.1:8080 API_KEY=sk-… ADMIN_KEY=sk-… node calls.ts
 *
 * It prints what each call answered, as one object of JSON.
 */
import createClient from "openapi-fetch";
import type { components, paths } from "./types.ts";

type Schemas = components["schemas"];

const { ROOT_URL: baseUrl = "", API_KEY = "", ADMIN_KEY = "" } = process.env;
const as = (key: string) => ({ baseUrl, headers: { authorization: `Bearer ${key}` } });
const client = createClient<paths, "application/json">(as(API_KEY));
const admin = createClient<paths, "application/json">(as(ADMIN_KEY));

/** A client that reads answers as streams. */
const streaming = createClient<paths, "text/event-stream">(as(API_KEY));

const model = "embedded-chat";
const messages: Schemas["ChatMessage"][] = [{ role: "user", content: "say Hello!" }];

/** Returns the answer, or throws the refusal. */
function answered<T>({ data, error, response }: { data?: T; error?: unknown; response: Response }): T {
  if (data === undefined) throw new Error(`${response.status} ${JSON.stringify(error)}`);
  return data;
}

/** Sends a body as a form, as the specification of the service has it. */
const asForm = { headers: { "content-type": "application/x-www-form-urlencoded" } };

/** Reads the data of the events of a stream. */
async function events<T>(stream: ReadableStream<Uint8Array> | null): Promise<T[]> {
  const text = await new Response(stream).text();
  const data = text.split("\n").flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  return data.filter((one) => one !== "[DONE]").map((one) => JSON.parse(one) as T);
}

async function chat() {
  const whole = answered(await client.POST("/v1/chat/completions", { body: { model, messages } }));
  const { data } = await streaming.POST("/v1/chat/completions", {
    body: { model, messages, stream: true, stream_options: { include_usage: true } },
    parseAs: "stream",
  });
  const chunks = await events<Schemas["ChatCompletionChunk"]>(data ?? null);
  const text = chunks.map(({ choices }) => choices[0]?.delta?.content ?? "").join("");
  return { whole: whole.choices[0]?.message?.content, streamed: text, tokens: chunks.at(-1)?.usage?.total_tokens };
}

async function tools() {
  const { choices } = answered(
    await client.POST("/v1/chat/completions", {
      body: {
        model,
        messages: [{ role: "user", content: "How warm is it in Oslo? Use get_weather." }],
        tools: [
          {
            type: "function",
            function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
          },
        ],
      },
    }),
  );
  const [call] = choices[0]?.message?.tool_calls ?? [];
  return [choices[0]?.finish_reason, call?.function?.name];
}

async function anthropic() {
  const body = { model, max_tokens: 100, messages: [{ role: "user" as const, content: "say Hello!" }] };
  const whole = answered(
    await client.POST("/v1/messages", { body, params: { header: { "anthropic-version": "2023-06-01" } } }),
  );
  const { data } = await streaming.POST("/v1/messages", { body: { ...body, stream: true }, parseAs: "stream" });
  const streamed = await events<Schemas["MessageStreamEvent"]>(data ?? null);
  const { input_tokens } = answered(
    await client.POST("/v1/messages/count_tokens", { body: { model, messages: body.messages } }),
  );
  return {
    whole: whole.content[0]?.text,
    streamed: streamed.map(({ delta }) => delta?.text ?? "").join(""),
    counted: input_tokens === whole.usage?.input_tokens,
  };
}

async function completions() {
  const body = { model, prompt: "say Once upon a time", max_tokens: 16 };
  const whole = answered(await client.POST("/v1/completions", { body, ...asForm }));
  const { data } = await streaming.POST("/v1/completions", {
    body: { ...body, stream: true },
    ...asForm,
    parseAs: "stream",
  });
  const streamed = await events<Schemas["Completion"]>(data ?? null);
  return {
    object: whole.object,
    whole: whole.choices[0]?.text,
    streamed: streamed.map(({ choices }) => choices[0]?.text ?? "").join(""),
  };
}

async function embeddings() {
  const list = answered(
    await client.POST("/v1/embeddings", {
      body: { model: "embedded-embedding", input: "The quick brown fox", encoding_format: "float", dimensions: 8 },
      ...asForm,
    }),
  );
  const vector = list.data[0]?.embedding;
  return { object: list.object, length: Array.isArray(vector) ? vector.length : undefined };
}

async function speech() {
  const { data, response } = await createClient<paths, "audio/flac">(as(API_KEY)).POST("/v1/audio/speech", {
    body: { model: "tts-1", voice: "alloy", input: "Hello!", response_format: "flac", speed: 1.25 },
    ...asForm,
    parseAs: "stream",
  });
  const bytes = await new Response(data ?? null).arrayBuffer();
  const magic = Buffer.from(bytes).toString("latin1", 0, 4);
  return { type: response.headers.get("content-type"), magic };
}

async function responses() {
  const made = answered(await client.POST("/v1/responses", { body: { model, input: "say Hello!" } }));
  const params = { path: { id: made.id } };
  const kept = answered(await client.GET("/v1/responses/{id}", { params }));
  const items = answered(
    await client.GET("/v1/responses/{id}/input_items", { params: { ...params, query: { order: "asc" } } }),
  );
  const removed = answered(await client.DELETE("/v1/responses/{id}", { params }));
  const { data } = await streaming.POST("/v1/responses", {
    body: { model, input: "say Hello!", stream: true },
    parseAs: "stream",
  });
  const streamed = await events<Schemas["ResponseStreamEvent"]>(data ?? null);
  return {
    same: kept.id === made.id,
    items: items.data.length,
    deleted: removed.deleted,
    streamed: streamed.flatMap(({ type, delta }) => (type === "response.output_text.delta" ? [delta] : [])).join(""),
  };
}

async function models() {
  const { data } = answered(await client.GET("/v1/models", { params: { query: { limit: 2 } } }));
  const one = answered(await client.GET("/v1/models/{id}", { params: { path: { id: model } } }));
  return { listed: data.length, kind: one.kind };
}

async function keys() {
  const made = answered(
    await admin.POST("/api/v1/user/admin/create-api-token", {
      body: { name: "typed", credit_limit: 5, models: ["embedded-chat"] },
    }),
  );
  const { id } = made.data;
  const updated = answered(
    await admin.POST("/api/v1/user/admin/update-api-token", { body: { id, credit_limit: "" }, ...asForm }),
  );
  const rotated = answered(
    await admin.POST("/api/v1/user/admin/rotate-api-token", { body: { id, overlap_seconds: 0 } }),
  );
  const listed = answered(await admin.POST("/api/v1/user/admin/get-api-tokens"));
  const removed = answered(await admin.POST("/api/v1/user/admin/delete-api-token", { body: { id }, ...asForm }));
  const own = answered(await client.GET("/v1/key"));
  return {
    limit: [made.data.credit_limit, updated.data.credit_limit ?? null],
    secret: rotated.data.secret?.startsWith("sk-"),
    listed: listed.data.some((key) => key.id === id),
    removed: removed.data === id,
    unit: own.unit,
  };
}

async function usage() {
  const { data = "" } = await createClient<paths, "text/csv">(as(ADMIN_KEY)).GET("/api/v1/usage/requests.csv", {
    parseAs: "text",
  });
  return data.split(",", 2);
}

async function refusals() {
  const openai = await client.POST("/v1/chat/completions", { body: { model: "nobody", messages } });
  const wrong = await client.POST("/v1/messages", {
    // @ts-expect-error The types know that the most output tokens are required.
    body: { model, messages: [{ role: "user", content: "Hi" }] },
  });
  const role = await client.POST("/v1/chat/completions", {
    // @ts-expect-error The types know the roles.
    body: { model, messages: [{ role: "stranger", content: "Hi" }] },
  });
  const forbidden = await client.POST("/api/v1/user/admin/get-api-tokens");
  const code = openai.error && "error" in openai.error ? openai.error.error.code : undefined;
  return [openai.response.status, code, wrong.response.status, role.response.status, forbidden.response.status];
}

const calls = { chat, tools, anthropic, completions, embeddings, speech, responses, models, keys, usage, refusals };
const outcomes: Record<string, unknown> = {};
for (const [name, call] of Object.entries(calls)) outcomes[name] = await call();
console.log(JSON.stringify(outcomes));
