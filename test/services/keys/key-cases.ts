/**
 * What key management does with one request each, whichever door it comes through. Bodies of a case are the same request
 * in several forms, and have the same answer.
 */
import { expect } from "vitest";
import type { ModelConfig } from "../../../src/config/config.ts";
import type { JsonObject, JsonValue } from "../../../src/wire/json.ts";

/** caseTime is the gateway's time in these cases. */
export const caseTime = Date.UTC(2026, 0, 2, 3, 4, 5);

const target = { upstream: "embedded", model: "m", priority: 0, weight: 1 };

/** caseModels are the models that the gateway serves. */
export const caseModels: readonly ModelConfig[] = [
  { id: "small", aliases: ["tiny", "small-latest"], family: "fam", kind: "chat", targets: [target] },
  { id: "large", aliases: [], family: "fam", kind: "chat", targets: [target] },
  { id: "voice", aliases: [], family: "sound", kind: "speech", targets: [target] },
];

export type Rpc = "listKeys" | "createKey" | "updateKey" | "rotateKey" | "deleteKey";

/** pathOf is the last part of each RPC's path. */
export const pathOf: Readonly<Record<Rpc, string>> = {
  listKeys: "get-api-tokens",
  createKey: "create-api-token",
  updateKey: "update-api-token",
  rotateKey: "rotate-api-token",
  deleteKey: "delete-api-token",
};

/** JSON, the text of an urlencoded form, or no body at all. */
export type Body = { readonly json: JsonObject } | { readonly form: string } | "empty";

export interface KeyCase {
  readonly title: string;
  readonly rpc: Rpc;
  /** bodies are built for a key with the id, a credit limit of 5, restricted to `small`, expiring a day later. */
  readonly bodies: (id: string) => readonly Body[];
  readonly expected: Expected;
}

export type Expected =
  /** key is what the answer's key contains; undefined for what it must not contain. */
  | { readonly key: Readonly<Record<string, JsonValue | undefined>> }
  | { readonly status: number; readonly reason: string; readonly param?: string; readonly says?: RegExp };

const json = (body: JsonObject): Body => ({ json: body });
const form = (text: string): Body => ({ form: text });

/** makes are requests to create a key named `k`: `forms` follow the name. */
function makes(
  title: string,
  given: readonly JsonObject[],
  forms: readonly string[],
  key: JsonObject | Expected,
): KeyCase {
  const bodies = [
    ...given.map((fields) => json({ name: "k", ...fields })),
    ...forms.map((text) => form(`name=k${text === "" ? "" : `&${text}`}`)),
  ];
  const expected = "key" in key || "status" in key ? (key as Expected) : { key: key as JsonObject };
  return { title, rpc: "createKey", bodies: () => bodies, expected };
}

/** changes are requests to change the existing key. */
function changes(title: string, given: readonly JsonObject[], forms: readonly string[], expected: Expected): KeyCase {
  const bodies = (id: string) => [
    ...given.map((fields) => json({ id, ...fields })),
    ...forms.map((text) => form(`id=${id}${text === "" ? "" : `&${text}`}`)),
  ];
  return { title, rpc: "updateKey", bodies, expected };
}

function refusal(reason: string, param: string, says?: RegExp): Expected {
  return { status: 400, reason, param, ...(says ? { says } : {}) };
}

const unrestricted = { credit_limit: undefined, models: [], expires_at: undefined };
const list = encodeURIComponent('["small","family:sound"]');

