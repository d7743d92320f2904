/** The served models follow the upstreams' lists while the gateway runs. */
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { finished } from "node:stream/promises";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { afterAll, describe, expect, test } from "vitest";
import { builtInCatalogue } from "../../src/config/catalogue/built-in.ts";
import { type Config, loadConfig, type ModelConfig, type UpstreamConfig, unusedKeys } from "../../src/config/config.ts";
import { createDiscovery } from "../../src/config/discovery/discover.ts";
import { askForModels, type ListAnswer } from "../../src/config/discovery/model-list.ts";
import { changedProcessKeys } from "../../src/config/live/live-config.ts";
import { hear } from "../support/clients/hear.ts";
import { temporaryFolder } from "../support/command.ts";
import { startTestGateway } from "../support/gateway.ts";
import { timed } from "../support/run/running-time.ts";

/** Waits is a timer that the test advances: it keeps the scheduled work and its delays. */
class Waits {
  readonly waiting: { readonly work: () => void; readonly ms: number }[] = [];
  readonly later = (work: () => void, ms: number) => {
    const wait = { work, ms };
    this.waiting.push(wait);
    return () => void this.waiting.splice(this.waiting.indexOf(wait), 1);
  };

  /** pass runs the work that was scheduled first, and returns its delay. */
  async pass(): Promise<number | undefined> {
    const next = this.waiting.shift();
    next?.work();
    await new Promise(setImmediate);
    return next?.ms;
  }
}

const down: ListAnswer = { kind: "down", cause: "ECONNREFUSED", reason: "CONNECTION_REFUSED", parameters: {} };
const untold: ListAnswer = {
  ...{ kind: "untold" as const, cause: "it answered with status 404" },
  ...{ reason: "LIST_NOT_FOUND" as const, parameters: {} },
};

function listing(...ids: string[]): ListAnswer {
  const nothing = { kind: undefined, contextWindow: undefined, maxOutputTokens: undefined };
  return { kind: "list", list: new Map(ids.map((id) => [id, nothing])) };
}

/** discovering starts discovery with these answers in order; the last one is repeated. */
async function discovering(config: Config, ...answers: ListAnswer[]) {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const waits = new Waits();
  const ask = async () => (answers.length > 1 ? answers.shift() : answers[0]) as ListAnswer;
  const discovery = createDiscovery(config, { log, ask, later: waits.later });
  const first = (await discovery.begin()).map(({ id }) => id);
  const told: string[][] = [];
  discovery.follow((models) => void told.push(models.map(({ id }) => id)));
  const logged = () => lines.map((line) => JSON.parse(line) as { level: number; msg: string });
  return { discovery, waits, first, told, logged };
}

const local = loadConfig(undefined, { OPENAI_BASE_URL: "http://127.0.0.1:1/v1" });

describe("another configuration", () => {
  const two = { ...local, upstreams: [...local.upstreams, other("other", "http://127.0.0.1:2/v1")] };

  function other(name: string, base_url: string): UpstreamConfig {
    return { name, kind: "openai", base_url, discover: true };
  }

  test("has a new upstream asked at once, and no known one again", async () => {
    const { discovery, told, first } = await discovering(local, listing("llama"), listing("qwen"));
    expect(first).toContain("llama");
    const { models, commit } = discovery.prepare(two);
    expect(models.map(({ id }) => id)).toEqual(first);
    commit();
    await new Promise(setImmediate);
    expect(told.at(-1)).toEqual([...first, "qwen"]);
    expect(told).toHaveLength(1);
  });

  test("has no models of an upstream that is gone, and asks it no more", async () => {
    const { discovery, waits, first } = await discovering(two, listing("llama"), listing("qwen"));
    expect(first).toContain("qwen");
    const { models, commit } = discovery.prepare(local);
    expect(models.map(({ id }) => id)).not.toContain("qwen");
    commit();
    expect(waits.waiting).toHaveLength(1);
  });

  test("keeps the models of an upstream with another address until that has answered, and then has its own", async () => {
    const { discovery, told, first } = await discovering(two, listing("llama"), listing("qwen"), down);
    const moved = { ...two, upstreams: [...local.upstreams, other("other", "http://127.0.0.1:3/v1")] };
    const { models, commit } = discovery.prepare(moved);
    expect(models.map(({ id }) => id)).toEqual(first);
    commit();
    await new Promise(setImmediate);
    expect(told.at(-1)).not.toContain("qwen");
    expect(told.at(-1)).toContain("llama");
  });

  test("keeps them where the same address only has another key, and does not answer now", async () => {
    const { discovery, told } = await discovering(two, listing("llama"), listing("qwen"), down);
    discovery.prepare({ ...two, upstreams: two.upstreams.map((one) => ({ ...one, api_key: "other" })) }).commit();
    await new Promise(setImmediate);
    expect(told).toEqual([]);
  });
});

