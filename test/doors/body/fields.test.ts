/**
 * Every field of SPEC 4.3, 4.4 and 4.5: missing, empty, of a wrong type, out of range, and just inside. The verdict is the same as
 * JSON, as a form, and as a multipart form. What SPEC calls optional may be absent.
 *
 * A form has texts only. So each row has what a JSON client sends and the form that means the same; what one of them cannot express
 * is left out.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { compileRoutes } from "../../../src/doors/rest/routes.ts";
import { asJson, doorsOf, endpoints } from "../../support/clients/endpoints.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../../support/gateway.ts";
import { startScriptedUpstream } from "../../support/scripted-upstream.ts";
import { completionPiece } from "../../support/vendors.ts";

/** The texts of a form's field, in their order: several by repetition. */
type Texts = string | readonly string[];

interface Row {
  /** What JSON says; absent where JSON cannot say it. */
  readonly json?: JsonValue;
  /** What a form says; by default the text of what JSON says. Null where a form cannot say it. */
  readonly form?: Texts | null;
  /** Undefined where the request is answered. */
  readonly refused?: { readonly status: number; readonly param: string };
}

interface Field {
  readonly name: string;
  readonly required: boolean;
  readonly rows: Readonly<Record<string, Row>>;
}

interface SpecEndpoint {
  readonly section: string;
  readonly path: string;
  /** A request in which nothing is wrong, to which each row adds its field. */
  readonly sound: JsonObject;
  readonly fields: readonly Field[];
}

const wrong = (param: string) => ({ status: 400, param });
const unknownModel = { status: 404, param: "model" };

/** What is told of a field that holds the name of a model. */
function modelRows(good: string): Readonly<Record<string, Row>> {
  return {
    "of the right kind": { json: good },
    "of nobody": { json: "nobody/knows:it", refused: unknownModel },
    empty: { json: "", form: null, refused: unknownModel },
    "of 200 characters": { json: "m".repeat(200), refused: unknownModel },
    "of 201 characters": { json: "m".repeat(201), refused: wrong("model") },
    "that is a number": { json: 7, form: null, refused: wrong("model") },
    "that is a number's text": { json: "7", refused: unknownModel },
    "that is a list": { json: [good], form: null, refused: wrong("model") },
  };
}

/** Texts that look like something else stay texts, and none is too strange. */
const strangeTexts: Readonly<Record<string, Row>> = {
  empty: { json: "" },
  "of one character": { json: "x" },
  "of blanks": { json: "  \n\t" },
  "that looks like a number": { json: "007" },
  "that looks like a truth": { json: "true" },
  "that looks like null": { json: "null" },
  "that looks like a list but is none": { json: "[see below]" },
  "that looks like an object": { json: '{"a":1}' },
  "of all scripts": { json: "naïve 世界 👋🏽 שלום &=+%20;" },
  "of 100,000 characters": { json: "a ".repeat(50_000) },
};

/** One text of so many tokens: more than a form has fields. */
function manyTokens(count: number): { readonly json: number[]; readonly form: null } {
  return { json: Array.from({ length: count }, (_, i) => i % 7), form: null };
}