export const accepted: readonly KeyCase[] = [
  makes("makes a key of a name alone", [{}], [""], {
    key: { name: "k", ...unrestricted, is_admin: false, disabled: false, spent: "0.00", held: "0.00" },
  }),
  makes("takes a name in any script", [{ name: "Schlüssel 鍵 🔑" }], [], { name: "Schlüssel 鍵 🔑" }),
  makes("limits credit", [{ credit_limit: "12.5" }, { credit_limit: 12.5 }], ["credit_limit=12.50"], {
    credit_limit: "12.50",
  }),
  makes("limits credit to the last place", [{ credit_limit: "0.000001" }, { credit_limit: 1e-6 }], [], {
    credit_limit: "0.000001",
  }),
  makes("limits credit to nothing", [{ credit_limit: "0" }, { credit_limit: 0 }], ["credit_limit=0"], {
    credit_limit: "0.00",
  }),
  makes("limits credit to as much as can be said", [{ credit_limit: "1000000000" }], ["credit_limit=1000000000"], {
    credit_limit: "1000000000.00",
  }),
  makes(
    "takes what is empty for no restriction",
    [
      { credit_limit: "", models: "", expires_at: "" },
      { credit_limit: null, models: null, expires_at: null },
      { models: [] },
      { models: "[]" },
      { models: " " },
    ],
    ["credit_limit=&models=&expires_at=", "models=[]"],
    { key: unrestricted },
  ),
  makes(
    "restricts to models and families",
    [{ models: ["small", "family:sound"] }, { models: '["small","family:sound"]' }],
    [
      "models=small&models=family:sound",
      "models[]=small&models[]=family:sound",
      "models[0]=small&models[1]=family:sound",
      `models=${list}`,
    ],
    { models: ["small", "family:sound"] },
  ),
  makes(
    "restricts to names with blanks around them",
    [{ models: [" small", "family:sound\n"] }, { models: '[" small ","family:sound "]' }],
    ["models[]=+small&models[]=family:sound%0A", "models=+small+,+family:sound"],
    { models: ["small", "family:sound"] },
  ),
  makes(
    "takes null for what a budget or a rate leaves out",
    [
      {
        budgets: [{ id: null, amount: "1", period: "day", rolling: null }],
        model_rates: [{ model: " small ", requests_per_minute: 5, tokens_per_minute: null }],
      },
    ],
    [],
    {
      budgets: [expect.objectContaining({ amount: "1.00", period: "day", rolling: false })],
      model_rates: [{ model: "small", requests_per_minute: 5 }],
    },
  ),
  makes("restricts to one", [{ models: "small" }, { models: ["small"] }], ["models=small", "models[]=small"], {
    models: ["small"],
  }),
  makes(
    "keeps aliases as the model that they stand for, once",
    [{ models: ["tiny", "large", "small", "small-latest", "large"] }],
    ["models=tiny&models=large&models=small"],
    { models: ["small", "large"] },
  ),
  makes(
    "ends at a moment, however it is written",
    [{ expires_at: "2026-01-03T03:04:05Z" }, { expires_at: "2026-01-03T04:04:05.000+01:00" }],
    ["expires_at=2026-01-03T03:04:05Z", "expires_at=2026-01-03T04:04:05%2B01:00"],
    { expires_at: "2026-01-03T03:04:05.000Z" },
  ),
  changes("leaves a key as it is where nothing is said", [{}], [""], {
    key: { name: "there", credit_limit: "5.00", models: ["small"], expires_at: "2026-01-03T03:04:05.000Z" },
  }),
  changes("renames a key and leaves the rest", [{ name: "new" }], ["name=new"], {
    key: { name: "new", credit_limit: "5.00", models: ["small"], disabled: false },
  }),
  changes("lifts a limit", [{ credit_limit: null }, { credit_limit: "" }], ["credit_limit="], {
    key: { credit_limit: undefined, models: ["small"], expires_at: "2026-01-03T03:04:05.000Z" },
  }),
  changes(
    "permits all models again",
    [{ models: null }, { models: "" }, { models: [] }, { models: "[]" }],
    ["models=", "models=[]"],
    { key: { credit_limit: "5.00", models: [], expires_at: "2026-01-03T03:04:05.000Z" } },
  ),
  changes("lets a key live", [{ expires_at: null }, { expires_at: "" }], ["expires_at="], {
    key: { credit_limit: "5.00", models: ["small"], expires_at: undefined },
  }),
  changes("switches a key off", [{ disabled: true }], ["disabled=true", "disabled=1"], { key: { disabled: true } }),
  changes("switches a key on", [{ disabled: false }], ["disabled=false", "disabled=0"], { key: { disabled: false } }),
];

const noLimit = (reason: string, given: JsonValue, says?: RegExp) =>
  makes(
    `refuses a limit of ${JSON.stringify(given)}`,
    [{ credit_limit: given }],
    typeof given === "string" ? [`credit_limit=${encodeURIComponent(given)}`] : [],
    refusal(reason, "credit_limit", says),
  );

const noModels = (title: string, models: JsonValue, expected: Expected) => makes(title, [{ models }], [], expected);

