/** What the operator's forms make of documents and back: nothing is lost, and nothing becomes another value. */
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  changedSettings,
  type Field,
  keyOf,
  readValue,
  settingSections,
  writeValue,
} from "../../dashboard/src/pages/limits/settings.ts";
import { sorted, tierEntries, tierValuesOf } from "../../dashboard/src/pages/limits/tier-values.ts";
import { modelEntry, modelValuesOf } from "../../dashboard/src/pages/operator-models/model-values.ts";
import {
  type Levels,
  levelsOf,
  moveBy,
  moveTo,
  placeOf,
  targetEntries,
} from "../../dashboard/src/pages/operator-models/targets.ts";
import { dependentsOf, removalOf } from "../../dashboard/src/pages/upstreams/dependents.ts";
import { upstreamEntry, valuesOf } from "../../dashboard/src/pages/upstreams/upstream-values.ts";
import schema from "../../gen/gateway.schema.json" with { type: "json" };
import { fileSchema } from "../../src/config/schema.ts";
import { modelSchema, upstreamSchema } from "../../src/config/schema-models.ts";

const fields: readonly Field[] = settingSections.flatMap(({ fields }): readonly Field[] => fields);

describe("the form of an upstream", () => {
  const whole: JsonObject = {
    ...{ name: "local", kind: "openai", base_url: "https://models.example/v1", vendor: "vllm", disabled: true },
    api_keys: ["…abcd", "…wxyz"],
    ...{ credential: "api-key", headers: { "x-title": "…ours" }, query: { "api-version": "…1-01" } },
    ...{ discover: false, regional: true },
    timeouts: { connect_seconds: 1.5, first_byte_seconds: 20, idle_seconds: 30, total_seconds: 40 },
    queue: { max_concurrent: 8, max_queued: 9, max_wait_seconds: 10, shared: false },
    health_check: { path: "/models", interval_seconds: 15, failures: 2 },
    profile: { output_bound: "max_tokens", models: [{ match: ["some*"], efforts: ["low"] }] },
  };

  test("knows every key of the schema, and keeps what it read", () => {
    expect(Object.keys(whole).concat("api_key").sort()).toEqual(
      Object.keys(upstreamSchema.shape)
        .concat("disabled")
        .filter((key, i, all) => all.indexOf(key) === i)
        .sort(),
    );
    expect(upstreamEntry(valuesOf(whole), whole)).toEqual(whole);
  });

  test("sends the mask of a key that stays, and another in its place", () => {
    const values = valuesOf({ ...whole, api_keys: undefined, api_key: "…abcd" } as unknown as JsonObject);
    expect(upstreamEntry(values)).toMatchObject({ api_key: "…abcd" });
    expect(upstreamEntry({ ...values, keys: [{ mask: "…abcd", text: " sk-new " }] })).toMatchObject({
      api_key: "sk-new",
    });
    expect(upstreamEntry({ ...values, keys: [{ mask: "", text: "" }] })).not.toHaveProperty("api_key");
  });

  test("leaves a number that is none to the gateway, which says where it is", () => {
    const entry = upstreamEntry({ ...valuesOf(whole), maxConcurrent: "many" });
    expect(entry).toMatchObject({ queue: { max_concurrent: "many" } });
    expect(upstreamSchema.safeParse(entry).success).toBe(false);
  });
});

describe("the form of a model", () => {
  const whole: JsonObject = {
    ...{ id: "some-chat", aliases: ["some"], family: "some", kind: "chat", completions: "native", vendor: "openai" },
    ...{ context_window: 128_000, max_output_tokens: 16_384, created: "2026-01-31", sticky: true, reasoning: false },
    price: {
      ...{ input: "1.10", output: "4.40", cache_read: "0.55", regional: "1.1", web_search: "0.01", request: "0" },
      long: [{ above: 272_000, input: "2.20", output: "6.60" }],
      priority: { input: "2.20", output: "8.80", long: [{ above: 272_000, input: "4.40", output: "9.90" }] },
    },
    targets: [
      { upstream: "near", model: "some-1", priority: 0, weight: 3 },
      { upstream: "far", model: "some-2", priority: 1, weight: 1 },
    ],
  };

  test("knows every key of the schema, and keeps what it read", () => {
    const known = Object.keys(modelEntry({ ...modelValuesOf(whole), kind: "embedding", dimensions: "9" })).concat(
      Object.keys(whole),
    );
    expect([...new Set(known)].sort()).toEqual(Object.keys(modelSchema.shape).sort());
    expect(modelEntry(modelValuesOf(whole), whole)).toEqual(whole);
    expect(modelSchema.safeParse(modelEntry(modelValuesOf(whole))).error).toBeUndefined();
  });
});

