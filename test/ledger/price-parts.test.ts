/** By which rates a call is held and charged: bands, ways of being served, regions and fees, each exact and never below the base. */
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Price } from "../../src/call/price.ts";
import { type CallUsage, nothingUsed } from "../../src/call/usage.ts";
import { inUnits } from "../../src/config/catalogue/currency.ts";
import type { ModelConfig, PriceConfig } from "../../src/config/config.ts";
import { priceSchema } from "../../src/config/schema-models.ts";
import { costOfAll, isFree, worstCost } from "../../src/ledger/price.ts";
import { cardOf } from "../../src/ledger/price-card.ts";
import { priceOf } from "../../src/ledger/price-of.ts";
import { chargedRates, heldFees, heldRates, isPlain, type Served, unpricedKey } from "../../src/ledger/rates.ts";
import { ChatUsageReader } from "../../src/providers/usage/chat-counts.ts";
import { reportedManner, requestedManner } from "../../src/providers/usage/manner.ts";
import { MessageUsageReader } from "../../src/providers/usage/message-counts.ts";

const million = 1_000_000;

/** A price whose rates are whole millionths a token. */
function priced(price: PriceConfig): Price {
  const times = <T>(part: T): T => {
    if (typeof part === "number") return (part * million) as T;
    if (Array.isArray(part)) return part.map(times) as T;
    const entries = Object.entries(part as object).map(([key, value]) => {
      return [key, key === "above" || key === "regional" ? value : times(value)];
    });
    return Object.fromEntries(entries) as T;
  };
  const made = priceOf({ kind: "chat", price: times(price) });
  if (!made) throw new Error("no price");
  // Fees are in millionths of the unit themselves.
  return {
    ...made,
    ...(made.search && { search: made.search / million }),
    ...(made.request && { request: made.request / million }),
  };
}

const ordinary = { tier: "", speed: "", region: "", searches: 0 };

function cost(price: Price, used: Partial<CallUsage>, served: Partial<Served> = {}): number {
  const whole = { ...nothingUsed, ...used };
  const terms = chargedRates(price, whole, { asked: ordinary, told: undefined, isRegional: false, ...served });
  return costOfAll([{ used: whole, card: cardOf(price, terms), requests: 1 }]);
}

describe("a long prompt", () => {
  const price = priced({
    input: 2,
    output: 10,
    cache_read: 1,
    long: [
      { above: 100, input: 4, output: 15, cache_read: 2 },
      { above: 1000, input: 8, output: 30 },
    ],
  });

  test.each([
    [{ input: 100, output: 1 }, 210],
    [{ input: 101, output: 1 }, 404 + 15],
    // What is read from the cache is of the prompt, and all of the call has the rates.
    [{ input: 1, cacheRead: 100, output: 1 }, 4 + 200 + 15],
    [{ input: 1, cacheWrite: 50, cacheWriteHour: 50 }, 4 + 200 + 200],
    [{ input: 1001, output: 2 }, 8008 + 60],
    // A band that says nothing of the cache has it cost what its own input costs.
    [{ cacheRead: 1001 }, 8008],
  ])("of %j costs %d", (used, expected) => {
    expect(cost(price, used)).toBe(expected);
  });

  test("is held at the dearest rates that it may come to", () => {
    const held = (prompt: number) =>
      heldRates(price, { asked: ordinary, prompt, hasAttachments: false, isRegional: false });
    expect(held(100)).toMatchObject({ input: 2 * million, output: 10 * million });
    expect(held(101)).toMatchObject({ input: 4 * million, output: 15 * million, cacheRead: 2 * million });
    expect(held(5000)).toMatchObject({ input: 8 * million, output: 30 * million, cacheRead: 8 * million });
  });
});

