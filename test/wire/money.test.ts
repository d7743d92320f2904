/**
 * Money, timestamps and empty values on the wire: what key management reads and writes, and what it refuses with a
 * path.
 */
import { create, type DescMessage, fromBinary, type JsonObject, type JsonValue, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  ApiKeySchema,
  CreateKeyRequestSchema,
  KeyDescriptionSchema,
  ListKeysResponseSchema,
  UpdateKeyRequestSchema,
} from "../../gen/modelgateway/v1/keys_pb.ts";
import { readForm, readMultipart } from "../../src/doors/body/form.ts";
import { decimalText, formatDecimal, parseDecimal } from "../../src/runtime/decimal.ts";
import { WireFault } from "../../src/wire/fault.ts";
import { binaryOptions } from "../../src/wire/json.ts";
import { planOf } from "../../src/wire/plan.ts";
import { readMessage } from "../../src/wire/read.ts";
import { writeMessage } from "../../src/wire/write.ts";

function read<D extends DescMessage>(desc: D, json: JsonValue) {
  return readMessage(desc, json, { lenient: false });
}

function again(desc: DescMessage, json: JsonObject): JsonValue {
  return writeMessage(desc, fromBinary(desc, toBinary(desc, read(desc, json)), binaryOptions));
}

function faultOf(desc: DescMessage, json: JsonObject): Pick<WireFault, "kind" | "path" | "message"> {
  try {
    read(desc, json);
  } catch (fault) {
    if (fault instanceof WireFault) return { kind: fault.kind, path: fault.path, message: fault.message };
    throw fault;
  }
  throw new Error("it was not refused");
}

const limitOf = (credit_limit: JsonValue) => read(UpdateKeyRequestSchema, { credit_limit }).creditLimit?.amount;

describe("money is read from", () => {
  test.each<[JsonValue, bigint]>([
    ["10", 10_000_000n],
    ["10.5", 10_500_000n],
    ["10.50", 10_500_000n],
    ["0.000001", 1n],
    ["007.10", 7_100_000n],
    ["-3", -3_000_000n],
    ["-0.00", 0n],
    ["9007199254.740991", 9007199254740991n],
    ["-9007199254.740991", -9007199254740991n],
    [10, 10_000_000n],
    [0.1, 100_000n],
    [1.1, 1_100_000n],
    [1e-6, 1n],
    [1e9, 1_000_000_000_000_000n],
    [-0, 0n],
    [-2.25, -2_250_000n],
  ])("%j", (json, amount) => {
    expect(limitOf(json)).toBe(amount);
  });

  test("a string with as many digits as a request may have, at once", () => {
    expect(faultOf(UpdateKeyRequestSchema, { credit_limit: "9".repeat(5_000_000) }).message).toMatch(/magnitude$/);
    expect(limitOf(`${"0".repeat(5_000_000)}1`)).toBe(1_000_000n);
  });
});

describe("money is refused", () => {
  const form = 'expected a decimal, as "12.50"';
  const places = "expected a decimal with at most 6 places";
  const size = "expected a decimal of at most 9007199254.740991 in magnitude";

  test.each<[JsonValue, string]>([
    ["0.0000001", places],
    ["1.0000000", places],
    [1e-7, places],
    [0.1 + 0.2, places],
    ["9007199254.740992", size],
    ["-9007199254.740992", size],
    [2 ** 53, size],
    [1e300, size],
    ...["+1", "1e3", " 1", "1 ", "1.", ".5", "-", "1,5", "1_000", "0x10", "ten", "NaN", "Infinity", "１", "--1"].map(
      (text): [JsonValue, string] => [text, form],
    ),
    [true, "expected a decimal, got a boolean"],
    [["1"], "expected a decimal, got a list"],
    [{}, "expected a decimal, got an object"],
    [Number.POSITIVE_INFINITY, "expected a number that a double can hold"],
  ])("as %j", (credit_limit, message) => {
    const kind = message === form || message === places || message === size ? "value" : "type";
    expect(faultOf(UpdateKeyRequestSchema, { credit_limit })).toEqual({ kind, path: "credit_limit", message });
  });
});

