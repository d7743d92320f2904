/**
 * Which model a name means, and which of its targets a call goes to.
 */
import type { DescMessage, JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { Call } from "../../../src/call/call.ts";
import { type Operation, operations } from "../../../src/call/operations.ts";
import { Reason, Refusal } from "../../../src/call/refusals.ts";
import { chooseAccelerators } from "../../../src/composition/accelerators.ts";
import { createProvider } from "../../../src/composition/live/providers.ts";
import type { ModelConfig } from "../../../src/config/config.ts";
import { servedBy } from "../../../src/config/schema-models.ts";
import { findTranslations } from "../../../src/families/index.ts";
import { conversationOf } from "../../../src/pipeline/complete/conversation.ts";
import { route } from "../../../src/pipeline/complete/route.ts";
import { createCatalog, type Model, type Target } from "../../../src/targets/catalog.ts";
import { createTargets } from "../../../src/targets/targets.ts";
import { Wire } from "../../../src/wire/wire.ts";

function target(upstream: string, priority = 0, weight = 1): Target {
  return { upstream, model: "m", priority, weight };
}

function model(id: string, ...targets: Target[]): ModelConfig {
  return { id, aliases: [], family: "test", kind: "chat", targets };
}

/** Breakers that are open for so long, and no retries. */
function resting(openMs: number) {
  return () => ({ breaker: { failures: 5, openMs }, retries: { share: 0 } });
}

function routed(...targets: Target[]): (random: number) => string {
  const found: Model = createCatalog([model("m", ...targets)]).find("m", "chat");
  const states = createTargets({ settings: resting(1000), clock: () => 0 });
  return (random) => route(found, { random: () => random, targets: states })[0]?.upstream ?? "";
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

describe("of two equals that chance takes", () => {
  const states = createTargets({ settings: resting(1000), clock: () => 0 });
  const found = createCatalog([model("m", target("a"), target("b"))]).find("m", "chat");
  const [a, b] = found.targets as [Target, Target];
  /** The latency of each target. */
  const fare = (at: Target, ms: number) => {
    states.of(at).load.began();
    states.of(at).load.ended(ms);
  };
  /** Takes the first for the first draw, and the second for the second. */
  const first = () => {
    const draws = [0, 0.99];
    return route(found, { targets: states, random: () => draws.shift() ?? 0 })[0]?.upstream;
  };

  test("the one drawn first goes first while nothing is known of them", () => {
    expect(first()).toBe("a");
  });

  test("the quicker one goes first where it is clearly quicker, and then the less busy one", () => {
    fare(a, 100);
    fare(b, 90);
    expect(first(), "hardly quicker").toBe("a");
    fare(b, 10);
    fare(b, 10);
    expect(first(), "clearly quicker").toBe("b");
    for (let i = 0; i < 9; i++) states.of(b).load.began();
    expect(first(), "quicker, with nine calls").toBe("a");
  });
});

test("what was slow once is not taken for slow for ever", () => {
  let now = 0;
  const states = createTargets({ settings: resting(1000), clock: () => now });
  const { load } = states.of(target("a"));
  load.began();
  load.ended(5000);
  expect(load.expected()).toBe(5000);
  now = 10_000;
  load.began();
  load.ended(100);
  expect(load.expected()).toBe(2550);
  now = 80_000;
  expect(load.expected()).toBeUndefined();
});

describe("a conversation that is to stay where its prompt cache is", () => {
  const states = createTargets({ settings: resting(60_000), clock: () => 0 });
  const at = (targets: readonly Target[], conversation: string) =>
    route({ targets }, { targets: states, random: Math.random, conversation }).map(({ upstream }) => upstream);
  const [a, b, c] = [target("a", 0, 1), target("b", 0, 1), target("c", 0, 2)];

  test("goes to the same target each time, and conversations are divided by weight", () => {
    const count: Record<string, number> = { a: 0, b: 0, c: 0 };
    for (let i = 0; i < 2000; i++) {
      const [to] = at([a, b, c], `talk ${i}`);
      expect(at([c, b, a], `talk ${i}`)[0]).toBe(to);
      count[to as string] = (count[to as string] ?? 0) + 1;
    }
    expect(count.a).toBeGreaterThan(400);
    expect(count.a).toBeLessThan(600);
    expect(count.c).toBeGreaterThan(900);
    expect(count.c).toBeLessThan(1100);
  });

  test("moves only when its own target goes, and then to the next of its own order", () => {
    for (let i = 0; i < 200; i++) {
      const order = at([a, b, c], `talk ${i}`);
      expect(at([a, b], `talk ${i}`)).toEqual(order.filter((name) => name !== "c"));
    }
  });

  test("is told by how it begins: later turns are the same, another beginning or account is another", () => {
    const call = (asked: "chat" | "messages" | "responses", json: JsonObject, accountId = "acc_1") =>
      conversationOf(asked, {
        caller: { accountId },
        request: Wire.ofJson(operations[asked].input as DescMessage, json),
      } as unknown as Call);
    const begun = [
      { role: "system", content: "Be kind." },
      { role: "user", content: "Hi" },
    ];
    const later = [...begun, { role: "assistant", content: "Hello!" }, { role: "user", content: "Go on" }];
    expect(call("chat", { messages: later })).toBe(call("chat", { messages: begun }));
    expect(call("chat", { messages: begun }, "acc_2")).not.toBe(call("chat", { messages: begun }));
    expect(call("chat", { messages: later.slice(1) })).not.toBe(call("chat", { messages: begun }));
    const system = { system: "Be kind." };
    expect(call("messages", { ...system, messages: later.slice(1) })).toBe(
      call("messages", { ...system, messages: begun.slice(1) }),
    );
    expect(call("messages", { messages: begun.slice(1) })).not.toBe(
      call("messages", { ...system, messages: begun.slice(1) }),
    );
    expect(call("responses", { input: "Hi" })).not.toBe(call("responses", { input: "Ho" }));
  });

  test("stays by default where reading from a cache costs less, and as it is configured", () => {
    const sticky = (more: Partial<ModelConfig>) => createCatalog([{ ...model("m", a), ...more }]).get("m").sticky;
    expect(sticky({})).toBe(false);
    expect(sticky({ price: { input: 10, output: 10 } })).toBe(false);
    expect(sticky({ price: { input: 10, output: 10, cache_read: 1 } })).toBe(true);
    expect(sticky({ price: { input: 10, output: 10, cache_read: 1 }, sticky: false })).toBe(false);
    expect(sticky({ sticky: true })).toBe(true);
  });
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
  const parts = { ...(await chooseAccelerators(new Set())), clock: () => 0 };
  for (const kind of kinds) {
    const provider = createProvider({ name: kind, kind, base_url: "http://127.0.0.1:9/v1" }, parts);
    const asked = Object.keys(operations).filter((operation) => operation !== "count_tokens") as Operation[];
    const served = asked.filter((operation) =>
      findTranslations(operation, (spoken) => provider.speaks[spoken] !== undefined),
    );
    const expected = asked.filter((operation) => servedBy[kind].includes(operations[operation].kind));
    expect(served, kind).toEqual(expected);
    await provider.close();
  }
});