export const refused: readonly KeyCase[] = [
  {
    title: "refuses a key without a name",
    rpc: "createKey",
    bodies: () => ["empty", json({}), form("credit_limit=1")],
    expected: { status: 400, reason: "MISSING_FIELD", param: "name" },
  },
  makes("refuses a name that is empty", [{ name: "" }], [], refusal("INVALID_VALUE", "name")),
  makes("refuses a name over 200 characters", [{ name: "x".repeat(201) }], [], refusal("INVALID_VALUE", "name")),
  makes("refuses a name of two lines", [{ name: "a\nb" }], [], refusal("INVALID_VALUE", "name", /line breaks\.$/)),
  makes("refuses an owner of two lines", [{ owner: "a\nb" }], [], refusal("INVALID_VALUE", "owner", /line breaks\.$/)),
  makes("refuses a name of blanks", [{ name: " \u200b" }], [], refusal("INVALID_VALUE", "name", /more than blanks/)),
  makes(
    "refuses an empty tag",
    [{ tags: [""] }],
    ["tags[]="],
    refusal("INVALID_VALUE", "tags[0]", /must not be empty\.$/),
  ),
  makes("refuses a name that is no text", [{ name: 5 }], [], refusal("INVALID_TYPE", "name")),
  noLimit("INVALID_VALUE", "-1"),
  noLimit("INVALID_VALUE", "-0.000001"),
  noLimit("INVALID_VALUE", "1000000000.000001"),
  noLimit("INVALID_VALUE", "1000000001"),
  noLimit("INVALID_VALUE", "1e3"),
  noLimit("INVALID_VALUE", "1.0000001", /at most 6 places/),
  noLimit("INVALID_VALUE", "abc"),
  noLimit("INVALID_VALUE", "NaN"),
  noLimit("INVALID_VALUE", "1,5"),
  noLimit("INVALID_VALUE", "99999999999999999999"),
  noLimit("INVALID_VALUE", 1e300),
  noLimit("INVALID_TYPE", true),
  noLimit("INVALID_TYPE", ["1"]),
  makes(
    "refuses an unknown model by its name",
    [{ models: ["small", "smal"] }, { models: '["small","smal"]' }],
    ["models=small&models=smal", `models=${encodeURIComponent('["small","smal"]')}`],
    refusal("INVALID_VALUE", "models[1]", /`smal`/),
  ),
  makes("refuses an unknown family by its name", [{ models: "family:fan" }], ["models=family:fan"], {
    ...refusal("INVALID_VALUE", "models[0]", /`fan`/),
  }),
  noModels("refuses a family without a name", ["family:"], refusal("INVALID_VALUE", "models[0]")),
  noModels("refuses permissions that are no texts", [5], refusal("INVALID_TYPE", "models[0]")),
  noModels("refuses permissions that are no list", { small: true }, refusal("INVALID_TYPE", "models")),
  noModels("refuses JSON of no texts", '["small",5]', refusal("INVALID_VALUE", "models[1]")),
  noModels("refuses JSON that breaks off", '["small"', refusal("INVALID_VALUE", "models")),
  noModels("refuses an empty permission", '["small",""]', refusal("INVALID_VALUE", "models[1]")),
  noModels("refuses a permission without end", ["x".repeat(211)], refusal("INVALID_VALUE", "models[0]")),
  noModels("refuses a permission without end in JSON", JSON.stringify(["x".repeat(211)]), {
    ...refusal("INVALID_VALUE", "models[0]"),
  }),
  noModels("refuses more than 1,000 permissions", new Array(1001).fill("small"), refusal("INVALID_VALUE", "models")),
  noModels("refuses more than 1,000 permissions in JSON", JSON.stringify(new Array(1001).fill("small")), {
    ...refusal("INVALID_VALUE", "models"),
  }),
  makes(
    "refuses an end that has come",
    [{ expires_at: "2026-01-02T03:04:05Z" }, { expires_at: "1970-01-01T00:00:00Z" }],
    ["expires_at=2025-01-01T00:00:00Z"],
    refusal("INVALID_VALUE", "expires_at", /future/),
  ),
  makes(
    "refuses an end that is no moment",
    [{ expires_at: "tomorrow" }, { expires_at: "2027-01-01" }, { expires_at: "2027-02-30T00:00:00Z" }],
    ["expires_at=2027-01-01", "expires_at=2027-01-01T00:00:00"],
    refusal("INVALID_VALUE", "expires_at", /expected a moment as 2030-01-31T12:00:00Z\.$/),
  ),
  makes("refuses an end that is no text", [{ expires_at: 5 }], [], refusal("INVALID_TYPE", "expires_at")),
  makes(
    "refuses to grant the administrator privilege",
    [{ is_admin: true }, { is_admin: false }, { is_admin: null }],
    ["is_admin=true", "is_admin="],
    refusal("INVALID_VALUE", "is_admin", /dashboard/),
  ),
  changes("refuses to grant it to a key that is there", [{ is_admin: true }, { is_admin: null }], ["is_admin=1"], {
    ...refusal("INVALID_VALUE", "is_admin", /dashboard/),
  }),
  ...(["listKeys", "rotateKey", "deleteKey"] as const).map(
    (rpc): KeyCase => ({
      title: `refuses the privilege in ${pathOf[rpc]}`,
      rpc,
      bodies: (id) => [
        json({ ...(rpc === "listKeys" ? {} : { id }), is_admin: true }),
        form(`${rpc === "listKeys" ? "" : `id=${id}&`}is_admin=true`),
      ],
      expected: refusal("INVALID_VALUE", "is_admin", /dashboard/),
    }),
  ),
  makes(
    "refuses what no field names, for it would not be obeyed",
    [{ max_fee: "1" }, { max_fee: null }],
    ["max_fee=1"],
    refusal("INVALID_VALUE", "max_fee"),
  ),
  makes(
    "refuses what no field of a budget names, by its path",
    [
      {
        budgets: [
          { amount: "1", period: "day" },
          { amount: "1", period: "day", currency: "USD" },
        ],
      },
    ],
    [],
    refusal("INVALID_VALUE", "budgets[1].currency", /there is no such field/),
  ),
  makes(
    "refuses what no field of a rate names, by its path",
    [{ model_rates: [{ model: "small", requests_per_minute: 1, per_day: 5 }] }],
    ["model_rates[0][model]=small&model_rates[0][requests_per_minute]=1&model_rates[0][per_day]=5"],
    refusal("INVALID_VALUE", "model_rates[0].per_day", /there is no such field/),
  ),
  makes(
    "refuses null for what no field of a rate names",
    [{ model_rates: [{ model: "small", requests_per_minute: 1, per_day: null }] }],
    [],
    refusal("INVALID_VALUE", "model_rates[0].per_day", /null says nothing here/),
  ),
  changes("refuses to change what no field names", [{ secret: "sk-own" }], ["secret=sk-own"], {
    ...refusal("INVALID_VALUE", "secret"),
  }),
  changes("refuses to leave a key without a name", [{ name: "" }], [], refusal("INVALID_VALUE", "name")),
  changes("refuses null where nothing can be cleared", [{ name: null }], [], refusal("INVALID_VALUE", "name")),
  changes("refuses a switch that is none", [{ disabled: "maybe" }, { disabled: 1 }], ["disabled=maybe"], {
    ...refusal("INVALID_TYPE", "disabled"),
  }),
  ...(["updateKey", "rotateKey", "deleteKey"] as const).flatMap((rpc): KeyCase[] => [
    {
      title: `refuses ${pathOf[rpc]} without an id`,
      rpc,
      bodies: () => ["empty", json({}), form("name=x")],
      expected: { status: 400, reason: "MISSING_FIELD", param: "id" },
    },
    {
      title: `does not find an unknown id in ${pathOf[rpc]}`,
      rpc,
      bodies: () => [json({ id: "key_000000000000000000000000z" }), form("id=key_000000000000000000000000z")],
      expected: { status: 404, reason: "RESOURCE_NOT_FOUND", param: "id" },
    },
  ]),
  {
    title: "refuses a page of no size",
    rpc: "listKeys",
    bodies: () => [json({ page_size: 0 }), form("page_size=0"), json({ page_size: 5001 })],
    expected: refusal("INVALID_VALUE", "page_size"),
  },
  {
    title: "refuses a page token that no page had",
    rpc: "listKeys",
    bodies: () => [json({ page_token: "2" }), form("page_token=a2V5Xw"), json({ page_token: "' OR 1=1 --" })],
    expected: refusal("INVALID_VALUE", "page_token"),
  },
  {
    title: "refuses an overlap over 30 days",
    rpc: "rotateKey",
    bodies: (id) => [json({ id, overlap_seconds: 2_592_001 }), form(`id=${id}&overlap_seconds=2592001`)],
    expected: refusal("INVALID_VALUE", "overlap_seconds"),
  },
];