describe("a server to be discovered", () => {
  test("that is down at the start serves nothing, is asked again after longer and longer, and is served once it answers", async () => {
    const answers = [down, down, down, down, down, down, down, listing("llama", "gpt-5.1")];
    const { waits, first, told, logged } = await discovering(local, ...answers);
    expect(first).toEqual([]);
    const paused: unknown[] = [];
    while (told.length === 0) paused.push(await waits.pass());
    expect(paused).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
    expect(told).toEqual([["gpt-5.1", "llama"]]);
    // One line that it is down, one that it is there.
    expect(logged().map(({ level }) => level)).toEqual([40, 30]);
    expect(logged()[0]?.msg).toMatch(/asked again/);
  });

  test("loses what it lists no more, and gains what it lists anew; the same list again changes nothing", async () => {
    const { waits, first, told } = await discovering(local, listing("a", "b"), listing("b", "c"), listing("b", "c"));
    expect(first).toEqual(["a", "b"]);
    expect(await waits.pass()).toBe(60_000);
    expect(told).toEqual([["b", "c"]]);
    expect(await waits.pass()).toBe(60_000);
    expect(told).toEqual([["b", "c"]]);
  });

  test("keeps what it told while it is down, or tells nothing, and is asked soon", async () => {
    const { waits, told, logged } = await discovering(local, listing("a"), down, untold, listing("a"), listing());
    expect(await waits.pass()).toBe(60_000);
    expect(await waits.pass()).toBe(1000);
    expect(await waits.pass()).toBe(2000);
    expect(told).toEqual([]);
    expect(await waits.pass()).toBe(60_000);
    expect(told).toEqual([[]]);
    expect(logged().map(({ level }) => level)).toEqual([30, 40, 30]);
  });

  test("that has no list keeps the catalogue's models of its name, as one that told nothing", async () => {
    const { first, waits, told } = await discovering(local, untold, listing("a"));
    expect(first).toContain("gpt-5.1");
    expect(await waits.pass()).toBe(1000);
    expect(told).toEqual([["a"]]);
  });

  test("is asked no more once it is closed", async () => {
    const { discovery, waits, told } = await discovering(local, listing("a"), listing("b"));
    discovery.close();
    expect(waits.waiting).toEqual([]);
    expect(told).toEqual([]);
  });
});

describe("a vendor's own upstream", () => {
  const xai = loadConfig(undefined, { XAI_API_KEY: "k" });

  test("keeps of the catalogue's models those that it lists, and serves no other", async () => {
    const { first, waits, told } = await discovering(
      xai,
      listing("grok-4.6", "grok-9"),
      listing("grok-4.5", "grok-4.6"),
    );
    expect(first).toEqual(["grok-4.6"]);
    expect(await waits.pass()).toBe(3_600_000);
    expect(told).toEqual([["grok-4.5", "grok-4.6"]]);
  });

  test.for([
    ["that it has no list", untold],
    ["that it is down", down],
    ["only names that nobody knows", listing("other", "names")],
  ] as const)("keeps all of them where it tells %s", async ([, answer]) => {
    const { first, logged } = await discovering(xai, answer);
    expect(first).toEqual(["grok-4.5", "grok-4.6", "grok-4.7"]);
    expect(logged().filter(({ level }) => level > 30)).toEqual([]);
  });

  test("does not keep the start waiting for long", async () => {
    const log = pino({ level: "silent" });
    const discovery = createDiscovery(xai, { log, ask: () => new Promise(() => {}) });
    const [models, { runningMs }] = await timed(() => discovery.begin());
    expect(models.map(({ id }) => id)).toEqual(["grok-4.5", "grok-4.6", "grok-4.7"]);
    expect(runningMs).toBeLessThan(2500);
    discovery.close();
  });

  test("is known by the names with a folder that Google's list has, by snapshots of a day, and by aliases", async () => {
    const google = loadConfig(undefined, { GEMINI_API_KEY: "k" });
    const { first } = await discovering(google, listing("models/gemini-3.5-flash"));
    expect(first).toEqual(["gemini-3.5-flash"]);
    const dated = await discovering(xai, listing("grok-4.5-0708", "grok-4.6-fast"));
    expect(dated.first).toEqual(["grok-4.5"]);
    const anthropic = loadConfig(undefined, { ANTHROPIC_API_KEY: "k" });
    expect((await discovering(anthropic, listing("claude-haiku-4-5-20251001"))).first).toEqual(["claude-haiku-4-5"]);
  });

  test("is not asked where gateway.yaml says `discover: false`", async () => {
    const upstreams = xai.upstreams.map((upstream) => ({ ...upstream, discover: false }));
    const { first, waits } = await discovering({ ...xai, upstreams }, listing("grok-4.6"));
    expect(first).toEqual(["grok-4.5", "grok-4.6", "grok-4.7"]);
    expect(waits.waiting).toEqual([]);
  });
});

