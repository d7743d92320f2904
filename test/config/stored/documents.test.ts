/**
 * Documents of the configuration: what is in force by any can be made of another's by their differences; masks leave secrets as they were;
 * what is sealed opens with its key, at its place, and nowhere else.
 */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { changedParts, type Difference, differencesOf } from "../../../src/config/stored/differences.ts";
import { entryName, type Json, type JsonValue } from "../../../src/config/stored/documents.ts";
import { masked, maskOf, unmasked } from "../../../src/config/stored/masks.ts";
import { opened, sealed } from "../../../src/config/stored/seal.ts";
import { keyName, readSealKeys } from "../../../src/config/stored/seal-keys.ts";
import { secretsOf } from "../../../src/config/stored/secrets.ts";

const name = fc.constantFrom("openai", "local", "x.y", "a-b", "c_d");
const secret = fc.string({ minLength: 0, maxLength: 40 }).map((text) => text.replace(/[^\x21-\x7e]/g, "k"));
const money = fc.integer({ min: 0, max: 9_999 }).map((cents) => (cents / 100).toFixed(2));

const upstream = fc.record(
  {
    name,
    kind: fc.constantFrom("openai", "anthropic"),
    base_url: fc.constantFrom("https://one.example/v1", "https://two.example/v1"),
    api_key: secret,
    headers: fc.dictionary(fc.constantFrom("x-a", "x-b"), secret),
    query: fc.dictionary(fc.constantFrom("v", "w"), secret),
    timeouts: fc.record({ connect_seconds: fc.integer({ min: 1, max: 9 }) }),
    disabled: fc.boolean(),
  },
  { requiredKeys: ["name", "kind", "base_url"] },
);
const severalKeys = fc.record({
  ...{ name, kind: fc.constant("openai"), base_url: fc.constant("https://one.example/v1") },
  api_keys: fc.array(secret, { minLength: 1, maxLength: 4 }),
});
const model = fc.record(
  {
    id: name,
    aliases: fc.array(name, { maxLength: 3 }),
    price: fc.record({ input: money, long: fc.array(fc.record({ above: fc.nat(), input: money }), { maxLength: 2 }) }),
    targets: fc.array(fc.record({ upstream: name, weight: fc.nat({ max: 5 }) }), { maxLength: 3 }),
  },
  { requiredKeys: ["id"] },
);
const named = <T>(entry: fc.Arbitrary<T>, key: "name" | "id") =>
  fc.uniqueArray(entry, { selector: (one) => (one as Record<string, unknown>)[key], maxLength: 5 });
const document = fc.record(
  {
    upstreams: named(fc.oneof(upstream, severalKeys), "name"),
    models: named(model, "id"),
    tiers: fc.array(fc.record({ name, recharge: money }), { maxLength: 3 }),
    retries: fc.record({ attempts: fc.nat() }),
    registration: fc.constantFrom("open", "closed"),
  },
  { requiredKeys: [] },
) as unknown as fc.Arbitrary<Json>;

/** What is in force by a document: defaults are in the places of what it leaves out. */
function inForce(of: Json): Json {
  const { upstreams = [], models = [], retries, ...more } = of as Record<string, readonly Json[]> & { retries?: Json };
  const timeouts = { connect_seconds: 10, first_byte_seconds: 600, idle_seconds: 300 };
  return {
    registration: "invitation",
    tiers: defaultTiers,
    ...more,
    retries: { attempts: 3, share: 0.15, ...retries },
    upstreams: upstreams.map((one) => ({
      regional: false,
      ...one,
      timeouts: { ...timeouts, ...(one.timeouts as Json) },
    })),
    models: models.map((one) => ({ completions: "chat", aliases: [], targets: [], ...one })),
  };
}

const defaultTiers: readonly Json[] = [
  { name: "Free", recharge: "0", requests_per_minute: 60 },
  { name: "VIP", recharge: "20", requests_per_minute: 1200 },
  { name: "Premium", recharge: "300", requests_per_minute: 10_000 },
];

/** Makes the second document of the first and the differences, as somebody would who has nothing else. */
function applied(first: Json, differences: readonly Difference[]): Json {
  const result = structuredClone(first) as Record<string, JsonValue>;
  for (const { path, kind, after } of differences) set(result, stepsOf(path), kind === "removed" ? undefined : after);
  return withoutHoles(result) as Json;
}

function stepsOf(path: string): string[] {
  return [...path.matchAll(/\[([^\]]*)\]|\.?([^.[]+)/g)].map(([, index, key]) =>
    index === undefined ? `.${key}` : index,
  );
}

type Node = Record<string, JsonValue | undefined> | (JsonValue | undefined)[];