describe("money is written with at least two places, and no further zeros", () => {
  test.each([
    [10_000_000, "10.00"],
    [12_500_000, "12.50"],
    [123, "0.000123"],
    [-3_000_000, "-3.00"],
    [-1, "-0.000001"],
    [0, "0.00"],
    [1_234_567, "1.234567"],
    [Number.MAX_SAFE_INTEGER, "9007199254.740991"],
  ])("%d millionths as %s", (value, text) => {
    expect(formatDecimal(value)).toBe(text);
    expect(formatDecimal(BigInt(value))).toBe(text);
    expect(parseDecimal(text)).toEqual({ value });
  });

  test("as zero where it must be written and was not set", () => {
    expect(writeMessage(ApiKeySchema, create(ApiKeySchema))).toMatchObject({ spent: "0.00", held: "0.00" });
    expect(writeMessage(ApiKeySchema, create(ApiKeySchema))).not.toHaveProperty("credit_limit");
  });
});

describe("any whole number", () => {
  const places = fc.integer({ min: 2, max: 9 });

  test("is written alike as a number and as a bigint, even beside every unit", () => {
    const units = fc.nat({ max: Math.floor(Number.MAX_SAFE_INTEGER / 1_000_000) - 1 });
    const beside = fc.tuple(units, fc.integer({ min: -1, max: 1_001 }));
    const value = fc.oneof(
      fc.maxSafeNat(),
      beside.map(([unit, more]) => Math.max(0, unit * 1_000_000 + more)),
    );
    fc.assert(
      fc.property(value, (one) => {
        expect(formatDecimal(one)).toBe(formatDecimal(BigInt(one)));
        expect(formatDecimal(-one)).toBe(formatDecimal(BigInt(-one)));
      }),
      { numRuns: 2_000 },
    );
  });

  test("comes back from its decimal text, with any number of places", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), places, (value, places) => {
        const text = formatDecimal(value, places);
        expect(text).toMatch(/^-?(?:0|[1-9]\d*)\.\d\d(?:\d*[1-9])?$/);
        expect(parseDecimal(text, places)).toEqual({ value });
      }),
    );
  });

  test("comes back from JSON through the binary form as the same text", () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (spent, limit) => {
        const json = { spent: formatDecimal(spent), credit_limit: formatDecimal(limit) };
        expect(again(ApiKeySchema, json)).toMatchObject(json);
      }),
    );
  });

  test("is read alike from a string and from a JSON number", () => {
    fc.assert(
      fc.property(fc.integer({ min: -1e15, max: 1e15 }), (value) => {
        expect(limitOf(Number(formatDecimal(value)))).toBe(BigInt(value));
      }),
    );
  });

  test("a double's text has no exponent and the same value", () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (double) => {
        expect(decimalText(double)).toMatch(/^-?\d+(\.\d+)?$/);
        expect(Number(decimalText(double))).toBe(double === 0 ? 0 : double);
      }),
    );
  });
});

const momentOf = (expires_at: JsonValue) =>
  (again(UpdateKeyRequestSchema, { expires_at }) as JsonObject).expires_at as string | null;

describe("a timestamp is read with its offset and written in UTC:", () => {
  test.each([
    ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.000Z"],
    ["2026-01-02t03:04:05.6z", "2026-01-02T03:04:05.600Z"],
    ["2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.123Z"],
    ["2026-01-02 03:04:05.999999+00:00", "2026-01-02T03:04:05.999Z"],
    ["2026-01-02T03:04:05+08:00", "2026-01-01T19:04:05.000Z"],
    ["2026-01-02T03:04:05-09:30", "2026-01-02T12:34:05.000Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000Z"],
    ["1969-12-31T23:59:59.999Z", "1969-12-31T23:59:59.999Z"],
    ["9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"],
  ])("%s", (text, written) => {
    expect(momentOf(text)).toBe(written);
  });

  test("any timestamp, to the millisecond, at any offset", () => {
    const ms = fc.integer({ min: Date.parse("0001-01-02T00:00:00Z"), max: Date.parse("9999-12-31T00:00:00Z") });
    fc.assert(
      fc.property(ms, fc.integer({ min: -1439, max: 1439 }), (ms, minutes) => {
        const utc = new Date(ms).toISOString();
        expect(momentOf(utc)).toBe(utc);
        const local = new Date(ms + minutes * 60_000).toISOString().slice(0, -1);
        const two = (number: number) => String(number).padStart(2, "0");
        const offset = `${two(Math.floor(Math.abs(minutes) / 60))}:${two(Math.abs(minutes) % 60)}`;
        expect(momentOf(`${local}${minutes < 0 ? "-" : "+"}${offset}`)).toBe(utc);
      }),
    );
  });
});

