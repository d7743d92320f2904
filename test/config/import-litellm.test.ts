/**
 * Configurations of LiteLLM, as people write them, become a gateway.yaml that loads: with the same models at the same addresses, with
 * prices exact to the last digit, without a secret in it, and with everything that is not as it was listed by its line.
 */
import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type Config, loadConfig } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import type { Imported } from "../../src/config/import/imported.ts";
import { importLiteLlm } from "../../src/config/import/litellm/import-litellm.ts";
import { perMillion } from "../../src/config/import/litellm/prices.ts";
import { bareNames, providers } from "../../src/config/import/litellm/providers.ts";
import { instead } from "../../src/config/import/litellm/settings-elsewhere.ts";
import { modeNames, modes } from "../../src/config/import/modes.ts";
import { noteText } from "../../src/config/import/notes.ts";
import { catalogueSchema } from "../../src/config/schema-models.ts";
import { urlSchema } from "../../src/config/values.ts";
import { root } from "../support/command.ts";
import { startTestGateway } from "../support/gateway.ts";
import { type ScriptedExchange, startScriptedUpstream } from "../support/scripted-upstream.ts";
import { vendors } from "../support/upstreams/vendor-profiles.ts";

const fixtures = join(root, "test/fixtures/litellm");
const names = readdirSync(fixtures).filter((name) => !name.startsWith("included-"));

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "import-test-"));
});
afterAll(() => rm(folder, { recursive: true }));

const readText = (path: string) => readFileSync(path, "utf8");
const read = (name: string) => importLiteLlm(join(fixtures, name), readText);
const notesOf = ({ notes }: Imported) => notes.map((note) => noteText(note, basename));

/** Gives every variable a value of its kind. */
const environmentFor = ({ variables }: Imported) =>
  Object.fromEntries(
    variables.map((name) => [
      name,
      /BASE|URL/.test(name) ? "https://far.example" : `value-of-${name}-${"x".repeat(32)}`,
    ]),
  );

async function load(imported: Imported): Promise<Config> {
  const file = join(folder, "gateway.yaml");
  await writeFile(file, imported.text);
  return loadConfig(file, environmentFor(imported));
}

/** Returns the variables that a configuration lacks. */
function unsetIn(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    const named = [...(error as Error).message.matchAll(/the environment variable (\w+) is not set/g)];
    return [...new Set(named.map(([, name = ""]) => name))].sort();
  }
  return [];
}

const modelIn = ({ models }: Config, id: string) => models.find((model) => model.id === id);
const upstreamIn = ({ upstreams }: Config, name: string) => upstreams.find((upstream) => upstream.name === name);

/** Returns the price of a model in the catalogue, in dollars. */
function inDollars(id: string): unknown {
  const { models } = catalogueSchema.parse(parse(readText(join(root, "catalog/models.yaml"))));
  return models.find((model) => model.id === id)?.price;
}

/** Reads a configuration that a test writes itself. */
async function readWritten(text: string): Promise<Imported> {
  const file = join(folder, "config.yaml");
  await writeFile(file, text);
  return importLiteLlm(file, readText);
}