function set(root: Node, steps: readonly string[], value: JsonValue | undefined): void {
  const [first = "", second, ...rest] = steps;
  const key = first.slice(1);
  const object = root as Record<string, JsonValue | undefined>;
  const isNamed = key === "upstreams" || key === "models";
  if (!isNamed) {
    setAt(root, steps, value);
    return;
  }
  if (second === undefined) {
    order(object, key, value as readonly string[]);
    return;
  }
  const list = [...((object[key] as JsonValue[] | undefined) ?? [])] as (JsonValue | undefined)[];
  const at = list.findIndex((entry) => entryName(key, entry) === second);
  const place = at < 0 ? list.length : at;
  if (rest.length === 0) list[place] = value;
  else setAt(list[place] as Node, rest, value);
  object[key] = list.filter((entry) => entry !== undefined);
}

/** The order of a list, by names; a list that is added or removed as a whole is a difference, too. */
function order(object: Record<string, JsonValue | undefined>, key: string, names: readonly string[] | undefined): void {
  const list = (object[key] ?? []) as readonly JsonValue[];
  const byName = new Map(list.map((entry) => [entryName(key, entry), entry]));
  object[key] = (names ?? []).map((one) => byName.get(one) as JsonValue);
}

function setAt(root: Node, steps: readonly string[], value: JsonValue | undefined): void {
  const [step = "", ...rest] = steps;
  const key = step.startsWith(".") ? step.slice(1) : step;
  const object = root as Record<string, JsonValue | undefined>;
  if (rest.length > 0) setAt(object[key] as Node, rest, value);
  else object[key] = value;
}

/** Removes what was set to nothing, at the ends of lists too. */
function withoutHoles(value: JsonValue | undefined): JsonValue {
  if (Array.isArray(value)) return value.filter((one) => one !== undefined).map(withoutHoles);
  if (typeof value !== "object" || value === null) return value as JsonValue;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, one]) => one !== undefined)
      .map(([key, one]) => [key, withoutHoles(one as JsonValue)]),
  );
}

/** A document without empty lists of upstreams and models: to have none is the same as to have an empty list. */
function normal(value: Json): Json {
  return Object.fromEntries(
    Object.entries(value).filter(
      ([key, one]) => !((key === "upstreams" || key === "models") && (one as []).length === 0),
    ),
  );
}

describe("differences", () => {
  test("make what is in force by the second document of what is by the first", () => {
    fc.assert(
      fc.property(document, document, (first, second) => {
        // Secrets are shown as masks: so documents are compared as they are shown.
        const [one, other] = [masked(first), masked(second)];
        expect(normal(inForce(applied(inForce(one), differencesOf(one, other))))).toEqual(normal(inForce(other)));
      }),
      { numRuns: 300 },
    );
  });

  test("are none between a document and itself, in whatever order its members are", () => {
    fc.assert(
      fc.property(document, (one) => {
        const reversed = Object.fromEntries(Object.entries(one).reverse());
        expect(differencesOf(one, reversed)).toEqual([]);
      }),
    );
  });

  test("show a changed secret, and neither of both", () => {
    const at = (api_key: string): Json => ({ upstreams: [{ name: "a", api_key }] });
    expect(differencesOf(at("first-secret-0001"), at("other-secret-0002"))).toEqual([
      { path: "upstreams[a].api_key", kind: "changed", before: "…0001", after: "…0002" },
    ]);
    expect(differencesOf(at("first-secret-0001"), at("other-secret-0001"))).toEqual([
      { path: "upstreams[a].api_key", kind: "changed", before: "…0001", after: "…0001" },
    ]);
  });

  test("of what is stored for the first time are those against the default", () => {
    const tiers = [...defaultTiers.slice(0, 2), { name: "Premium", recharge: "300", requests_per_minute: 9000 }];
    const changed = { path: "tiers[2].requests_per_minute", kind: "changed", before: 10_000, after: 9000 };
    expect(differencesOf({}, { tiers })).toEqual([changed]);
    expect(differencesOf({ tiers }, {})).toEqual([{ ...changed, before: 9000, after: 10_000 }]);
    expect(differencesOf({}, { retries: { attempts: 5 } })).toEqual([
      { path: "retries.attempts", kind: "changed", before: 3, after: 5 },
    ]);
    expect(differencesOf({}, { hedging: { after_seconds: 5 } })).toMatchObject([{ path: "hedging", kind: "added" }]);
    expect(differencesOf({}, { registration: "invitation" })).toMatchObject([{ path: "registration", kind: "added" }]);
    const beside = { file: { registration: "open" }, defaults: { embedded_models: true } };
    expect(differencesOf({}, { registration: "closed", embedded_models: false }, beside)).toEqual([
      { path: "registration", kind: "added", before: undefined, after: "closed" },
      { path: "embedded_models", kind: "changed", before: true, after: false },
    ]);
  });

  test("name the entries and keys that they are in, each once", () => {
    const differences = differencesOf(
      { upstreams: [{ name: "a", kind: "openai", base_url: "x" }], tiers: [{ name: "Free" }], models: [{ id: "m/1" }] },
      { upstreams: [{ name: "a", kind: "anthropic", base_url: "y" }], tiers: [{ name: "Team" }] },
    );
    expect(changedParts(differences)).toEqual(["upstreams[a]", "tiers", "models[m/1]"]);
  });
});