describe("a timestamp is refused", () => {
  test.each<JsonValue>([
    ...["2026-01-02T03:04:05", "2024-12-31 23:59:59", "2026-01-02", "tomorrow", "1767323045", " 2026-01-02T03:04:05Z"],
    ...["2026-13-02T03:04:05Z", "2026-00-02T03:04:05Z", "2026-02-30T03:04:05Z", "2025-02-29T03:04:05Z"],
    ...["2026-01-02T24:00:00Z", "2026-01-02T03:60:05Z", "2026-01-02T03:04:60Z", "2026-01-02T03:04Z"],
    ...[
      "2026-01-02T03:04:05+24:00",
      "2026-01-02T03:04:05+08:60",
      "2026-01-02T03:04:05+0800",
      "2026-01-02T03:04:05 08:00",
    ],
    ...["0000-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01", "+010000-01-01T00:00:00Z"],
    ...[1767323045, true, {}, []],
  ])("as %j", (expires_at) => {
    expect(faultOf(UpdateKeyRequestSchema, { expires_at })).toEqual({
      kind: typeof expires_at === "string" ? "value" : "type",
      path: "expires_at",
      message: expect.stringMatching(
        typeof expires_at === "string"
          ? /^expected a moment as 2030-01-31T12:00:00Z$/
          : /^expected a moment as 2030-01-31T12:00:00Z, got an? \w+$/,
      ),
    });
  });

  const written = (seconds: bigint, nanos = 0) =>
    writeMessage(
      UpdateKeyRequestSchema,
      create(UpdateKeyRequestSchema, { expiresAt: { at: { seconds, nanos } } }),
    ) as JsonObject;

  test.each([10n ** 17n, 253402300800n, -62135596801n, 1893456000000n])(
    "as %d seconds of an RPC, which would else be no end at all",
    (seconds) => {
      expect(faultOf(UpdateKeyRequestSchema, written(seconds))).toMatchObject({ kind: "value", path: "expires_at" });
    },
  );

  test("in no case where it is finer than a millisecond: it is truncated", () => {
    expect(written(0n, 999_999_999)).toEqual({ expires_at: "1970-01-01T00:00:00.999Z" });
  });
});

describe("an empty member is distinguished from a missing one:", () => {
  test.each<JsonValue>([null, ""])("a cap and an end of %j are none, and written as null", (empty) => {
    const message = read(UpdateKeyRequestSchema, { id: "key_1", credit_limit: empty, expires_at: empty });
    expect(message.creditLimit).toMatchObject({ $typeName: "modelgateway.v1.CreditLimit" });
    expect(message.creditLimit?.amount).toBeUndefined();
    expect(message.expiresAt).toMatchObject({ $typeName: "modelgateway.v1.Expiry" });
    expect(message.expiresAt?.at).toBeUndefined();
    expect(message.extra).toBeUndefined();
    expect(again(UpdateKeyRequestSchema, { id: "key_1", credit_limit: empty, expires_at: empty })).toEqual({
      ...{ id: "key_1", credit_limit: null, expires_at: null },
    });
  });

  test.each<JsonValue>([null, ""])("models of %j are the empty text", (models) => {
    const message = read(UpdateKeyRequestSchema, { models });
    expect(message.models?.models).toEqual({ case: "text", value: "" });
    expect(message.extra).toBeUndefined();
  });

  test("a missing member is absent", () => {
    const message = read(UpdateKeyRequestSchema, { id: "key_1" });
    expect([message.creditLimit, message.expiresAt, message.models]).toEqual([undefined, undefined, undefined]);
  });

  test("a field that cannot be empty keeps its null, and an unknown key is kept as always", () => {
    const message = read(UpdateKeyRequestSchema, { id: null, disabled: null, is_admin: true });
    expect(message.extra).toEqual({ id: null, disabled: null, is_admin: true });
  });

  test("models come as a string and as a list", () => {
    expect(read(CreateKeyRequestSchema, { models: '["a"]' }).models?.models).toEqual({ case: "text", value: '["a"]' });
    expect(read(CreateKeyRequestSchema, { models: ["a"] }).models?.models).toMatchObject({
      case: "list",
      value: { entries: ["a"] },
    });
    expect(faultOf(CreateKeyRequestSchema, { models: [null] })).toMatchObject({ path: "models[0]" });
    expect(faultOf(CreateKeyRequestSchema, { models: 5 })).toMatchObject({ path: "models" });
  });
});