describe("a way of being served", () => {
  const price = priced({
    input: 10,
    output: 100,
    priority: { input: 20, output: 200 },
    fast: { input: 60, output: 600 },
    flex: { input: 5, output: 50 },
    ultrafast: { input: 120, output: 1200 },
  });
  const openai = priced({ input: 10, output: 100, priority: { input: 20, output: 200 } });
  const used = { input: 1 };
  const asked = (tier: string, speed = "") => ({ ...ordinary, tier, speed });

  test.each<[string, Partial<Served>, number]>([
    ["is the ordinary one where nothing is said", {}, 10],
    ["is what the upstream tells", { asked: asked("priority"), told: { tier: "priority" } }, 20],
    ["is the ordinary one where the upstream tells that", { asked: asked("priority"), told: { tier: "" } }, 10],
    ["is what was asked where the upstream does not tell", { asked: asked("priority") }, 20],
    ["is no cheaper than the ordinary one where the upstream does not tell", { asked: asked("flex") }, 10],
    ["is cheaper where the upstream tells it", { asked: asked("flex"), told: { tier: "flex" } }, 5],
    ["is what it tells, also where nobody asked", { told: { tier: "priority" } }, 20],
    ["is the dearest tier known where it tells one without a price", { told: { tier: "scale" } }, 20],
    ["is no speed that was not asked for where it tells a tier without a price", { told: { tier: "batch" } }, 20],
    ["is fast by the speed", { asked: asked("", "fast"), told: { tier: "", speed: "fast" } }, 60],
    ["is not fast where it tells the usual speed", { asked: asked("", "fast"), told: { speed: "" } }, 10],
    ["is the dearer of a tier and a speed", { asked: asked("priority", "fast") }, 60],
    ["is the ordinary one where any would do and nothing is told", { asked: asked("auto") }, 10],
    ["is ultrafast where that is asked and told", { asked: asked("ultrafast"), told: { tier: "ultrafast" } }, 120],
    ["is ultrafast where that is asked and nothing told", { asked: asked("ultrafast") }, 120],
    ["is not ultrafast where the upstream gave less", { asked: asked("ultrafast"), told: { tier: "priority" } }, 20],
  ])("%s", (_, served, expected) => {
    expect(cost(price, used, served)).toBe(expected);
  });

  test.each<[string, Partial<Served>, number]>([
    ["asked for so, and told by the first", { asked: asked("fast"), told: { tier: "priority" } }, 20],
    ["asked for by the first, and told so", { asked: asked("priority"), told: { tier: "fast" } }, 20],
    ["asked for so, and not told", { asked: asked("fast") }, 20],
    ["told so, and not asked for", { told: { tier: "fast" } }, 20],
  ])("is priority by its other name, fast, where that has no price: %s", (_, served, expected) => {
    expect(cost(openai, used, served)).toBe(expected);
    const { tier } = served.asked ?? ordinary;
    const holding = { asked: asked(tier || "auto"), prompt: 1, hasAttachments: false, isRegional: false };
    expect(heldRates(openai, holding).input).toBe(expected * million);
    const terms = { asked: ordinary, told: undefined, isRegional: false, ...served };
    expect(chargedRates(openai, { ...nothingUsed, ...used }, terms).mode).toBe(served.told?.tier ?? tier);
    expect(unpricedKey(openai, { ...asked("fast"), searches: 0 })).toBeUndefined();
    expect(unpricedKey(openai, { ...asked("", "fast"), searches: 0 })).toBe("speed");
  });

  test.each([
    ["auto", "", 20],
    ["flex", "", 10],
    ["priority", "", 20],
    ["ultrafast", "", 120],
    ["", "fast", 60],
    ["priority", "fast", 60],
  ])("asked as tier %j and speed %j is held at %d", (tier, speed, input) => {
    const holding = { asked: asked(tier, speed), prompt: 1, hasAttachments: false, isRegional: false };
    expect(heldRates(price, holding).input).toBe(input * million);
  });

  test("of a long prompt costs the dearer of its own rates and the ordinary ones, where it has none for long prompts", () => {
    const both = priced({
      ...{ input: 10, output: 1, long: [{ above: 5, input: 30, output: 1 }] },
      ...{
        priority: { input: 20, output: 3 },
        flex: { input: 5, output: 1, long: [{ above: 5, input: 15, output: 1 }] },
      },
    });
    const six = { input: 6, output: 1 };
    expect(cost(both, six, { told: { tier: "priority" } })).toBe(6 * 30 + 3);
    expect(cost(both, six, { told: { tier: "flex" } })).toBe(6 * 15 + 1);
  });
});

