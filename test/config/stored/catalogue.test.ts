/** Models of the catalogue that are newer than the built-in ones, targets that get no calls, and upstreams that are switched off. */
import { expect, test } from "vitest";
import { type Config, readConfig } from "../../../src/config/config.ts";
import type { Json } from "../../../src/config/stored/documents.ts";

const key = { OPENAI_API_KEY: "sk-of-the-test" };
const read = (document: Json, environment = key): Config =>
  readConfig({ environment, stored: { version: 1, document } }).config;
const find = ({ models }: Config, id: string) => models.find((model) => model.id === id);

test("a newer model takes the place of the built-in one, and a new one stands beside them, in dollars", () => {
  const model = (id: string, input: string) => ({
    id,
    family: "f",
    kind: "chat",
    vendor: "openai",
    price: { input, output: "4" },
  });
  const document = { catalogue: [model("gpt-4.1", "3"), model("gpt-10", "1")], catalogue_prices: { dollar: "100" } };
  const config = read(document);
  expect(find(config, "gpt-4.1")?.price).toEqual({ input: 300_000_000, output: 400_000_000 });
  expect(find(config, "gpt-10")).toMatchObject({
    price: { input: 100_000_000 },
    targets: [{ upstream: "openai", model: "gpt-10" }],
  });
  // Not served without their vendor, as the built-in ones.
  expect(find(read(document, { OPENAI_API_KEY: "" }), "gpt-10")).toBeUndefined();
});

test("what the file or the stored models price themselves stays", () => {
  const own = {
    id: "gpt-4.1",
    family: "f",
    kind: "chat",
    targets: [{ upstream: "openai", model: "x" }],
    price: { input: "7", output: "8" },
  };
  const newer = { id: "gpt-4.1", family: "f", kind: "chat", vendor: "openai", price: { input: "3", output: "4" } };
  expect(find(read({ models: [own], catalogue: [newer] }), "gpt-4.1")?.price).toEqual({
    input: 7_000_000,
    output: 8_000_000,
  });
});

test("a target of weight 0 and one of an upstream that is switched off get no calls", () => {
  const upstream = (name: string, more: Json = {}) => ({
    name,
    kind: "openai",
    base_url: `http://${name}.example/v1`,
    ...more,
  });
  const target = (name: string, weight = 1) => ({ upstream: name, model: "m", weight });
  const upstreams = [upstream("a"), upstream("b"), upstream("c", { disabled: true })];
  const models = [{ id: "m", family: "f", kind: "chat", targets: [target("a"), target("b", 0), target("c")] }];
  expect(find(read({ upstreams, models }), "m")?.targets.map(({ upstream: name }) => name)).toEqual(["a"]);
  const alone = [{ id: "m", family: "f", kind: "chat", targets: [target("c")] }];
  expect(find(read({ upstreams, models: alone }), "m")).toBeUndefined();
});