describe("targets that are moved", () => {
  const four: Levels = levelsOf({
    targets: [
      { upstream: "a", model: "m", priority: 0 },
      { upstream: "b", model: "m", priority: 0 },
      { upstream: "c", model: "m", priority: 7 },
      { upstream: "d", model: "m", priority: 9 },
    ],
  });
  const names = (levels: Levels) => levels.map((level) => level.map(({ upstream }) => upstream).join("")).join("|");

  test("pass their neighbours, and the edges of levels", () => {
    expect(names(four)).toBe("ab|c|d");
    expect(names(moveBy(four, "0", 1))).toBe("ba|c|d");
    expect(names(moveBy(four, "1", 1))).toBe("a|bc|d");
    expect(names(moveBy(four, "2", -1))).toBe("abc|d");
    expect(names(moveBy(four, "0", -1))).toBe("a|b|c|d");
    expect(names(moveBy(four, "3", 1))).toBe("ab|c|d");
    expect(names(moveTo(four, "0", { level: 3, index: 0 }))).toBe("b|c|d|a");
  });

  test("are all there after any moves, in levels that are not empty, and their numbers follow the order", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.constantFrom("0", "1", "2", "3"), fc.constantFrom(-1 as const, 1 as const))),
        (moves) => {
          const moved = moves.reduce((levels, [key, by]) => moveBy(levels, key, by), four);
          expect(
            moved
              .flat()
              .map(({ key }) => key)
              .sort(),
          ).toEqual(["0", "1", "2", "3"]);
          expect(moved.every((level) => level.length > 0)).toBe(true);
          const priorities = targetEntries(moved).map(({ priority }) => Number(priority));
          expect(priorities).toEqual([...priorities].sort((one, other) => one - other));
          expect(placeOf(moved, "2")).toBeDefined();
        },
      ),
    );
  });
});

describe("settings", () => {
  /** The keys that may change while the gateway serves, but for those with pages or parts of their own. */
  const others = new Set(["upstreams", "models", "tiers", "unpriced_models"]);

  test("are fields for every key that may change while the gateway serves", () => {
    const keys = new Set(fields.map(({ path }) => keyOf(path)));
    const known = new Map(
      Object.entries(schema.properties as Record<string, { properties?: object; default?: unknown }>),
    );
    for (const key of keys) {
      const members = Object.keys(known.get(key)?.properties ?? {});
      const shown = fields.filter(({ path }) => keyOf(path) === key).map(({ path }) => path.split(".")[1]);
      expect(shown.filter((member) => member !== undefined).sort(), key).toEqual(members.sort());
    }
    for (const key of others) expect(keys.has(key)).toBe(false);
  });

  test("say what holds by default as the schema does", () => {
    const known = new Map(
      Object.entries(
        schema.properties as Record<string, { properties?: Record<string, { default?: unknown }>; default?: unknown }>,
      ),
    );
    for (const { path, initial } of fields) {
      const [key = "", member] = path.split(".");
      const at =
        member === undefined ? known.get(key) : new Map(Object.entries(known.get(key)?.properties ?? {})).get(member);
      expect(at?.default, path).toEqual(initial);
    }
  });

  test("keep their values through a field", () => {
    for (const [value, kind] of [
      [0.15, "percent"],
      [0.07, "percent"],
      [268_435_456, "mebibytes"],
      [1.5, "decimal"],
      ["155", "amount"],
      [false, "yes-no"],
    ] as const) {
      expect(readValue(writeValue(value, kind), kind)).toBe(value);
    }
  });

  test("are sent as whole keys, those that changed alone, and null for what is emptied", () => {
    const document = { retries: { attempts: 2, share: 0.1 }, hedging: { after_seconds: 5 }, registration: "open" };
    const failing: readonly Field[] = settingSections.find(({ name }) => name === "failing")?.fields ?? [];
    const values = { "retries.attempts": "4", "retries.share": "10", "breaker.failures": "" };
    expect(changedSettings(document, failing, values)).toEqual({ retries: { attempts: 4, share: 0.1 }, hedging: null });
    expect(fileSchema.safeParse({ retries: { attempts: 4, share: 0.1 } }).success).toBe(true);
  });
});

test("tiers are sent in the order of what has to be recharged", () => {
  const tiers = tierValuesOf({ tiers: [{ name: "A", recharge: "0", requests_per_minute: 6 }] }, []);
  const more = [
    { key: 1, name: "C", recharge: "200.5", requestsPerMinute: "9", tokensPerMinute: "" },
    ...tiers,
    { key: 2, name: "B", recharge: "30", requestsPerMinute: "8", tokensPerMinute: "100" },
  ];
  expect(tierEntries(more)).toEqual([
    { name: "A", recharge: "0", requests_per_minute: 6 },
    { name: "B", recharge: "30", requests_per_minute: 8, tokens_per_minute: 100 },
    { name: "C", recharge: "200.5", requests_per_minute: 9 },
  ]);
  const odd = [{ ...more[0], recharge: "much" }, ...more.slice(1)] as typeof more;
  expect(sorted(odd)).toEqual(odd);
});

test("removing an upstream takes the models along that it alone serves, and leaves others without that target", () => {
  const models = [
    { id: "only", targets: [{ upstream: "near", model: "m" }] },
    {
      id: "both",
      targets: [
        { upstream: "near", model: "m" },
        { upstream: "far", model: "m" },
      ],
    },
    { id: "by-vendor", vendor: "near" },
    { id: "elsewhere", targets: [{ upstream: "far", model: "m" }] },
  ];
  const file = { models: [{ id: "filed", targets: [{ upstream: "near", model: "m" }] }] };
  const documents = { document: { models }, file, effective: { models: [...models, ...file.models] } };
  expect(dependentsOf(documents, "near")).toEqual({
    only: ["only", "by-vendor", "filed"],
    among: ["both"],
    inFile: ["filed"],
  });
  expect(removalOf(documents, "near")).toEqual([
    { removeModel: "only" },
    { model: { id: "both", targets: [{ upstream: "far", model: "m" }] } },
    { removeModel: "by-vendor" },
    { removeUpstream: "near" },
  ]);
});