describe("a form means the same:", () => {
  const rows: [name: string, text: string, json: JsonObject][] = [
    [
      "money and a moment",
      "credit_limit=12.5&expires_at=2026-01-02T03%3A04%3A05Z",
      {
        credit_limit: "12.5",
        expires_at: "2026-01-02T03:04:05Z",
      },
    ],
    [
      "emptiness",
      "id=key_1&credit_limit=&expires_at=&models=",
      {
        ...{ id: "key_1", credit_limit: null, expires_at: null, models: "" },
      },
    ],
    ["emptiness as null", "credit_limit=null&expires_at=null", { credit_limit: null, expires_at: null }],
    ["models, repeated", "models=a&models=b", { models: ["a", "b"] }],
    ["models, in brackets", "models[]=a", { models: ["a"] }],
    ["models, numbered", "models[1]=b&models[0]=a", { models: ["a", "b"] }],
    ["models, as JSON text", 'models=["a","family:b"]', { models: ["a", "family:b"] }],
    ["one model", "models=a", { models: "a" }],
    ["a truth", "disabled=True", { disabled: true }],
    ["a truth left empty", "disabled=&name=n", { name: "n" }],
  ];
  test.each(rows)("%s", (_, text, json) => {
    expect(readForm(UpdateKeyRequestSchema, Buffer.from(text))).toEqual(json);
    read(UpdateKeyRequestSchema, json);
  });

  test("in parts, too", () => {
    const part = (name: string, text: string) =>
      `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`;
    const body = `${part("id", "key_1")}${part("credit_limit", "")}${part("models", "a")}--x--\r\n`;
    expect(readMultipart(UpdateKeyRequestSchema, "multipart/form-data; boundary=x", Buffer.from(body))).toEqual({
      ...{ id: "key_1", credit_limit: null, models: "a" },
    });
  });

  test("and is refused like JSON", () => {
    for (const text of ["credit_limit=1e3", "credit_limit[]=1", "credit_limit=1.0000001"]) {
      expect(faultOf(UpdateKeyRequestSchema, readForm(UpdateKeyRequestSchema, Buffer.from(text))).path, text).toBe(
        "credit_limit",
      );
    }
    const spaced = readForm(UpdateKeyRequestSchema, Buffer.from("expires_at=2026-01-02T03:04:05+08:00"));
    expect(faultOf(UpdateKeyRequestSchema, spaced).path).toBe("expires_at");
  });
});

test("a caller gets the list of keys as its clients read it", () => {
  const keys = [{ id: "key_1", name: "n", creditLimit: 5_000_000n, spent: 1n, createdAt: timestampFromMs(1000) }];
  for (const desc of [ListKeysResponseSchema, KeyDescriptionSchema]) planOf(desc);
  expect(writeMessage(ListKeysResponseSchema, create(ListKeysResponseSchema, { keys }))).toEqual({
    keys: [
      {
        ...{ id: "key_1", name: "n", secret_mask: "", credit_limit: "5.00", spent: "0.000001", held: "0.00" },
        ...{ models: [], is_admin: false, disabled: false, created_at: "1970-01-01T00:00:01.000Z" },
        ...{ budgets: [], model_rates: [], allowed_ips: [], tags: [] },
      },
    ],
  });
});
