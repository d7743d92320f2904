/**
 * Which model a name means, and which of its targets a call goes to.
 */
import { expect, test } from "vitest";
import { createCatalog, type Model, type Target } from "../src/catalog.ts";
import type { ModelConfig } from "../src/config/config.ts";
import { servedBy } from "../src/config/schema.ts";
import { Reason, Refusal } from "../src/errors.ts";
import { wayTo } from "../src/families/index.ts";
import { route } from "../src/pipeline/route.ts";
import { createProviders } from "../src/providers/index.ts";
import { type Operation, operations } from "../src/providers/operations.ts";
import { createTargets } from "../src/targets/targets.ts";

function target(upstream: string, priority = 0, weight = 1): Target {
  return { upstream, model: "m", priority, weight };
}

function model(id: string, ...targets: Target[]): ModelConfig {
  return { id, aliases: [], family: "test", kind: "chat", targets };
}

function routed(...targets: Target[]): (random: number) => string {
  const found: Model = createCatalog([model("m", ...targets)]).find("m", "chat");
  const states = createTargets({ failures: 5, openMs: 1000, retryShare: 0, clock: () => 0 });
  return (random) => route(found, () => random, states)[0]?.upstream ?? "";
}

const justBelow1 = 1 - Number.EPSILON / 2;

test("goes to the only target there is", () => {
  const to = routed(target("a", 7, 3));
  for (const random of [0, 0.5, justBelow1]) expect(to(random)).toBe("a");
});

test("goes to the lowest priority number only, wherever it stands in the list", () => {
  const to = routed(target("c", 2, 1000), target("a", 1), target("d", 10), target("b", 1));
  const seen = new Set(Array.from({ length: 100 }, (_, i) => to(i / 100)));
  expect([...seen].sort()).toEqual(["a", "b"]);
});

test("divides calls among equals exactly by weight", () => {
  const to = routed(target("a", 0, 1), target("b", 0, 2), target("c", 0, 7));
  const count = { a: 0, b: 0, c: 0 };
  for (let i = 0; i < 1000; i++) count[to((i + 0.5) / 1000) as keyof typeof count]++;
  expect(count).toEqual({ a: 100, b: 200, c: 700 });
});

test("changes from one target to the next exactly at the bound of its weight", () => {
  const to = routed(target("a", 0, 1), target("b", 0, 3));
  expect([to(0), to(0.25 - Number.EPSILON), to(0.25), to(justBelow1)]).toEqual(["a", "a", "b", "b"]);
});

test("counts the weights of the first priority only", () => {
  const to = routed(target("a", 0, 1), target("z", 5, 1_000_000), target("b", 0, 1));
  expect([to(0.49), to(0.51)]).toEqual(["a", "b"]);
});

test("finds a model by its id and by every alias", () => {
  const catalog = createCatalog([{ ...model("m", target("a")), aliases: ["m-latest", "vendor/m:free@1"] }]);
  for (const name of ["m", "m-latest", "vendor/m:free@1"]) expect(catalog.find(name, "chat").id).toBe("m");
});

test("takes the first where two models answer to a name", () => {
  const catalog = createCatalog([model("own", target("a")), { ...model("other", target("b")), aliases: ["own"] }]);
  expect(catalog.find("own", "chat").targets[0]?.upstream).toBe("a");
  expect(catalog.find("other", "chat").targets[0]?.upstream).toBe("b");
});

for (const [why, name, kind] of [
  ["does not exist", "nobody", "chat"],
  ["differs in one letter's case", "M", "chat"],
  ["is a word that every object knows", "__proto__", "chat"],
  ["is empty", "", "chat"],
] as const) {
  test(`refuses a model that ${why}, in the words that clients look for`, () => {
    const catalog = createCatalog([model("m", target("a"))]);
    const refusal = refusalOf(() => catalog.find(name, kind));
    expect(refusal).toMatchObject({ status: 404, reason: Reason.MODEL_NOT_FOUND, param: "model" });
    expect(refusal.message).toMatch(/^The model `.*` does not exist/);
  });
}

test("refuses a model that is of another kind, and says what it is", () => {
  const catalog = createCatalog([model("m", target("a"))]);
  const refusal = refusalOf(() => catalog.find("m", "embedding"));
  expect(refusal).toMatchObject({ status: 404, reason: Reason.MODEL_NOT_FOUND, param: "model" });
  expect(refusal.message).toMatch(/^The model `m` is a chat model: call it at \/v1\/chat\/completions/);
});

function refusalOf(work: () => unknown): Refusal {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error("nothing was refused");
}

test("the configuration takes a model at an upstream where there is a way to serve its kind, and only there", async () => {
  const kinds = Object.keys(servedBy) as (keyof typeof servedBy)[];
  const providers = createProviders(
    kinds.map((kind) => ({ name: kind, kind, base_url: "http://127.0.0.1:9/v1" })),
    () => 0,
  );
  for (const kind of kinds) {
    const provider = providers.get(kind);
    const asked = Object.keys(operations).filter((operation) => operation !== "count_tokens") as Operation[];
    const served = asked.filter((operation) => wayTo(operation, (spoken) => provider?.speaks[spoken] !== undefined));
    const expected = asked.filter((operation) => servedBy[kind].includes(operations[operation].kind));
    expect(served, kind).toEqual(expected);
  }
  await Promise.all([...providers.values()].map((provider) => provider.close()));
});
