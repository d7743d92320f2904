/** Channels and prices of new-api, as its API lists them, become a gateway.yaml that loads. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Config, loadConfig } from "../../src/config/config.ts";
import { product } from "../../src/config/import/decimals.ts";
import type { Imported } from "../../src/config/import/imported.ts";
import { channelTypes } from "../../src/config/import/new-api/channel-types.ts";
import { importNewApi } from "../../src/config/import/new-api/import-new-api.ts";
import { noteText } from "../../src/config/import/notes.ts";
import { urlSchema } from "../../src/config/values.ts";
import { root } from "../support/command.ts";
import { vendors } from "../support/upstreams/vendor-profiles.ts";

const fixture = (name: string) => join(root, "test/fixtures/new-api", name);
const readText = (path: string) => readFileSync(path, "utf8");

let folder: string;
let imported: Imported;
let config: Config;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "import-test-"));
  imported = importNewApi(fixture("channels.json"), fixture("prices.json"), readText);
  const file = join(folder, "gateway.yaml");
  await writeFile(file, imported.text);
  config = loadConfig(file, Object.fromEntries(imported.variables.map((name) => [name, `value-of-${name}`])));
});
afterAll(() => rm(folder, { recursive: true }));

const modelOf = (id: string) => config.models.find((model) => model.id === id);

test("channels are upstreams, each with keys of its own from the environment", () => {
  expect(config.upstreams).toMatchObject([
    { name: "openai-1", base_url: "https://api.openai.com/v1", vendor: "openai", api_key: "value-of-OPENAI_1_KEY" },
    {
      ...{ name: "openai-2", base_url: "https://relay.example/v1", headers: { "OpenAI-Organization": "org-7" } },
      api_keys: ["value-of-OPENAI_2_KEY_1", "value-of-OPENAI_2_KEY_2", "value-of-OPENAI_2_KEY_3"],
    },
    { name: "anthropic-3", kind: "anthropic", base_url: "https://api.anthropic.com/v1" },
    { name: "azure-4", base_url: "https://contoso.openai.azure.com/openai/v1", credential: "api-key" },
    { name: "ollama-7", base_url: "http://10.0.0.7:11434/v1" },
    { name: "zhipu-v4-8", base_url: "https://open.bigmodel.cn/api/paas/v4", vendor: "zai" },
  ]);
  expect(config.upstreams[1]?.vendor).toBeUndefined();
  expect(config.upstreams[4]?.api_key).toBeUndefined();
});

test("what a channel serves are targets: the highest priority is asked first, by weight", () => {
  expect(modelOf("gpt-4o")?.targets).toEqual([
    { upstream: "openai-1", model: "gpt-4o", priority: 0, weight: 5 },
    { upstream: "openai-2", model: "gpt-4o", priority: 1, weight: 1 },
    { upstream: "azure-4", model: "prod-4o", priority: 0, weight: 1 },
  ]);
  expect(modelOf("house-model")?.targets).toMatchObject([{ model: "org/first-model" }, { model: "house-model" }]);
  expect(modelOf("text-embedding-3-small")).toMatchObject({ kind: "embedding", targets: [{ upstream: "openai-1" }] });
  expect(config.models.map(({ id }) => id)).toEqual([
    ...["gpt-4o", "text-embedding-3-small", "tts-1", "house-model", "claude-sonnet-5", "qwen3", "glm-5.3"],
  ]);
});

test("ratios are prices, without a digit lost", () => {
  expect(modelOf("gpt-4o")?.price).toEqual({ input: 2_500_000, output: 10_000_000, cache_read: 1_250_000 });
  expect(modelOf("house-model")?.price).toEqual({
    ...{ input: 142_857, output: 428_572, cache_write: 178_572, input_audio: 1_428_570, output_audio: 2_857_140 },
  });
  expect(modelOf("text-embedding-3-small")?.price).toEqual({ input: 20_000 });
  expect(modelOf("claude-sonnet-5")?.price).toEqual({ input: 0, output: 0, request: 20_000 });
  expect(modelOf("qwen3")?.price).toEqual({ input: 0, output: 0 });
  expect(modelOf("tts-1")?.price).toEqual({ characters: 15_000_000 });
});

test.each([
  [["2", "1.25"], "2.50"],
  [["2", "0.1", "0.2"], "0.04"],
  [["0.3333333"], "0.333334"],
  [["1e-3", "2"], "0.002"],
  [["2", "x"], undefined],
  [[""], undefined],
])("the product of %j is %s", (factors, expected) => {
  expect(product(...factors)?.text).toBe(expected);
});

test("everything that is not as it was is listed by its line", () => {
  const notes = imported.notes.map((note) => noteText(note, basename));
  const expected = [
    /^channels\.json:6: to do: put the key of openai-1 into the environment as OPENAI_1_KEY: the list has none$/,
    /^channels\.json:7: to do: .* as OPENAI_2_KEY_1 and so on/,
    /^channels\.json:6: changed: channel 1, "main": its groups \(vip\)/,
    /^channels\.json:8: left out: channel 3, "claude": param_override/,
    /^channels\.json:8: left out: "text-embedding-3-small": anthropic-3 cannot serve it/,
    /^channels\.json:10: left out: channel 5, "bedrock": the gateway does not sign requests for AWS/,
    /^channels\.json:11: left out: channel 6, "broken": it is disabled/,
    /^channels\.json:12: left out: channel 7, "box": its model_mapping cannot be read/,
    /^channels\.json:12: left out: "dall-e-3": the gateway has no endpoint for images/,
    /^channels\.json:14: left out: channel 9, "future": its type is not known here/,
    /^prices\.json:9: to do: "glm-5\.3": its price is an expression/,
    /^prices\.json:11: changed: the ratio of the group "vip"/,
  ];
  for (const pattern of expected) expect(notes).toContainEqual(expect.stringMatching(pattern));
  expect(imported.text).toContain("by `model-gateway import new-api`");
});

test("prices of the catalogue stand in where no file of prices is given, at the vendor's own", () => {
  const { text } = importNewApi(fixture("channels.json"), undefined, readText);
  expect(text).toMatch(/id: gpt-4o\n.*family: gpt-4o[\s\S]*?input: "2.50"/);
});

describe("the table of channels", () => {
  test("names vendors of the catalogue, and addresses that can be used", () => {
    const known = new Set(vendors.map(({ name }) => name));
    for (const { name, vendor, base_url = "https://x.example", suffix = "", refused } of channelTypes.values()) {
      if (vendor !== undefined) expect(known, name).toContain(vendor);
      expect(urlSchema.safeParse(base_url + suffix).success, name).toBe(true);
      if (refused !== undefined) expect(vendor).toBeUndefined();
    }
  });
});