test.each([
  ["xai", "https://api.x.ai/v1", "", undefined],
  ["xai", "http://127.0.0.1:1/v1", "", false],
  ["mine", "https://api.x.ai/v1", "", false],
  ["xai", "http://127.0.0.1:1/v1", "    discover: true", true],
  ["xai", "https://api.x.ai/v1", "    discover: false", false],
])("an upstream %s at %s of gateway.yaml is asked as that says%s: %s", async (name, base_url, more, discover) => {
  const folder = await temporaryFolder();
  const file = join(folder.path, "gateway.yaml");
  await writeFile(file, `upstreams:\n  - name: ${name}\n    kind: openai\n    base_url: ${base_url}\n${more}`);
  expect(loadConfig(file, {}).upstreams[0]?.discover).toBe(discover);
  await folder.remove();
});

describe("a vendor's key alone", () => {
  test.for(builtInCatalogue().vendors)("serves its models, has them listed, or is named as unused: $name", (vendor) => {
    const env = { [vendor.key_variable]: "k" };
    const { models, upstreams } = loadConfig(undefined, env);
    const [upstream] = upstreams;
    expect(unusedKeys(undefined, env)).toEqual(vendor.base_url === undefined ? [vendor.key_variable] : []);
    expect(upstream?.name).toBe(vendor.base_url === undefined ? undefined : vendor.name);
    if (upstream) expect(models.length > 0).toBe(upstream.discover === undefined);
  });

  test("that is not used makes no other configuration", () => {
    const [none, unused] = [{}, { VLLM_API_KEY: "k" }].map((env) => loadConfig(undefined, env)) as [Config, Config];
    expect(changedProcessKeys(none, unused)).toEqual([]);
  });

  test("is used where its address is set, too", () => {
    const env = { AZURE_OPENAI_API_KEY: "k", AZURE_OPENAI_ENDPOINT: "https://mine.openai.azure.com" };
    expect(loadConfig(undefined, env)).toMatchObject({ upstreams: [{ name: "azure" }] });
    expect(unusedKeys(undefined, env)).toEqual([]);
  });
});