describe("what has no price", () => {
  const price = priced({ input: 1, output: 1, priority: { input: 2, output: 2 } });

  test.each([
    [{ service_tier: "priority" }, undefined],
    [{ service_tier: "auto" }, undefined],
    [{ service_tier: "default" }, undefined],
    [{ service_tier: " Standard_Only " }, undefined],
    [{ service_tier: null }, undefined],
    [{ service_tier: "flex" }, "service_tier"],
    [{ service_tier: "FLEX" }, "service_tier"],
    [{ service_tier: "whatever is new" }, "service_tier"],
    [{ service_tier: "constructor" }, "service_tier"],
    [{ speed: "standard" }, undefined],
    [{ speed: "fast" }, "speed"],
    [{ inference_geo: "global" }, undefined],
    [{ inference_geo: "us" }, "inference_geo"],
    [{ tools: [{ type: "function", name: "web_search" }] }, undefined],
    [{ tools: [{ type: "web_search_20250305", name: "web_search" }] }, "tools"],
    [{ tools: [{ type: "web_search_20250305", max_uses: 0 }] }, undefined],
    [{ tools: [{ type: "web_search_20250305" }], messages: [], max_tool_calls: 0 }, "tools"],
    [{ search_parameters: { mode: "on" }, messages: [], max_tool_calls: 0 }, "tools"],
    [{ tools: [{ type: "web_search" }], input: "x", max_tool_calls: 0 }, undefined],
    [{ web_search_options: {} }, "tools"],
    [{ plugins: [{ id: "web" }] }, "tools"],
    [{ search_parameters: { mode: "off" } }, undefined],
    [{ search_parameters: { mode: "auto" } }, "tools"],
    [{ tools: [{ type: "builtin_function", function: { name: "$web_search" } }] }, "tools"],
    [{ tools: [{ type: "builtin_function", function: { name: "$other" } }] }, undefined],
    [{ tools: [{ type: "browser_search" }] }, "tools"],
    [{ enable_search: true }, "tools"],
    [{ enable_search: "true" }, "tools"],
    [{ enable_search: false }, undefined],
    [{ enable_search: null, search_options: { forced_search: true } }, undefined],
    [{ model: "sonar-pro" }, undefined],
  ])("in %j is named: %s", (request, key) => {
    expect(unpricedKey(price, requestedManner(request))).toBe(key);
  });

  test("is nothing that an answer says badly", () => {
    for (const service_tier of [5, null, {}, "auto"]) expect(reportedManner({ service_tier })).toBeUndefined();
    expect(reportedManner({ service_tier: "default", speed: 7 })).toEqual({ tier: "" });
    expect(reportedManner({ inference_geo: "not_available" })).toEqual({ region: "" });
  });
});

describe("further parts", () => {
  test("a region multiplies all, fees among it, and is rounded once", () => {
    const price = priced({ input: 1, output: 1, regional: 1_100_000, request: 5 });
    const us = { asked: { ...ordinary, region: "us" } };
    expect(cost(price, { input: 3 })).toBe(3 + 5);
    // 8 × 1.1 = 8.8
    expect(cost(price, { input: 3 }, us)).toBe(9);
    expect(cost(price, { input: 3 }, { ...us, told: { region: "" } })).toBe(8);
    expect(cost(price, { input: 3 }, { isRegional: true })).toBe(9);
    expect(cost(price, { input: 3 }, { told: { region: "us" } })).toBe(9);
  });

  test("searches and requests cost what they are many, and several requests are rounded together", () => {
    const price = { ...priced({ input: 1, output: 1 }), input: 1, search: 10, request: 2 };
    expect(cost(price, { input: million, searches: 3 })).toBe(1 + 30 + 2);
    const one = { used: { ...nothingUsed, input: 400_000 }, card: price, requests: 1 };
    expect(costOfAll([one, one])).toBe(1 + 4);
    expect(costOfAll([{ ...one, used: { ...nothingUsed, input: 800_000 }, requests: 2 }])).toBe(1 + 4);
    expect(
      heldFees(price, { asked: { ...ordinary, searches: 4 }, prompt: 0, hasAttachments: false, isRegional: false }),
    ).toBe(42);
  });

  test("sound and pictures cost their own where they have a price, and else what the rest costs", () => {
    const price = priced({ input: 2, output: 5, input_audio: 7, output_audio: 50, input_image: 1 });
    expect(cost(price, { input: 10, inputAudio: 4, inputImage: 2, output: 3, outputAudio: 2 })).toBe(
      4 * 7 + 2 * 1 + 4 * 2 + 2 * 50 + 1 * 5,
    );
    expect(cost(priced({ input: 2, output: 5, request: 1 }), { input: 10, inputAudio: 4 })).toBe(21);
    const holding = { asked: ordinary, prompt: 10, isRegional: false };
    expect(heldRates(price, { ...holding, hasAttachments: true }).input).toBe(7 * million);
    expect(heldRates(price, { ...holding, hasAttachments: false }).input).toBe(2 * million);
  });

  test("a price is free only where nothing of it costs, and plain where nothing depends on how a call is served", () => {
    expect(isFree(priced({ input: 0, output: 0 }))).toBe(true);
    expect(isFree(priced({ input: 0, output: 0, request: 1 }))).toBe(false);
    expect(isFree(priced({ input: 0, output: 0, long: [{ above: 5, input: 1, output: 0 }] }))).toBe(false);
    expect(isFree(priced({ input: 0, output: 0, fast: { input: 1, output: 0 } }))).toBe(false);
    expect(isPlain(priced({ input: 1, output: 1, cache_read: 0 }))).toBe(true);
    expect(isPlain(priced({ input: 1, output: 1, flex: { input: 1, output: 1 } }))).toBe(false);
  });

  test("the catalogue's amounts become units in every column, and its bounds and factors stay", () => {
    const price = priceSchema.parse({
      ...{ input: "1", output: "2", web_search: "0.01", regional: "1.1" },
      ...{
        long: [{ above: 200, input: "2", output: "3" }],
        priority: { input: "4", output: "5", long: [{ above: 9, input: "6", output: "7" }] },
      },
    });
    const model: ModelConfig = { id: "m", aliases: [], family: "f", kind: "chat", price, targets: [] };
    expect(inUnits(model, { dollar: 10 * million, markup: 2 * million, isAssumed: false }).price).toEqual({
      ...{ input: 20 * million, output: 40 * million, web_search: 200_000, regional: 1_100_000 },
      long: [{ above: 200, input: 40 * million, output: 60 * million }],
      priority: {
        input: 80 * million,
        output: 100 * million,
        long: [{ above: 9, input: 120 * million, output: 140 * million }],
      },
    });
  });
});