const completions: SpecEndpoint = {
  section: "4.3",
  path: "/completions",
  // Of an answer only the head is looked at.
  sound: { model: "embedded-chat", prompt: "say hello", max_tokens: 1 },
  fields: [
    {
      name: "model",
      required: false,
      rows: {
        ...modelRows("embedded-chat"),
        "of another kind": { json: "embedded-embedding", refused: unknownModel },
      },
    },
    {
      name: "prompt",
      required: false,
      rows: {
        ...strangeTexts,
        null: { json: null, form: null },
        "that is a list of one": { json: ["hello"], form: '["hello"]' },
        "that is a number": { json: 7, form: null, refused: wrong("prompt") },
        "that is an object": { json: { a: "b" }, form: null, refused: wrong("prompt") },
        "that is a list of truths": { json: [true], form: null, refused: wrong("prompt[0]") },
        "that is two": { json: ["a", "b"], form: ["a", "b"] },
        "of 2048 texts": { json: Array(2048).fill("a"), form: Array(2048).fill("a") },
        "of 2049 texts": { json: Array(2049).fill("a"), form: Array(2049).fill("a"), refused: wrong("prompt") },
        "of tokens, for a chat model": { json: [1, 2], form: null, refused: wrong("prompt") },
        "of one token too many": { ...manyTokens(1_000_001), refused: wrong("prompt") },
        "of tokens and texts": { json: [1, "a"], form: null, refused: wrong("prompt[1]") },
      },
    },
    {
      name: "max_tokens",
      required: false,
      rows: {
        null: { json: null, form: "null" },
        empty: { form: "" },
        "of 0": { json: 0 },
        "of 1": { json: 1 },
        "beyond what the model puts out": { json: 4_294_967_295 },
        "written with an exponent": { json: 1e2, form: "1e2" },
        "with blanks around": { form: " 5 " },
        "below 0": { json: -2, refused: wrong("max_tokens") },
        "beyond 32 bits": { json: 4_294_967_296, refused: wrong("max_tokens") },
        "with a fraction": { json: 1.5, refused: wrong("max_tokens") },
        "in words": { json: "five", refused: wrong("max_tokens") },
        "in hexadecimal": { json: "0x10", refused: wrong("max_tokens") },
        "without end": { json: "Infinity", refused: wrong("max_tokens") },
        "as a text, in JSON": { json: "5" },
        "that is a truth": { json: true, refused: wrong("max_tokens") },
        "that is a list": { json: [5], form: null, refused: wrong("max_tokens") },
      },
    },
    {
      name: "stream",
      required: false,
      rows: {
        null: { json: null, form: "null" },
        empty: { form: "" },
        "that is true": { json: true },
        "that is false": { json: false },
        "as Python writes it": { form: "True" },
        "as PHP writes it": { form: "0" },
        "in other words": { json: "maybe", refused: wrong("stream") },
        "that is 2": { json: 2, refused: wrong("stream") },
        "as a text, in JSON": { json: "true" },
        "as a number, in JSON": { json: 1, form: null, refused: wrong("stream") },
      },
    },
  ],
};

const embeddings: SpecEndpoint = {
  section: "4.4",
  path: "/embeddings",
  sound: { model: "embedded-embedding", input: "hello" },
  fields: [
    {
      name: "input",
      required: false,
      rows: {
        ...strangeTexts,
        null: { json: null, form: null },
        "that is a list of one": { json: ["hello"], form: '["hello"]' },
        "that is two": { json: ["a", "b"], form: ["a", "b"] },
        "that is a list of tokens": { json: [1, 2, 3], form: null },
        "of 2048 texts": { json: Array(2048).fill("a"), form: Array(2048).fill("a") },
        "of 2049 texts": { json: Array(2049).fill("a"), form: Array(2049).fill("a"), refused: wrong("input") },
        "of 2048 lists of tokens": { json: Array(2048).fill([1]), form: null },
        "of 2049 lists of tokens": {
          ...{ json: Array(2049).fill([1]), form: null },
          refused: wrong("input"),
        },
        "of 2049 tokens": manyTokens(2049),
        "of 1,000,000 tokens": manyTokens(1_000_000),
        "of 1,000,001 tokens": { ...manyTokens(1_000_001), refused: wrong("input") },
        "of 1,000,001 tokens among others": {
          json: ["a", manyTokens(1_000_001).json],
          form: null,
          refused: wrong("input[1]"),
        },
        "that is an empty list": { json: [], form: null, refused: wrong("input") },
        "that is a number": { json: 7, form: null, refused: wrong("input") },
        "that is an object": { json: { a: "b" }, form: null, refused: wrong("input") },
        "with a token below 0": { json: [-1], form: null, refused: wrong("input[0]") },
        "of texts and tokens": { json: ["a", 1], form: null, refused: wrong("input[1]") },
        "of tokens and texts": { json: [1, "a"], form: null, refused: wrong("input[1]") },
      },
    },
    {
      name: "model",
      required: false,
      rows: { ...modelRows("embedded-embedding"), "of another kind": { json: "embedded-chat", refused: unknownModel } },
    },
    {
      name: "encoding_format",
      required: false,
      rows: {
        null: { json: null, form: "null" },
        empty: { form: "" },
        "that is float": { json: "float" },
        "that is base64": { json: "base64" },
        "in capitals": { json: "FLOAT", refused: wrong("encoding_format") },
        "that nobody knows": { json: "int8", refused: wrong("encoding_format") },
        "as an empty text, in JSON": { json: "", form: null, refused: wrong("encoding_format") },
        "that is a number": { json: 1, refused: wrong("encoding_format") },
        "that is a list": { json: ["float"], form: null, refused: wrong("encoding_format") },
      },
    },
  ],
};