describe("masks", () => {
  test("sent back leave every secret as it was", () => {
    fc.assert(
      fc.property(document, (one) => {
        // Of two keys of a list that look alike nobody could tell which one is meant where.
        const { document: back, faults } = unmasked(masked(one), one, "the change");
        expect(faults).toEqual([]);
        expect(back).toEqual(one);
      }),
      { numRuns: 300 },
    );
  });

  test("show no secret, and of a short one nothing at all", () => {
    expect(maskOf("sk-0123456789")).toBe("…6789");
    expect(maskOf("short-one")).toBe("…");
  });

  test("that stand for no stored secret are refused at their place", () => {
    const base: Json = { upstreams: [{ name: "a", base_url: "https://a.example", api_key: "stored-secret-0001" }] };
    const faultsOf = (upstreams: JsonValue) =>
      unmasked({ upstreams }, base, "the change").faults.map(({ path }) => path);
    expect(faultsOf([{ name: "a", base_url: "https://a.example", api_key: "…0002" }])).toEqual([
      "upstreams[a].api_key",
    ]);
    expect(faultsOf([{ name: "b", base_url: "https://a.example", api_key: "…0001" }])).toEqual([
      "upstreams[b].api_key",
    ]);
    expect(faultsOf([{ name: "a", base_url: "https://a.example", headers: { h: "…0001" } }])).toEqual([
      "upstreams[a].headers.h",
    ]);
  });

  test("send no stored secret to another address", () => {
    const base: Json = { upstreams: [{ name: "a", base_url: "https://a.example/v1", api_key: "stored-secret-0001" }] };
    const at = (base_url: string) =>
      unmasked({ upstreams: [{ name: "a", base_url, api_key: "…0001" }] }, base, "the change").faults;
    expect(at("https://a.example/v2")).toEqual([]);
    expect(at("https://thief.example/v1")[0]?.message).toMatch(/^upstreams\[a\]\.api_key: the address has changed/);
  });

  test("follow a key whose place in its list has changed", () => {
    const at = (api_keys: readonly string[]): Json => ({
      upstreams: [{ name: "a", base_url: "https://a.example", api_keys }],
    });
    const base = at(["first-secret-0001", "other-secret-0002", "third-secret-0003"]);
    expect(unmasked(at(["…0003", "…0001", "brand-new-secret"]), base, "the change")).toEqual({
      document: at(["third-secret-0003", "first-secret-0001", "brand-new-secret"]),
      faults: [],
    });
  });
});

describe("seals", () => {
  const key = randomBytes(32);

  test("open to what was sealed, with the key among others", () => {
    fc.assert(
      fc.property(document, (one) => {
        const stored = sealed(one, [key]);
        for (const [path, text] of secretsOf(stored)) expect(text, path).toMatch(/^sealed:1:[0-9a-f]{8}:[\w-]+$/);
        const secrets = [...secretsOf(one).values()].filter((text) => text.length > 8);
        for (const text of secrets) expect(JSON.stringify(stored)).not.toContain(text);
        expect(opened(stored, [randomBytes(32), key])).toEqual(one);
      }),
    );
  });

  test("of the same secret differ each time", () => {
    const one: Json = { upstreams: [{ name: "a", api_key: "the-same-secret" }] };
    expect(sealed(one, [key])).not.toEqual(sealed(one, [key]));
  });

  test("do not open with another key, at another place, or once a bit of them has changed", () => {
    const text = secretsOf(sealed({ upstreams: [{ name: "a", api_key: "the-secret-itself" }] }, [key])).get(
      "upstreams[a].api_key",
    ) as string;
    const at = (name: string, api_key: string): Json => ({ upstreams: [{ name, api_key }] });
    expect(() => opened(at("a", text), [randomBytes(32)])).toThrow(
      `was sealed by the key ${keyName(key)}, which is not here`,
    );
    expect(() => opened(at("b", text), [key])).toThrow(
      "upstreams[b].api_key is damaged, or was sealed for another place",
    );
    const changed = `${text.slice(0, -2)}${text.at(-2) === "A" ? "B" : "A"}${text.at(-1)}`;
    expect(() => opened(at("a", changed), [key])).toThrow("is damaged");
    expect(() => opened(at("a", "the-secret-itself"), [key])).toThrow("upstreams[a].api_key is not sealed");
  });

  test("take keys in hex and base64, several of them, and nothing else", () => {
    const [hex, base64] = [key.toString("hex"), key.toString("base64")];
    expect(readSealKeys(`${hex}\n`)).toEqual([key]);
    expect(readSealKeys(`${base64}, ${hex.toUpperCase()}`)).toEqual([key, key]);
    expect(readSealKeys(key.toString("base64url"))).toEqual([key]);
    for (const text of ["", "secret", hex.slice(1), `${hex}0`, `${hex},short`])
      expect(readSealKeys(text), text).toBeUndefined();
  });
});