describe("a price in the configuration", () => {
  test.each([
    [
      "whose bounds do not ascend",
      {
        long: [
          { above: 9, input: "1", output: "1" },
          { above: 9, input: "1", output: "1" },
        ],
      },
      "long.1.above",
    ],
    ["whose long prompts lack an output", { long: [{ above: 9, input: "1" }] }, "long.0.output"],
    ["whose tier lacks an output", { priority: { input: "1" } }, "priority.output"],
    [
      "whose tier lacks one for long prompts",
      { flex: { input: "1", output: "1", long: [{ above: 1, input: "1" }] } },
      "flex.long.0.output",
    ],
    ["whose tier lacks an input", { batch: { output: "1" } }, "batch.input"],
    ["that multiplies by nothing", { regional: "0" }, "regional"],
    ["with a way that nobody has", { turbo: { input: "1", output: "1" } }, ""],
  ])("%s is refused at %s", (_, more, path) => {
    const { error } = priceSchema.safeParse({ input: "1", output: "1", ...more });
    expect(error?.issues.map((issue) => issue.path.join("."))).toEqual([path]);
  });
});

/** Any price, with rates from 0 on. */
const rate = fc.nat({ max: 50 });
const rates = fc.record({ input: rate, output: rate, cache_read: rate, cache_write: rate, cache_write_hour: rate });
const band = fc.record({ above: fc.constant(500), input: rate, output: rate, cache_read: rate });
const long = fc.option(fc.tuple(band), { nil: undefined });
const card = fc.option(fc.tuple(rates, long), { nil: undefined });
const anyPrice = fc
  .record({
    base: rates,
    long,
    priority: card,
    fast: card,
    ultrafast: card,
    flex: card,
    regional: fc.option(fc.integer({ min: 1, max: 3 * million }), { nil: undefined }),
  })
  .chain((made) => fc.record({ made: fc.constant(made), web_search: rate, request: rate, input_audio: rate }))
  .map(({ made: { base, regional, ...parts }, ...fees }) => {
    const cardOf = (part: typeof parts.fast) => part && { ...part[0], ...(part[1] && { long: [...part[1]] }) };
    const { priority, fast, ultrafast, flex } = parts;
    const price = {
      ...base,
      ...fees,
      long: parts.long && [...parts.long],
      priority: cardOf(priority),
      fast: cardOf(fast),
      ultrafast: cardOf(ultrafast),
      flex: cardOf(flex),
    };
    return {
      ...priced(JSON.parse(JSON.stringify(price)) as PriceConfig),
      ...(regional === undefined ? {} : { regional }),
    };
  });
const count = fc.nat({ max: 400 });