describe("a list", () => {
  const servers: Server[] = [];
  afterAll(() => {
    for (const server of servers) server.close().closeAllConnections();
  });

  async function asked(answer: unknown, more: Partial<UpstreamConfig> = {}) {
    const seen: { url: string | undefined; headers: Record<string, unknown> }[] = [];
    const server = createServer((req, res) => {
      seen.push({ url: req.url, headers: req.headers });
      res.end(JSON.stringify(answer));
    }).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    const base_url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
    const upstream = { name: "local", kind: "openai", base_url, api_key: "k", ...more } as UpstreamConfig;
    const told = await askForModels(upstream, new AbortController().signal);
    return { told: told.kind === "list" ? Object.fromEntries(told.list) : told, seen };
  }

  test.for<[string, unknown, object]>([
    [
      "vLLM's and SGLang's",
      { object: "list", data: [{ id: "Qwen/Qwen3-8B", object: "model", owned_by: "vllm", max_model_len: 32768 }] },
      { "Qwen/Qwen3-8B": { contextWindow: 32768 } },
    ],
    [
      "llama.cpp's",
      {
        object: "list",
        models: [{ name: "q.gguf", model: "q.gguf", capabilities: ["completion"] }],
        data: [{ id: "q.gguf", object: "model", owned_by: "llamacpp", meta: { n_ctx_train: 131072 } }],
      },
      { "q.gguf": {} },
    ],
    [
      "Ollama's",
      { object: "list", data: [{ id: "llama3.2:3b", owned_by: "library" }, { id: "nomic-embed-text:latest" }] },
      { "llama3.2:3b": {}, "nomic-embed-text:latest": { kind: "embedding" } },
    ],
    ["one of names alone", { object: "list", data: ["a", "embed-b"] }, { a: {}, "embed-b": { kind: "embedding" } }],
    ["a bare one of names", ["a", "", "b c"], { a: {} }],
    ["Ollama's where it has no model", { object: "list", data: null }, {}],
    [
      "LM Studio's",
      {
        data: [
          { id: "gemma", type: "vlm", max_context_length: 8192 },
          { id: "text-embedding-nomic", type: "embeddings" },
        ],
      },
      { gemma: { kind: "chat", contextWindow: 8192 }, "text-embedding-nomic": { kind: "embedding" } },
    ],
    [
      "Together's, which is a bare list of more than the gateway serves",
      [
        { id: "some/chat", type: "chat", context_length: 4096 },
        { id: "some/flux", type: "image" },
      ],
      { "some/chat": { kind: "chat", contextWindow: 4096 } },
    ],
    [
      "Groq's",
      { data: [{ id: "gpt-oss", context_window: 131072, max_completion_tokens: 65536 }] },
      { "gpt-oss": { contextWindow: 131072, maxOutputTokens: 65536 } },
    ],
    [
      "Groq's, with what takes no calls, and what is served nowhere",
      {
        data: [
          { id: "old", active: false },
          { id: "whisper-large-v3", active: true },
          { id: "playai-tts", active: true },
        ],
      },
      { "playai-tts": { kind: "speech" } },
    ],
    [
      "Mistral's",
      {
        data: [
          { id: "mistral-large", type: "base", capabilities: { completion_chat: true }, max_context_length: 9 },
          { id: "mistral-embed", type: "base", capabilities: { completion_chat: false } },
          { id: "mistral-ocr", type: "base", capabilities: { completion_chat: false } },
        ],
      },
      { "mistral-large": { kind: "chat", contextWindow: 9 }, "mistral-embed": { kind: "embedding" } },
    ],
    [
      "Volcengine's",
      {
        data: [
          { id: "doubao", domain: "VLM", token_limits: { context_window: 9, max_output_token_length: 4 } },
          { id: "gone", domain: "LLM", status: "Shutdown" },
          { id: "seedream", domain: "ImageGeneration" },
        ],
      },
      { doubao: { kind: "chat", contextWindow: 9, maxOutputTokens: 4 } },
    ],
    [
      "GitHub's",
      [
        { id: "a", limits: { max_input_tokens: 9, max_output_tokens: 4 }, supported_output_modalities: ["text"] },
        { id: "b", supported_output_modalities: ["embeddings"] },
        { id: "c", supported_output_modalities: ["image"] },
      ],
      { a: { kind: "chat", contextWindow: 9, maxOutputTokens: 4 }, b: { kind: "embedding" } },
    ],
    [
      "Cohere's",
      {
        models: [
          { name: "command", endpoints: ["generate", "chat"], context_length: 9 },
          { name: "vectors", endpoints: ["embed"] },
          { name: "order", endpoints: ["rerank"] },
        ],
      },
      { command: { kind: "chat", contextWindow: 9 }, vectors: { kind: "embedding" } },
    ],
    [
      "Anthropic's and this gateway's",
      {
        data: [
          { id: "claude", type: "model", max_input_tokens: 9, max_tokens: 4 },
          { id: "other", max_tokens: 9 },
        ],
      },
      { claude: { contextWindow: 9, maxOutputTokens: 4 }, other: {} },
    ],
    ["LiteLLM's, with patterns", { data: [{ id: "*" }, { id: "openai/*" }, { id: "gpt" }] }, { gpt: {} }],
    [
      "entries by their names",
      { data: { a: { id: "a", max_model_len: 9 }, b: { id: "b" } } },
      { a: { contextWindow: 9 }, b: {} },
    ],
    ["one within an envelope", { code: 0, data: { object: "list", data: [{ id: "a" }] } }, { a: {} }],
    ["one within a result", { success: true, result: { models: [{ model_name: "a" }] } }, { a: {} }],
    [
      "one with nonsense in it",
      { data: [null, 5, { id: 5 }, { id: "a b" }, { id: "m", max_model_len: "x" }] },
      { m: {} },
    ],
  ])("of %s form is read", async ([, answer, expected]) => {
    const { told } = await asked(answer);
    expect(JSON.parse(JSON.stringify(told))).toEqual(expected);
  });

  test.for([
    [
      "embedding",
      ["bge-m3", "all-minilm:latest", "embeddinggemma:300m", "nomic-embed-text", "intfloat/e5-mistral-7b-instruct"],
    ],
    ["embedding", ["Alibaba-NLP/gte-Qwen2-7B-instruct", "sentence-transformers/all-MiniLM-L6-v2", "voyage-3.5"]],
    ["speech", ["kokoro", "tts-1-hd", "gpt-4o-mini-tts", "coqui/XTTS-v2", "canopylabs/orpheus-v1-english"]],
    [
      undefined,
      [
        "llama3.2:3b",
        "qwen3:8b",
        "gpt-oss:20b",
        "gemma3:4b",
        "orpheus-3b-0.1-ft",
        "deepseek-r1",
        "gemini-2.5-flash-image",
        ...["a3f8c2d1-e512-4c11-9f00-aabbccddeeff", "my-model-7e51c2a9", "llama-3e5-instruct", "ep-20240712-0e512"],
        ...[
          "flux-chat-7b",
          "Sao10K/Sora-Chat",
          "stable-diffusion-prompt-generator-llm",
          "pied-piper-7b",
          "Voyage-Chat-7B",
        ],
      ],
    ],
  ] as const)("of mere names has their kinds: %s", async ([kind, names]) => {
    const { told } = await asked({ data: names.map((id) => ({ id })) });
    expect(told).toEqual(Object.fromEntries(names.map((id) => [id, { kind }])));
  });

  test("of mere names leaves out what the gateway does not serve", async () => {
    const others = [
      "BAAI/bge-reranker-v2-m3",
      "whisper-large-v3",
      "sora-2",
      "FLUX.1-schnell",
      "stable-diffusion-xl",
      "gpt-realtime",
    ];
    const { told } = await asked({
      data: [...others, "chatgpt-image-latest", "m"].map((id) => ({ id })),
    });
    expect(told).toEqual({ m: {} });
  });

  test.each([
    ["with a byte order mark", {}, (json: string) => Buffer.from(`\uFEFF${json}`)],
    ["compressed, though nobody asked for that", { "content-encoding": "gzip" }, gzipSync],
    ["not compressed, though it says so", { "content-encoding": "utf-8" }, (json: string) => Buffer.from(json)],
  ] as const)("%s is read", async (_, fields, written) => {
    const server = createServer((_, res) => {
      res.writeHead(200, { "content-type": "application/json", ...fields }).end(written('{"data":[{"id":"a"}]}'));
    }).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    const base_url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
    const told = await askForModels({ name: "n", kind: "openai", base_url }, new AbortController().signal);
    expect(told.kind === "list" && [...told.list.keys()]).toEqual(["a"]);
  });

  test("is asked of Anthropic's servers in their own way, whole", async () => {
    const { told, seen } = await asked(
      { data: [{ id: "claude", type: "model" }], has_more: false },
      { kind: "anthropic" },
    );
    expect(told).toHaveProperty("claude");
    expect(seen[0]?.url).toBe("/v1/models?limit=1000");
    expect(seen[0]?.headers).toMatchObject({ "x-api-key": "k", "anthropic-version": "2023-06-01" });
    expect(seen[0]?.headers.authorization).toBeUndefined();
  });

  test.for([
    [500, "down", "STATUS_REFUSED"],
    [503, "down", "STATUS_REFUSED"],
    [429, "down", "RATE_LIMITED"],
    [404, "untold", "LIST_NOT_FOUND"],
    [302, "untold", "REDIRECTED"],
    [401, "refused", "CREDENTIAL_REFUSED"],
    [403, "refused", "CREDENTIAL_REFUSED"],
    [501, "untold", "LIST_NOT_FOUND"],
  ] as const)("that is answered with %s is %s", async ([status, kind, reason]) => {
    const server = createServer((_, res) => void res.writeHead(status).end()).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    const base_url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
    const told = await askForModels({ name: "n", kind: "openai", base_url }, new AbortController().signal);
    const parameters = { status: String(status) };
    expect(told).toEqual({ kind, cause: `it answered with status ${status}`, reason, parameters });
  });
});