describe("every configuration", () => {
  test("is one of a dozen", () => expect(names.length).toBeGreaterThanOrEqual(12));

  test.each(names)("%s becomes a file that loads, with every model that it says", async (name) => {
    const imported = read(name);
    const config = await load(imported);
    expect(config.upstreams.length).toBe(imported.upstreams);
    const own = config.models.filter(({ id }) => !config.catalogue.some((known) => known.id === id));
    expect(own.length).toBe(imported.models);
    expect(config.models.length).toBe(own.length);
    expect(config.unit).toEqual({ code: "USD", symbol: "$" });
    expect(config.embeddedModels).toBe(false);
  });

  test.each(names)("%s needs the variables that are named, and no others", async (name) => {
    const imported = read(name);
    await load(imported);
    expect(unsetIn(() => loadConfig(join(folder, "gateway.yaml"), {}))).toEqual(imported.variables);
  });

  test.each(names)("%s has its notes in the file, too, with the lines that they are about", (name) => {
    const imported = read(name);
    const head = imported.text.slice(0, imported.text.indexOf("\nunit:"));
    const comments = head.replace(/^#/gm, "");
    for (const note of notesOf(imported)) expect(comments.replace(/\s+/g, " ")).toContain(note.replace(/\s+/g, " "));
    for (const { places } of imported.notes) {
      expect(places.length).toBeGreaterThan(0);
      for (const { file, line } of places) {
        const lines = readText(file).split("\n");
        expect(lines[line - 1]?.trim(), `${file}:${line}`).toMatch(/^[^#\s]/);
      }
    }
  });
});

describe("models", () => {
  test("of a name are targets of one model, shared as their rates are", async () => {
    const config = await load(read("azure-regions.yaml"));
    expect(modelIn(config, "gpt-4.1")).toMatchObject({
      family: "gpt-4.1",
      kind: "chat",
      context_window: 1_047_576,
      price: { input: 2_000_000, output: 8_000_000, cache_read: 500_000 },
      targets: [
        { upstream: "azure-1", model: "prod-gpt41", priority: 1, weight: 3 },
        { upstream: "azure-2", model: "prod-gpt41", priority: 1, weight: 1 },
        { upstream: "azure-3", model: "gpt41", priority: 2, weight: 1 },
      ],
    });
    expect(config.upstreams).toMatchObject([
      { base_url: "https://contoso-eu.openai.azure.com/openai/v1", vendor: "azure", credential: "api-key" },
      { base_url: "https://contoso-us.openai.azure.com/openai/v1", query: { "api-version": "preview" } },
      {
        base_url: "https://apim.contoso.example/llm/openai/deployments/gpt41",
        query: { "api-version": "2024-06-01" },
        credential: "api-key",
        headers: { "X-Cost-Center": "4711", "Ocp-Apim-Subscription-Key": expect.stringContaining("APIM_SUBSCRIPTION") },
      },
      { base_url: "https://far.example/openai/v1", vendor: "azure" },
      { kind: "anthropic", base_url: "https://contoso.services.ai.azure.com/anthropic/v1", credential: "x-api-key" },
    ]);
    expect(modelIn(config, "embeddings")).toMatchObject({
      kind: "embedding",
      dimensions: 3072,
      price: { input: 130_000 },
    });
  });

  test("at servers of one's own need no key, and keep their bounds and times", async () => {
    const config = await load(read("local-servers.yaml"));
    expect(config.upstreams.map(({ api_key }) => api_key)).toEqual(Array(7).fill(undefined));
    expect(upstreamIn(config, "hosted_vllm-2")).toMatchObject({
      base_url: "http://10.0.0.6:8000/v1",
      vendor: "vllm",
      timeouts: { first_byte_seconds: 120, idle_seconds: 30 },
      queue: { max_concurrent: 32 },
    });
    expect(upstreamIn(config, "ollama_chat-1")?.base_url).toBe("http://localhost:11434/v1");
    expect(upstreamIn(config, "openai-1")).toMatchObject({ base_url: "http://tgi.internal:3000/v1", discover: false });
    expect(upstreamIn(config, "openai-1")?.vendor).toBeUndefined();
    expect(upstreamIn(config, "openai-1")?.profile?.models).toEqual([
      { match: ["tgi"], refuses: ["user", "messages[].name"] },
    ]);
    expect(modelIn(config, "llama")).toMatchObject({ context_window: 131_072, price: { input: 0, output: 0 } });
    expect(modelIn(config, "nomic")?.kind).toBe("embedding");
    expect(modelIn(config, "instruct")).toMatchObject({ kind: "chat", completions: "native" });
  });

  test("of many vendors are asked where the vendor is, with its profile; others are named with what to do", async () => {
    const imported = read("many-vendors.yaml");
    const config = await load(imported);
    const vendorOf = (id: string) => upstreamIn(config, modelIn(config, id)?.targets[0]?.upstream ?? "")?.vendor;
    expect(
      ["grok", "mistral", "deepseek", "groq-llama", "together-llama", "kimi", "qwen", "glm"].map(vendorOf),
    ).toEqual(["xai", "mistral", "deepseek", "groq", "together", "moonshot", "alibaba", "zai"]);
    expect(modelIn(config, "grok")?.price).toEqual(inDollars("grok-4.6"));
    expect(modelIn(config, "or-claude")?.price).toBeUndefined();
    expect(modelIn(config, "or-claude")?.targets[0]?.model).toBe("anthropic/claude-sonnet-5");
    expect(modelIn(config, "fireworks")?.targets[0]?.model).toBe("accounts/fireworks/models/llama-v3p3-70b-instruct");
    expect(modelIn(config, "voice")?.kind).toBe("speech");
    expect(modelIn(config, "voyage")?.kind).toBe("embedding");
    const left = notesOf(imported).filter((note) => note.includes(": left out: "));
    expect(left).toEqual([
      expect.stringContaining(
        'many-vendors.yaml:19: left out: "bedrock-claude": the gateway does not sign requests for AWS',
      ),
      expect.stringContaining(
        'many-vendors.yaml:20: left out: "vertex-gemini": the gateway does not sign in to Vertex AI',
      ),
      expect.stringContaining('many-vendors.yaml:21: left out: "pictures": the gateway has no endpoint for images'),
      expect.stringContaining('many-vendors.yaml:22: left out: "ears": the gateway has no endpoint for transcription'),
      expect.stringContaining('many-vendors.yaml:23: left out: "nobody": its provider is not known here'),
    ]);
  });

  test("by wildcards are those that the upstream lists, an organization each", async () => {
    const config = await load(read("wildcards.yaml"));
    expect(
      config.upstreams.map(({ name, discover, headers }) => [name, discover, headers?.["OpenAI-Organization"]]),
    ).toEqual([
      ["openai-1", true, "org-1"],
      ["openai-2", true, "org-2"],
      ["anthropic-1", true, undefined],
      ["hosted_vllm-1", true, undefined],
    ]);
    // The same key, address and organization: the same upstream.
    expect(modelIn(config, "gpt-5.1")?.targets).toMatchObject([{ upstream: "openai-1", model: "gpt-5.1" }]);
  });

  test("that cannot be served are left out, each by its line, and the rest stands", async () => {
    const imported = read("broken-parts.yaml");
    expect((await load(imported)).models.map(({ id }) => id)).toEqual(["bad-variable", "time", "fine"]);
    const lines = notesOf(imported).flatMap((note) =>
      [...note.matchAll(/(?<=[:,] ?)(\d+)(?=[,:])/g)].map(([line]) => Number(line)),
    );
    expect(lines).toEqual(expect.arrayContaining([3, 5, 6, 8, 10, 13, 15, 18, 19]));
  });
});

describe("aliases and fallbacks", () => {
  test("are names and later targets of a model", async () => {
    const imported = read("routing.yaml");
    const config = await load(imported);
    expect(modelIn(config, "good")).toMatchObject({
      aliases: ["gpt-4"],
      targets: [
        { upstream: "openai-1", priority: 0 },
        { upstream: "anthropic-1", model: "claude-opus-5", priority: 1 },
        { upstream: "groq-1", priority: 2, weight: 9 },
        { upstream: "cerebras-1", priority: 2, weight: 1 },
      ],
    });
    expect(modelIn(config, "best")).toMatchObject({ aliases: ["hidden-one"], targets: [{ upstream: "anthropic-1" }] });
    expect(modelIn(config, "vectors")?.targets.length).toBe(1);
    expect(config.retries.attempts).toBe(4);
    expect(config.breaker).toEqual({ failures: 3, openMs: 600_000 });
    expect(upstreamIn(config, "openai-1")?.timeouts).toEqual({ first_byte_seconds: 45, idle_seconds: 20.5 });
    expect(notesOf(imported)).toContainEqual(expect.stringMatching(/routing\.yaml:12: left out: the alias "best"/));
    expect(notesOf(imported)).toContainEqual(
      expect.stringMatching(/routing\.yaml:15: left out: .* to "vectors": it is of another kind/),
    );
    expect(notesOf(imported)).toContainEqual(
      expect.stringMatching(/:14: changed: .*"fast" to "good" .* charged at the price of "fast"/),
    );
  });
});

describe("costs", () => {
  test("become prices without a digit lost", async () => {
    const imported = read("prices.yaml");
    const config = await load(imported);
    const price = (id: string) => modelIn(config, id)?.price;
    expect(price("exponent")).toEqual({ input: 1_500_000, output: 6_000_000, cache_read: 100_000 });
    expect(price("decimals")).toEqual({
      input: 270_000,
      output: 1_100_000,
      cache_write: 337_500,
      cache_write_hour: 540_000,
    });
    expect(price("tiny")).toEqual({ input: 2, output: 0 });
    expect(price("long")).toEqual({
      input: 1_250_000,
      output: 10_000_000,
      cache_read: 310_000,
      long: [
        { above: 128_000, input: 2_000_000, output: 10_000_000, cache_read: 310_000 },
        { above: 200_000, input: 2_500_000, output: 15_000_000, cache_read: 310_000 },
      ],
      priority: { input: 2_500_000, output: 20_000_000 },
      ultrafast: { input: 7_500_000, output: 60_000_000 },
      batch: { input: 625_000, output: 5_000_000 },
      web_search: 50_000,
    });
    expect(price("speech")).toEqual({ characters: 15_000_000 });
    expect(price("known")).toMatchObject({ input: 2_500_000, output: 10_000_000, priority: { input: 4_250_000 } });
    expect(price("known-cheaper")).toEqual({ input: 2_000_000, output: 8_000_000 });
    expect(price("dated")).toEqual(price("known"));
    expect(price("embedding")).toEqual({ input: 20_000 });
    expect(notesOf(imported)).toEqual([
      expect.stringMatching(/^prices\.yaml:9: changed: .*rounded up$/),
      expect.stringMatching(/^prices\.yaml:35: changed: "dated": it has the price of gpt-4o/),
      expect.stringMatching(/^prices\.yaml:30: left out: input_cost_per_second/),
    ]);
  });

  test("of the input alone leave the output its known price, or nothing, which is told", async () => {
    const imported = await readWritten(`model_list:
  - { model_name: known, litellm_params: { model: openai/gpt-4o, input_cost_per_token: 2e-6 } }
  - { model_name: own, litellm_params: { model: openai/house, input_cost_per_token: 2e-6 } }
`);
    const config = await load(imported);
    expect(modelIn(config, "known")?.price).toEqual({ input: 2_000_000, output: 10_000_000 });
    expect(modelIn(config, "own")?.price).toEqual({ input: 2_000_000, output: 0 });
    expect(notesOf(imported)).toEqual([
      expect.stringMatching(/^config\.yaml:3: to do: there is no output_cost_per_token/),
    ]);
  });

  test.each([
    ["0.0000015", "1.50", true],
    ["1.5e-06", "1.50", true],
    ["15E-7", "1.50", true],
    ["3e-6", "3.00", true],
    ["0.1", "100000.00", true],
    [".000001", "1.00", true],
    ["0", "0.00", true],
    ["0.000000000001", "0.000001", true],
    ["0.0000000000001", "0.000001", false],
    ["1.2345678901234e-06", "1.234568", false],
    ["9007199254740993e-21", "9.0072", false],
  ])("of %s a token are %s for a million", (text, price, isExact) => {
    expect(perMillion(text)).toEqual({ text: price, isExact });
  });

  test.each(["", "free", "-1", "1e", "0x10", "1e9999"])("are not read of %j", (text) => {
    expect(perMillion(text)).toBeUndefined();
  });
});

describe("secrets", () => {
  test("that are written out are in no line of the file, and in no note", () => {
    const imported = read("written-secrets.yaml");
    const source = readText(join(fixtures, "written-secrets.yaml"));
    const plain = [...new Set(source.match(/[\w-]*plain-[\w-]+/g))];
    expect(plain.length).toBe(10);
    const all = imported.text + notesOf(imported).join("\n");
    for (const secret of plain) expect(all).not.toContain(secret);
  });

  test("are read from variables that have the upstream's name", async () => {
    const imported = read("written-secrets.yaml");
    const config = await load(imported);
    expect(config.upstreams.map(({ api_key }) => api_key?.replace(/-x+$/, ""))).toEqual([
      "value-of-OPENAI_1_API_KEY",
      "value-of-OPENAI_2_API_KEY",
      "value-of-OPENAI_API_KEY",
      "value-of-OPENAI_4_API_KEY",
    ]);
    expect(config.upstreams[3]?.headers).toEqual({ Authorization: expect.stringContaining("OPENAI_4_AUTHORIZATION") });
    expect(config.operatorKey).toContain("OPERATOR_KEY");
    const toDo = notesOf(imported).filter((note) => note.includes(": to do: "));
    expect(toDo.map((note) => /^\S+:(\d+):/.exec(note)?.[1])).toEqual(["3", "7", "9", "13", "18", "21"]);
  });

  test("that are too short for an operator are not one", async () => {
    const imported = await readWritten("general_settings: { master_key: sk-1234 }\nmodel_list: []\n");
    expect((await load(imported)).operatorKey).toBeUndefined();
    expect(notesOf(imported)[0]).toMatch(/^config\.yaml:1: to do: the operator_key needs at least 32 characters/);
    expect(imported.text).not.toContain("sk-1234");
  });
});

describe("settings", () => {
  test("that have a counterpart are carried over; the others are named, each with what to do", async () => {
    const imported = read("everything-around.yaml");
    const config = await load(imported);
    expect(config).toMatchObject({
      logLevel: "info",
      maxBodyBytes: 32 * 1024 ** 2,
      cache: { maxBytes: 256 * 1024 ** 2, keepMs: 60_000, priceShare: 0 },
      breaker: { failures: 1_000_000_000 },
      metrics: { port: 9464, isAsked: true },
      telemetry: { endpoint: "http://collector:4318" },
      retention: { requestsMs: 30 * 86_400_000 },
      defaultModels: { completion: "gpt-5.1" },
    });
    expect(modelIn(config, "gpt-5.1")).toMatchObject({ family: "premium", reasoning: true });
    const named = notesOf(imported).join("\n");
    for (const what of [
      "temperature",
      "tags",
      "langfuse",
      "sentry",
      "custom_callbacks.handler",
      "max_budget",
      "guardrails",
      "redis_host",
    ])
      expect(named).toContain(what);
    for (const what of [
      "database_url",
      "store_model_in_db",
      "alerting",
      "pass_through_endpoints",
      "use_x_forwarded_for",
      "unheard_of",
    ])
      expect(named).toContain(`general_settings.${what}`);
    for (const what of ["set_verbose", "enable_pre_call_checks", "supports_vision"]) expect(named).not.toContain(what);
  });

  test("are told by what the gateway has in their place", () => {
    const told = (...settings: readonly string[]) => settings.map((name) => instead.get(name));
    for (const text of told("max_budget", "budget_duration")) expect(text).toContain("by the day, week or month");
    for (const text of told("redis_host", "redis_url")) expect(text).toContain("`redis`");
    for (const text of told("database_url")) expect(text).toMatch(/`database`.* unset its DATABASE_URL/);
    for (const text of told("allowed_ips")) expect(text).toContain("--allow-ip");
  });

  test("are read with anchors, merges, and Python's words for true", async () => {
    const config = await load(read("anchors.yaml"));
    expect(config.upstreams).toMatchObject([
      { timeouts: { first_byte_seconds: 60 } },
      { timeouts: { first_byte_seconds: 5, idle_seconds: 5 } },
    ]);
    expect(config.retries.attempts).toBe(10);
    expect(config.cache).toBeUndefined();
    expect(config.breaker.failures).toBe(1_000_000_000);
  });

  test("keep versions that YAML takes for dates, and names that would break the line in one", async () => {
    const imported = await readWritten(`model_list:
  - model_name: a
    litellm_params: { model: azure/a, api_base: https://front.example, api_version: 2024-06-01, api_key: os.environ/K }
  - model_name: "two\\nlines"
    litellm_params: { model: acme/unknown }
`);
    const config = await load(imported);
    expect(config.upstreams).toMatchObject([{ query: { "api-version": "2024-06-01" } }]);
    expect(notesOf(imported)).toContainEqual(
      expect.stringMatching(/^config\.yaml:4: left out: "two lines": its provider/),
    );
    for (const note of notesOf(imported)) expect(note).not.toContain("\n");
  });

  test("tell how an address in the environment has to end, where something is put behind it", () => {
    expect(notesOf(read("azure-regions.yaml"))).toContainEqual(
      "azure-regions.yaml:30: to do: AZURE_API_BASE is an address without a slash at its end: /openai/v1 is put behind it here",
    );
  });

  test("of included files are joined, and noted by the file that they are in", async () => {
    const imported = read("included.yaml");
    const config = await load(imported);
    expect(config.models.map(({ id }) => id)).toEqual(["own", "other"]);
    expect(config.retries.attempts).toBe(2);
    expect(notesOf(imported)).toEqual([
      expect.stringMatching(/^included-settings\.yaml:4: left out: router_settings\.retry_policy/),
    ]);
  });
});

describe("what is no configuration", () => {
  test.each([
    ["a: [", /config\.yaml:\d+: /],
    ["just a text", /config\.yaml: it is no object with keys/],
    ["", /config\.yaml: it is no object with keys/],
    ["include: [gone.yaml]", /gone\.yaml: the file cannot be read \(ENOENT\)/],
    ["include: [config.yaml]", /more than 8 files include each other/],
  ])("%j is refused in a line", async (text, message) => {
    await expect(readWritten(text)).rejects.toThrow(ConfigError);
    await expect(readWritten(text)).rejects.toThrow(message);
  });

  test("lists within themselves, and a small text that would become a large one, are read in no time", async () => {
    const bomb = ["a0: &a0 [x, x]", ...Array.from({ length: 40 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]`)];
    const imported = await readWritten(`${bomb.join("\n")}\nself: &self [*self]\nmodel_list: *a40\n`);
    expect(imported.models).toBe(0);
  });
});

describe("the tables of providers", () => {
  test("name vendors of the catalogue, addresses that can be used, and providers that there are", () => {
    const known = new Set(vendors.map(({ name }) => name));
    // One has an address for its models of code, and LiteLLM asks a server of one's own for the others.
    const elsewhere = new Set(["codestral", "ollama", "ollama_chat"]);
    for (const [name, { vendor, base_url, address, refused }] of providers) {
      if (vendor !== undefined) expect(known, name).toContain(vendor);
      if (base_url !== undefined) expect(urlSchema.safeParse(base_url).success, name).toBe(true);
      expect(
        [base_url, address, refused].some((place) => place !== undefined),
        name,
      ).toBe(true);
      const own = vendors.find((one) => one.name === vendor)?.base_url;
      if (own !== undefined && base_url !== undefined && !elsewhere.has(name)) expect(base_url, name).toBe(own);
    }
    for (const [, name] of bareNames) expect([...providers.keys()]).toContain(name);
    for (const [, mode] of modeNames) expect([...modes.keys()]).toContain(mode);
  });
});

describe("a gateway with what was imported", () => {
  const completion = (model: string) => ({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop", logprobs: null }],
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 200,
      total_tokens: 1200,
      prompt_tokens_details: { cached_tokens: 400 },
    },
  });

  /** Answers as a server would that takes nothing but what LiteLLM would have sent it. */
  const strict =
    (path: string, model: string, unwanted: string, headers: Readonly<Record<string, string>>) =>
    (exchange: ScriptedExchange): void => {
      const body = JSON.parse(exchange.body.toString("utf8")) as Record<string, unknown>;
      const wrong = [
        exchange.path !== path && `path ${exchange.path}`,
        body.model !== model && `model ${body.model}`,
        unwanted in body && unwanted,
        ...Object.entries(headers).map(
          ([name, value]) => exchange.headers[name] !== value && `${name}: ${exchange.headers[name]}`,
        ),
      ].filter(Boolean);
      if (wrong.length > 0)
        exchange.json(400, { error: { message: `refused: ${wrong.join(", ")}`, type: "invalid_request_error" } });
      else exchange.json(200, completion(model));
    };

  test("serves the same models at the same places, fails over as it did, and charges the same", async () => {
    const [first, second] = [await startScriptedUpstream(), await startScriptedUpstream()];
    const imported = await readWritten(`
model_list:
  - model_name: house-model
    litellm_params:
      model: openai/org/first-model
      api_base: ${first.baseUrl}/chat/completions
      api_key: os.environ/FIRST_KEY
      extra_headers: { X-Team: blue }
      additional_drop_params: [user]
      input_cost_per_token: 1.5e-06
      output_cost_per_token: 6e-06
      cache_read_input_token_cost: 1.5e-07
  - model_name: spare
    litellm_params:
      model: azure/spare-deployment
      api_base: ${second.baseUrl}
      api_version: "2024-06-01"
      api_key: os.environ/SECOND_KEY
router_settings:
  fallbacks: [{ house-model: [spare] }]
  model_group_alias: { gpt-4: house-model }
  num_retries: 1
`);
    const config = await load(imported);
    const { upstreams, models, retries } = config;
    const gateway = await startTestGateway({ upstreams, models, retries, embeddedModels: false, unit: config.unit });
    const keyOf = (name: string) => environmentFor(imported)[name] as string;
    first.script = strict("/v1/chat/completions", "org/first-model", "user", {
      authorization: `Bearer ${keyOf("FIRST_KEY")}`,
      "x-team": "blue",
    });
    const base = new URL(second.baseUrl).pathname;
    second.script = strict(
      `${base}/openai/deployments/spare-deployment/chat/completions?api-version=2024-06-01`,
      "spare-deployment",
      "model_group",
      {
        "api-key": keyOf("SECOND_KEY"),
      },
    );
    const ask = async () => {
      const answer = await fetch(`${gateway.rootUrl}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({
          model: "gpt-4",
          user: "u",
          max_tokens: 500,
          messages: [{ role: "user", content: "Hi" }],
        }),
      });
      return { answer, text: await answer.text() };
    };
    const direct = await ask();
    expect(direct.answer.status, direct.text).toBe(200);
    expect(direct.answer.headers.get("x-gateway-upstream")).toBe("openai-1");
    // 600 tokens at $1.50, 400 of the cache at $0.15, 200 of output at $6.00 for a million.
    expect(direct.answer.headers.get("x-gateway-cost")).toBe("0.00216");

    first.script = (exchange) => exchange.json(500, { error: { message: "down", type: "server_error" } });
    const failedOver = await ask();
    expect(failedOver.answer.status, failedOver.text).toBe(200);
    expect(failedOver.answer.headers.get("x-gateway-upstream")).toBe("azure-1");
    expect(failedOver.answer.headers.get("x-gateway-cost")).toBe("0.00216");
    await gateway.close();
    await Promise.all([first.close(), second.close()]);
  });
});