const voices = ["alloy", "echo", "fable", "onyx", "nova", "shimmer"];
const codings = ["mp3", "opus", "aac", "flac"];
const each = (values: readonly string[]) =>
  Object.fromEntries(values.map((value) => [`that is ${value}`, { json: value }]));

const speech: SpecEndpoint = {
  section: "4.5",
  path: "/audio/speech",
  // The default format takes three times the CPU of this one: it is asked for where it matters.
  sound: { model: "tts-1", input: "Hello.", voice: "alloy", response_format: "opus" },
  fields: [
    {
      name: "model",
      required: true,
      rows: {
        ...modelRows("tts-1"),
        "of the better kind": { json: "tts-1-hd" },
        "of another kind": { json: "embedded-chat", refused: unknownModel },
      },
    },
    {
      name: "input",
      required: true,
      rows: {
        "of one character": { json: "x" },
        "of 4096 characters": { json: `${"word ".repeat(819)}x` },
        "of 4096 characters outside of the first plane": { json: "👋".repeat(4096) },
        "of 4097 characters": { json: `${"word ".repeat(819)}xy`, refused: wrong("input") },
        "of 4097 characters outside of the first plane": { json: "👋".repeat(4097), refused: wrong("input") },
        "that looks like a number": { json: "007" },
        empty: { json: "", refused: wrong("input") },
        "that is a number": { json: 7, form: null, refused: wrong("input") },
        "that is a list": { json: ["Hello."], form: null, refused: wrong("input") },
      },
    },
    {
      name: "voice",
      required: true,
      rows: {
        ...each(voices),
        empty: { json: "", refused: wrong("voice") },
        "that nobody has": { json: "nobody", refused: wrong("voice") },
        "in capitals": { json: "Alloy", refused: wrong("voice") },
        "that is a number": { json: 7, form: null, refused: wrong("voice") },
      },
    },
    {
      name: "response_format",
      required: false,
      rows: {
        ...each(codings),
        null: { json: null, form: "null" },
        empty: { form: "" },
        "that nobody knows": { json: "midi", refused: wrong("response_format") },
        "in capitals": { json: "MP3", refused: wrong("response_format") },
        "that is a number": { json: 3, refused: wrong("response_format") },
      },
    },
    {
      name: "speed",
      required: false,
      rows: {
        null: { json: null, form: "null" },
        empty: { form: "" },
        "of 0.25": { json: 0.25 },
        "of 1": { json: 1 },
        "of 4.0": { json: 4, form: "4.0" },
        "below 0.25": { json: 0.249, refused: wrong("speed") },
        "beyond 4.0": { json: 4.001, refused: wrong("speed") },
        "of 0": { json: 0, refused: wrong("speed") },
        "below 0": { json: -1, refused: wrong("speed") },
        "in words": { json: "fast", refused: wrong("speed") },
        "that is no number": { json: "NaN", refused: wrong("speed") },
        "as a text, in JSON": { json: "1" },
        "that is a truth": { json: true, refused: wrong("speed") },
      },
    },
  ],
};

const served = compileRoutes([InferenceService]);
const tables = [completions, embeddings, speech].filter(
  ({ path }) => served.find("POST", `/v1${path}`).kind === "found",
);

interface Body {
  readonly headers: Record<string, string>;
  readonly body: NonNullable<RequestInit["body"]>;
}

type Pairs = readonly (readonly [key: string, text: string])[];

const formEncodings: Readonly<Record<string, (pairs: Pairs) => Body>> = {
  "a form": (pairs) => ({ headers: {}, body: new URLSearchParams(pairs.map(([key, text]) => [key, text])) }),
  "a multipart form": (pairs) => {
    const body = new FormData();
    for (const [key, text] of pairs) body.append(key, text);
    return { headers: {}, body };
  },
};

function pairsOf(request: Readonly<Record<string, Texts>>): Pairs {
  return Object.entries(request).flatMap(([key, texts]) =>
    (typeof texts === "object" ? texts : [String(texts)]).map((text) => [key, text] as const),
  );
}