describe("a list that is not read", () => {
  test.for<[string, string, (socket: Socket) => void]>([
    ["is cut off", "CONNECTION_BROKEN", (to) => to.end("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{")],
    ["stalls", "NO_ANSWER", (to) => void to.write("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{")],
    ["never begins", "NO_ANSWER", () => {}],
    ["is no HTTP", "TLS_EXPECTED", (to) => to.end("\x15\x03\x03\x00\x02\x02\x28")],
    ["is refused by closing", "CONNECTION_BROKEN", (to) => to.end()],
    [
      "is too large",
      "LIST_TOO_LARGE",
      (to) => void to.write(`HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${" ".repeat(4_200_000)}`),
    ],
    [
      "is refused at endless length",
      "STATUS_REFUSED",
      (to) => void to.write(`HTTP/1.1 500 No\r\nconnection: close\r\n\r\n${" ".repeat(9_000_000)}`),
    ],
  ])("as it %s, says so: %s", async ([, reason, answer]) => {
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => {
      sockets.add(socket.on("error", () => {}));
      socket.once("data", () => answer(socket));
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const base_url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
    const told = await askForModels({ name: "n", kind: "openai", base_url }, new AbortController().signal, 500);
    expect(told).toMatchObject({ reason });
    // Nobody is left at the other end.
    for (const socket of sockets) await finished(socket).catch(() => {});
    server.close();
  });
});

test("a list of more models than can be looked through at once is none", async () => {
  const server = createServer((_, res) => {
    res.end(JSON.stringify({ data: Array.from({ length: 10_001 }, (_, i) => ({ id: `m${i}` })) }));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const base_url = `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
  const told = await askForModels({ name: "n", kind: "openai", base_url }, new AbortController().signal);
  server.close();
  expect(told).toMatchObject({ kind: "untold", cause: "its list has more than 10000 models" });
});

test("a local server is not spoken to as OpenAI is, but for OpenAI's own models; one at a known address as that vendor is", () => {
  const [upstream] = local.upstreams;
  expect(upstream?.profile).not.toHaveProperty("output_bound");
  expect(upstream?.profile).not.toHaveProperty("refuses");
  const [own] = upstream?.profile?.models ?? [];
  expect(own).toMatchObject({ output_bound: "max_completion_tokens", developer: "kept" });
  expect(own?.match).toContain("gpt-5.*");
  const env = { OPENAI_BASE_URL: "https://openrouter.ai/api/v1", OPENAI_API_KEY: "k" };
  expect(loadConfig(undefined, env).upstreams[0]?.profile).toMatchObject({ thoughts: "reasoning", developer: "kept" });
});

test("models that are served anew take calls at once, and those that are gone are not found; what stays keeps how it fares", async () => {
  const targets = (model: string) => [{ upstream: "embedded", model, priority: 0, weight: 1 }];
  const model = (id: string): ModelConfig => {
    const price = { input: 0, output: 0 };
    return { id, aliases: [], family: "f", kind: "chat", price, targets: targets("embedded-chat") };
  };
  const gateway = await startTestGateway({ models: [model("stays"), model("goes")] });
  try {
    const say = async (id: string) => {
      const body = { model: id, max_tokens: 2, messages: [{ role: "user", content: "Hi" }] };
      return (await hear(gateway, { path: "/v1/chat/completions", apiKey: gateway.apiKey, body }).answer).status;
    };
    const listed = async () => {
      const answer = await fetch(`${gateway.baseUrl}/models`, {
        headers: { authorization: `Bearer ${gateway.apiKey}` },
      });
      return ((await answer.json()) as { data: { id: string }[] }).data.map(({ id }) => id);
    };
    expect([await say("goes"), await say("comes")]).toEqual([200, 404]);
    gateway.serveModels([model("stays"), model("comes")]);
    expect([await say("stays"), await say("goes"), await say("comes")]).toEqual([200, 404, 200]);
    expect((await listed()).slice(0, 2)).toEqual(["stays", "comes"]);
  } finally {
    await gateway.close();
  }
});