test("a charge is never more than the hold, whatever of what was asked for the upstream tells", () => {
  const tiers = fc.constantFrom("", "auto", "priority", "fast", "ultrafast", "flex");
  fc.assert(
    fc.property(
      anyPrice,
      fc.record({
        tier: tiers,
        speed: fc.constantFrom("", "fast"),
        region: fc.constantFrom("", "us"),
        searches: fc.nat({ max: 3 }),
      }),
      fc.record({
        input: count,
        cacheRead: count,
        cacheWrite: count,
        cacheWriteHour: count,
        output: count,
        searches: fc.nat({ max: 3 }),
        inputAudio: count,
      }),
      fc.constantFrom("asked", "by its other name", "ordinary", "nothing"),
      fc.boolean(),
      (price, asked, used, what, isRegional) => {
        if (unpricedKey(price, asked)) return;
        const whole = {
          ...nothingUsed,
          ...used,
          inputAudio: Math.min(used.inputAudio, used.input),
          searches: Math.min(used.searches, asked.searches),
        };
        const prompt = used.input + used.cacheRead + used.cacheWrite + used.cacheWriteHour;
        // A model without a price of `fast` is served at that of `priority` by either name.
        const otherNames = new Map<string, string>(
          price.modes?.fast
            ? []
            : [
                ["priority", "fast"],
                ["fast", "priority"],
              ],
        );
        const tier = asked.tier === "auto" ? "priority" : asked.tier;
        const words = {
          tier: what === "by its other name" ? (otherNames.get(tier) ?? tier) : tier,
          speed: asked.speed,
          region: asked.region,
        };
        const told = what === "nothing" ? undefined : what === "ordinary" ? { tier: "", speed: "", region: "" } : words;
        const holding = { asked, prompt, hasAttachments: true, isRegional };
        const held = worstCost(heldRates(price, holding), prompt, 0, used.output) + heldFees(price, holding);
        expect(cost(price, whole, { asked, told, isRegional })).toBeLessThanOrEqual(held);
      },
    ),
    { numRuns: 3000 },
  );
});

describe("what a chat answer tells beside its counts", () => {
  const told = (...answers: JsonObject[]) => {
    const counts = new ChatUsageReader();
    for (const answer of answers) counts.take(answer);
    return counts.reported;
  };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

  test.each<[string, JsonObject[], object]>([
    ["the tier of the answer", [{ usage, service_tier: "priority" }], { manner: { tier: "priority" } }],
    ["the tier of an earlier chunk", [{ service_tier: "flex" }, { usage }], { manner: { tier: "flex" } }],
    ["the tier of the usage", [{ usage: { ...usage, service_tier: "default" } }], { manner: { tier: "" } }],
    [
      "sound and pictures, within the input beside the cache, and within the output",
      [
        {
          usage: {
            ...usage,
            prompt_tokens_details: { cached_tokens: 4, audio_tokens: 5, image_tokens: 9 },
            completion_tokens_details: { audio_tokens: 50 },
          },
        },
      ],
      { input: 6, inputAudio: 5, inputImage: 1, output: 5, outputAudio: 5 },
    ],
    ["OpenRouter's searches", [{ usage: { ...usage, server_tool_use: { web_search_requests: 2 } } }], { searches: 2 }],
    [
      "OpenRouter's searches by its server's tools",
      [{ usage: { ...usage, server_tool_use_details: { tool_calls_executed: 3, web_search_requests: 2 } } }],
      { searches: 2 },
    ],
    ["Alibaba's searches", [{ usage: { ...usage, plugins: { search: { count: 3 } } } }], { searches: 3 }],
    ["Perplexity's searches", [{ usage: { ...usage, num_search_queries: 4 } }], { searches: 4 }],
    ["xAI's sources", [{ usage: { ...usage, num_sources_used: 7 } }], { searches: 7 }],
    ["no searches where it counts none", [{ usage: { ...usage, num_sources_used: 0 } }], { searches: 0 }],
  ])("is %s", (_, answers, expected) => {
    expect(told(...answers)).toMatchObject(expected);
  });

  test("is nothing where it says nothing", () => {
    expect(Object.keys(told({ usage, service_tier: null }))).toEqual([
      "input",
      "cacheRead",
      "cacheWrite",
      "output",
      "reasoning",
    ]);
    expect(
      told({ usage: { ...usage, prompt_tokens_details: { audio_tokens: -1, image_tokens: "x" } } }),
    ).not.toHaveProperty("inputAudio");
  });
});

test("a stream of messages tells how it is served at its beginning, and its end takes nothing of that back", () => {
  const counts = new MessageUsageReader();
  counts.take({ input_tokens: 1, output_tokens: 1, service_tier: "standard", inference_geo: "us", speed: "fast" });
  counts.take({ output_tokens: 9, server_tool_use: { web_search_requests: 2 } });
  counts.take({ output_tokens: 9, service_tier: null });
  expect(counts.reported).toMatchObject({ output: 9, searches: 2, manner: { tier: "", region: "us", speed: "fast" } });
});