/** Returns the bodies that say the same, by their encoding. */
function bodiesOf(sound: JsonObject, name: string, row: Row): [encoding: string, body: Body][] {
  const bodies: [string, Body][] = [];
  if (row.json !== undefined) bodies.push(["JSON", asJson({ ...sound, [name]: row.json })]);
  const texts = row.form === undefined ? String(row.json) : row.form;
  if (texts === null) return bodies;
  const pairs = pairsOf({ ...(sound as Record<string, string>), [name]: texts });
  for (const [encoding, encode] of Object.entries(formEncodings)) bodies.push([encoding, encode(pairs)]);
  return bodies;
}

let gateway: TestGateway;

beforeAll(async () => {
  // Of an answer only the head is looked at: what is left is not read on.
  gateway = await startTestGateway({ disconnectDrainMs: 0 });
});

afterAll(() => gateway.close());

/** Sends the request, and says how it ended: nothing is read of an answer but that it begins. */
async function verdictOf(path: string, { headers, body }: Body): Promise<{ status: number; param: string | null }> {
  const response = await fetch(`${gateway.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, ...headers },
    body,
  });
  if (response.status === 200) {
    await response.body?.cancel();
    return { status: 200, param: null };
  }
  const { error } = (await response.json()) as { error: { param: string | null } };
  return { status: response.status, param: error.param };
}

for (const { section, path, sound, fields } of tables) {
  describe(`SPEC ${section}, POST ${path}`, () => {
    for (const { name, required, rows } of fields) {
      for (const [what, row] of Object.entries(rows)) {
        test(`${row.refused ? "refuses" : "takes"} a ${name} ${what}`, async () => {
          const expected = row.refused ?? { status: 200, param: null };
          const bodies = bodiesOf(sound, name, row);
          expect(bodies.length).toBeGreaterThan(0);
          for (const [encoding, body] of bodies) expect(await verdictOf(path, body), encoding).toEqual(expected);
        });
      }

      test(`${required ? "refuses" : "takes"} a request without ${name}`, async () => {
        const { [name]: _, ...rest } = sound;
        const expected = required ? wrong(name) : { status: 200, param: null };
        expect(await verdictOf(path, asJson(rest)), "JSON").toEqual(expected);
        for (const [encoding, encode] of Object.entries(formEncodings)) {
          expect(await verdictOf(path, encode(pairsOf(rest as Record<string, string>))), encoding).toEqual(expected);
        }
      });
    }

    const missing = fields.find(({ required }) => required)?.name;

    test(`${missing ? "refuses" : "takes"} a request without anything`, async () => {
      const expected = missing ? wrong(missing) : { status: 200, param: null };
      expect(await verdictOf(path, asJson({})), "JSON").toEqual(expected);
      expect(await verdictOf(path, { headers: {}, body: "" }), "no body").toEqual(expected);
      const form = { "content-type": "application/x-www-form-urlencoded" };
      expect(await verdictOf(path, { headers: form, body: "" }), "an empty form").toEqual(expected);
    });

    test("takes an unknown field", async () => {
      const expected = { status: 200, param: null };
      expect(await verdictOf(path, asJson({ ...sound, nobody_knows: "it" })), "JSON").toEqual(expected);
      for (const [encoding, encode] of Object.entries(formEncodings)) {
        const pairs = pairsOf({ ...(sound as Record<string, string>), nobody_knows: "it" });
        expect(await verdictOf(path, encode(pairs)), encoding).toEqual(expected);
      }
    });
  });
}

describe("the bounds of lists and of tokens are the same by every RPC", () => {
  const rows: Readonly<Record<string, readonly [input: JsonValue, param: string | undefined]>> = {
    "2048 texts": [Array(2048).fill("a"), undefined],
    "2049 texts": [Array(2049).fill("a"), "input"],
    "2049 tokens": [manyTokens(2049).json, undefined],
    "2049 lists of tokens": [Array(2049).fill([1]), "input"],
    "1,000,000 tokens": [manyTokens(1_000_000).json, undefined],
    "1,000,001 tokens": [manyTokens(1_000_001).json, "input"],
    "1,000,001 tokens among others": [["a", manyTokens(1_000_001).json], "input[1]"],
  };
  const rpcDoors = doorsOf(endpoints.embeddings).filter(({ name }) => !name.startsWith("REST"));

  // Messages of megabytes come by either encoding once: the protocols around them do not look at what is in them.
  const largeDoors = rpcDoors.filter(({ name }) => name === "Connect, JSON" || name === "gRPC over h2c");

  for (const [what, [input, param]] of Object.entries(rows)) {
    test(`${param ? "refuses" : "takes"} an input of ${what}`, async () => {
      for (const door of what.startsWith("1,000,00") ? largeDoors : rpcDoors) {
        const request = { model: "embedded-embedding", input, dimensions: 2 };
        const { answers, refused } = await door.call(gateway, { request });
        expect([answers.length, refused?.status, refused?.param], door.name).toEqual(
          param ? [0, 400, param] : [1, undefined, undefined],
        );
      }
    });
  }

  test("and tokens all reach an upstream that reads them, by every encoding", async () => {
    const upstream = await startScriptedUpstream((exchange) => exchange.json(200, completionPiece("Hello", "stop")));
    const native = await startTestGateway(upstreamAt(upstream.baseUrl));
    const { json: prompt } = manyTokens(5000);
    const doors = doorsOf(endpoints.completions).filter(({ name }) => !/form|multipart$/.test(name));
    for (const door of doors) {
      const { refused } = await door.call(native, { request: { model: "embedded-chat", prompt } });
      expect(refused, door.name).toBeUndefined();
      expect(upstream.lastAsked.prompt, door.name).toEqual(prompt);
    }
    expect(upstream.received).toHaveLength(doors.length);
    await native.close();
    await upstream.close();
  });
});

describe("a field has its effect", () => {
  const read = async (path: string, { headers, body }: Body) => {
    const response = await fetch(`${gateway.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, ...headers },
      body,
    });
    return { type: response.headers.get("content-type"), text: await response.text() };
  };

  const encoded = (request: Record<string, string>): Record<string, Body> => ({
    "a form": formEncodings["a form"]?.(pairsOf(request)) as Body,
    "a multipart form": formEncodings["a multipart form"]?.(pairsOf(request)) as Body,
  });

  test("a bound cuts the text, and `stream` makes a stream, by every encoding", async () => {
    const request = { model: "embedded-chat", prompt: "say one two three four five" };
    const bodies = { JSON: asJson({ ...request, max_tokens: 2 }), ...encoded({ ...request, max_tokens: "2" }) };
    for (const [encoding, body] of Object.entries(bodies)) {
      const [choice] = JSON.parse((await read("/completions", body)).text).choices;
      expect(choice, encoding).toMatchObject({ text: "one two", finish_reason: "length" });
    }
    const streams = { JSON: asJson({ ...request, stream: true }), ...encoded({ ...request, stream: "True" }) };
    for (const [encoding, body] of Object.entries(streams)) {
      expect((await read("/completions", body)).type, encoding).toBe("text/event-stream; charset=utf-8");
    }
  });

  test("a missing bound is 16 tokens", async () => {
    const prompt = `say ${"one two three four five six ".repeat(10)}`;
    const { usage } = JSON.parse((await read("/completions", asJson({ prompt }))).text);
    expect(usage.completion_tokens).toBe(16);
  });

  test("vectors are numbers unless base64 is requested, by every encoding", async () => {
    for (const [encoding, body] of Object.entries({ JSON: asJson({ input: "x" }), ...encoded({ input: "x" }) })) {
      const [{ embedding }] = JSON.parse((await read("/embeddings", body)).text).data;
      expect(embedding.every(Number.isFinite), encoding).toBe(true);
    }
    const request = { input: "x", encoding_format: "base64" };
    for (const [encoding, body] of Object.entries({ JSON: asJson(request), ...encoded(request) })) {
      const [{ embedding }] = JSON.parse((await read("/embeddings", body)).text).data;
      expect(Buffer.from(embedding, "base64").length % 4, encoding).toBe(0);
      expect(Buffer.from(embedding, "base64").length, encoding).toBeGreaterThan(0);
    }
  });

  test("a missing model is the operator's default", async () => {
    const own = await startTestGateway({ defaultModels: { completion: "embedded-chat", embedding: "nobody" } });
    const send = (path: string) =>
      fetch(`${own.baseUrl}${path}`, { method: "POST", headers: { authorization: `Bearer ${own.apiKey}` } });
    expect((await send("/completions")).status).toBe(200);
    expect(await (await send("/embeddings")).json()).toMatchObject({ error: { param: "model" } });
    await own.close();
  });
});
