/** The embedded embedding model answers with useful vectors, in the encoding that the caller asked for. */
import { setImmediate } from "node:timers/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CreateEmbeddingsRequestSchema, EmbeddingListSchema } from "../../gen/modelgateway/v1/embeddings_pb.ts";
import { asRefusal, Refusal } from "../../src/call/refusals.ts";
import { embed } from "../../src/embedded/embeddings/index.ts";
import { encodeVectors, formatAskedFor, type VectorFormat } from "../../src/families/embeddings-encoding.ts";
import { loadTokenizer } from "../../src/tokens/tokenizer.ts";
import { Wire } from "../../src/wire/wire.ts";
import { recordingMeter, unbounded } from "../support/meter.ts";
import { timed } from "../support/run/running-time.ts";

interface Listed extends JsonObject {
  data: { object: string; index: number; embedding: number[] }[];
  usage: { prompt_tokens: number; total_tokens: number };
}

async function answer(request: JsonObject, signal = new AbortController().signal) {
  const answered = await embed({
    id: "req_1",
    operation: "embeddings",
    form: "whole",
    model: "embedded-embedding",
    request: Wire.ofJson(CreateEmbeddingsRequestSchema, request),
    header: () => undefined,
    signal,
    meter: recordingMeter(),
    ...unbounded(),
  });
  if (answered.kind !== "whole") throw new Error("the answer is not whole");
  return answered.body;
}

async function list(request: JsonObject): Promise<Listed> {
  return (await answer(request)).json() as Listed;
}

async function vectors(input: JsonObject[string], more: JsonObject = {}): Promise<number[][]> {
  return (await list({ input, ...more })).data.map(({ embedding }) => embedding);
}

function dot(a: readonly number[], b: readonly number[]): number {
  return a.reduce((sum, value, i) => sum + value * (b[i] as number), 0);
}

const length = (vector: readonly number[]) => Math.sqrt(dot(vector, vector));

describe("a near text is nearer than a far one:", () => {
  const triples: readonly (readonly [text: string, near: string, far: string])[] = [
    ["The cat sat on the mat.", "A cat is sitting on a mat.", "The stock market fell on Monday."],
    ["How do I reset my password?", "I forgot my password and want to reset it", "How do I cancel my order?"],
    ["How do I cancel my order?", "cancelling an order that I placed", "How do I reset my password?"],
    ["machine learning models", "a model for machine learning", "garden furniture made of wood"],
    ["running shoes for women", "women's shoe for runners", "gas grill for the garden"],
    ["The invoice is overdue.", "overdue invoices", "The weather is lovely."],
    ["PostgreSQL connection refused", "connection to postgres was refused", "CSS grid layout is broken"],
    ["TypeError: undefined is not a function", "undefined is not a function (TypeError)", "the disk is full"],
    ["photosynthesis in plants", "How plants use photosynthesis", "the history of the Roman empire"],
    ["The Roman Empire fell in 476.", "the fall of the Roman empire", "photosynthesis in green plants"],
    ["recipe for tomato soup", "tomatoe soup recipies", "repair of a bicycle chain"],
    ["HELLO WORLD", "hello, world!", "goodbye moon"],
    ["colour of the harbour", "color of the harbor", "price of a ticket"],
    ["international communication", "internationally communicating", "local silence"],
    ["Wie wird das Wetter morgen in Berlin?", "Das Berliner Wetter von morgen", "Die Rechnung ist noch nicht bezahlt"],
    ["Straßenbahnhaltestelle", "Haltestelle der Straßenbahn", "Kühlschrank mit Gefrierfach"],
    ["Où est la bibliothèque ?", "la bibliothèque municipale", "Je voudrais un café"],
    ["¿Dónde está la estación de tren?", "estaciones de trenes", "Me gusta el chocolate"],
    ["Москва — столица России", "столица России, город Москва", "рецепт яблочного пирога"],
    ["北京的天气怎么样", "今天北京天气很好", "我想学习编程语言"],
    ["東京の天気を教えて", "東京は明日どんな天気ですか", "猫が好きです"],
    ["서울 날씨 알려줘", "서울의 날씨", "컴퓨터 프로그래밍 배우기"],
    ["สภาพอากาศในกรุงเทพ", "อากาศกรุงเทพวันนี้", "ฉันชอบกินข้าวผัด"],
    ["الطقس في القاهرة", "طقس القاهرة اليوم", "أحب قراءة الكتب"],
    ["👋 hello there", "hello 👋", "🚀 launch tomorrow"],
    ["error code E1234 in module auth", "auth module fails with E1234", "success in module billing"],
  ];

  for (const [text, near, far] of triples) {
    test(text, async () => {
      const [one, two, three] = (await vectors([text, near, far])) as [number[], number[], number[]];
      expect(dot(one, two)).toBeGreaterThan(dot(one, three) + 0.05);
    });
  }

  test("so a search over all of them finds the near ones first", async () => {
    const near = await vectors(triples.map((triple) => triple[1]));
    const found = (await vectors(triples.map(([text]) => text))).map((one) => {
      const scores = near.map((other) => dot(one, other));
      return scores.indexOf(Math.max(...scores));
    });
    expect(found.filter((at, i) => at === i).length).toBeGreaterThanOrEqual(triples.length - 1);
  });

  test("and tokens that share a run are nearer than tokens that do not", async () => {
    const [one, two, three] = (await vectors([
      [1, 2, 3, 4],
      [9, 1, 2, 3],
      [11, 12, 13, 14],
    ])) as [number[], number[], number[]];
    expect(dot(one, two)).toBeGreaterThan(dot(one, three) + 0.2);
  });
});

describe("a vector", () => {
  test("has length 1, whatever the input and its dimensions", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string({ unit: "binary" }).map((text) => text.toWellFormed()),
          fc.array(fc.nat(2 ** 32 - 1), { minLength: 1 }),
        ),
        fc.oneof(fc.constantFrom(1, 2, 3, 256, 512, 1536, 4096), fc.integer({ min: 1, max: 4096 })),
        async (input, dimensions) => {
          const [vector] = (await vectors(input, { dimensions })) as [number[]];
          expect(vector).toHaveLength(dimensions);
          expect(length(vector)).toBeCloseTo(1, 6);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("has 512 numbers by default", async () => {
    expect((await vectors("x"))[0]).toHaveLength(512);
  });

  test("of a missing text is valid, and the same however it is missing", async () => {
    const expected = await vectors("");
    expect(length(expected[0] as number[])).toBe(1);
    for (const request of [{}, { input: null }, { input: [""] }, { input: [[]] }, { input: "  \n" }]) {
      expect((await list(request)).data.map(({ embedding }) => embedding)).toEqual(expected);
    }
  });

  test("is the same for the same text, alone or among others, and on every day", async () => {
    const [first] = await vectors("Hello, 世界!");
    expect((await vectors(["x", "Hello, 世界!", "y"]))[1]).toEqual(first);
    const [pinned] = (await vectors("Hello, 世界!", { dimensions: 4 })) as [number[]];
    expect(pinned).toMatchInlineSnapshot(`
      [
        0.889861928,
        -0.11438579,
        0.342061406,
        -0.279384386,
      ]
    `);
  });

  test("does not depend on case or on how characters are composed", async () => {
    const [one, two] = (await vectors(["CAFÉ Ångström", "cafe\u0301 a\u030angstro\u0308m"])) as [number[], number[]];
    expect(dot(one, two)).toBeCloseTo(1, 6);
  });

  test("points nowhere near that of another text, on average", async () => {
    const texts = Array.from({ length: 100 }, (_, i) => `${(i * 7919).toString(36)} ${(i * 104729).toString(36)}`);
    const all = await vectors(texts);
    const pairs = all.flatMap((one, i) => all.slice(i + 1).map((other) => dot(one, other)));
    expect(Math.abs(pairs.reduce((sum, value) => sum + value, 0) / pairs.length)).toBeLessThan(0.05);
  });
});

describe("an answer", () => {
  test("has one vector per input, in order, with the usage", async () => {
    const { count } = await loadTokenizer();
    const json = await list({ model: "m", input: ["one", "two words", "three"], encoding_format: "base64" });
    expect(json).toMatchObject({ object: "list", model: "embedded-embedding" });
    expect(json.data.map(({ object, index }) => [object, index])).toEqual([
      ["embedding", 0],
      ["embedding", 1],
      ["embedding", 2],
    ]);
    const tokens = count("one") + count("two words") + count("three");
    expect(json.usage).toEqual({ prompt_tokens: tokens, total_tokens: tokens });
    // The door chooses the encoding of vectors.
    expect(json.data[0]?.embedding).toBeInstanceOf(Array);
  });

  test("accepts every form of input", async () => {
    const shapes: readonly (readonly [input: JsonObject[string], vectors: number, tokens: number])[] = [
      ["one", 1, 1],
      [["one", "one"], 2, 2],
      [[5, 6, 7], 1, 3],
      [[[5, 6, 7], [8]], 2, 4],
      [["one", [5, 6]], 2, 3],
      ["", 1, 0],
    ];
    for (const [input, count, tokens] of shapes) {
      const { data, usage } = await list({ input });
      expect([data.length, usage.prompt_tokens], JSON.stringify(input)).toEqual([count, tokens]);
    }
    expect(await vectors([5, 6, 7])).toEqual(await vectors([[5, 6, 7]]));
  });

  test("holds up to 2048 inputs", async () => {
    expect((await list({ input: Array.from({ length: 2048 }, (_, i) => `text ${i}`) })).data).toHaveLength(2048);
  });

  for (const [name, request, param] of [
    ["more than 4096 dimensions", { input: "x", dimensions: 4097 }, "dimensions"],
    ["no dimension", { input: "x", dimensions: 0 }, "dimensions"],
    ["an empty list", { input: [] }, "input"],
    ["more than 2048 inputs", { input: Array.from({ length: 2049 }, () => "x") }, "input"],
    ["tokens beside texts", { input: [5, "x"] }, "input[1]"],
    ["texts beside tokens", { input: ["x", 5] }, "input[1]"],
    ["a negative token", { input: [-5] }, "input[0]"],
  ] as const) {
    test(`is refused for ${name}`, async () => {
      const refusal = asRefusal(await answer(request as never as JsonObject).catch((error) => error));
      expect(refusal).toMatchObject({ status: 400, param });
    });
  }

  test("yields to other work, and stops when the caller disconnects", async () => {
    const leaving = new AbortController();
    const answering = answer({ input: "a long text, ".repeat(400_000) }, leaving.signal);
    let turns = 0;
    while (turns < 20) {
      await setImmediate();
      turns += 1;
    }
    leaving.abort();
    const [, { runningMs }] = await timed(() => expect(answering).rejects.toMatchObject({ status: 499 }));
    expect(runningMs).toBeLessThan(250);
  });

  test("is not begun for a caller that has disconnected", async () => {
    await expect(answer({ input: "x" }, AbortSignal.abort())).rejects.toBeInstanceOf(Refusal);
  });
});

describe("at the door", () => {
  const asList = (data: JsonObject[]) =>
    Wire.ofJson(EmbeddingListSchema, {
      object: "list",
      data,
      model: "m",
      usage: { prompt_tokens: 1, total_tokens: 1 },
    });
  const item = (index: number, embedding: number[] | string) => ({ object: "embedding", index, embedding });
  const encoded = (answered: Wire<typeof EmbeddingListSchema>, format: VectorFormat) =>
    (encodeVectors(answered, format).json() as Listed).data;

  test("base64 is 32-bit floats, the least significant byte first", () => {
    const numbers = [1, -2.5, 0.1, 1e-30, 0];
    const [first] = encoded(asList([item(0, numbers)]), "base64");
    const bytes = Buffer.from(first?.embedding as unknown as string, "base64");
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    expect(bytes.length).toBe(4 * numbers.length);
    for (const [i, number] of numbers.entries()) expect(view.getFloat32(4 * i, true)).toBe(Math.fround(number));
    // As clients read it.
    const client = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    expect([...client]).toEqual(numbers.map(Math.fround));
  });

  test("base64 and floats give back the same numbers, as 32-bit floats have them", () => {
    const number = fc.double({ min: -1e30, max: 1e30, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.array(number, { minLength: 1 })), (all) => {
        const answered = asList(all.map((numbers, i) => item(i, numbers)));
        const back = encoded(encodeVectors(answered, "base64"), "float");
        expect(back.map(({ embedding }) => embedding)).toEqual(all.map((numbers) => numbers.map(Math.fround)));
      }),
    );
  });

  test("a real answer in base64 is the same to 32-bit precision, and keeps its usage", async () => {
    const floats = await answer({ input: ["a", "b"] });
    const coded = encodeVectors(floats, "base64");
    expect(coded.json()).toMatchObject({ object: "list", model: "embedded-embedding", usage: floats.json().usage });
    const back = encodeVectors(coded, "float").json() as Listed;
    for (const [i, { embedding }] of (floats.json() as Listed).data.entries()) {
      expect(back.data[i]?.embedding).toEqual(embedding.map(Math.fround));
    }
  });

  test("vectors come in the order of the inputs", () => {
    const answered = asList([item(2, [2]), item(0, [0]), item(1, "AACAPw==")]);
    expect(encoded(answered, "float")).toEqual([item(0, [0]), item(1, [1]), item(2, [2])]);
    expect(encoded(answered, "base64").map(({ index }) => index)).toEqual([0, 1, 2]);
  });

  test("an answer that needs no change passes through", () => {
    const bytes = Buffer.from(
      '{ "object":"list", "vendor": 1.0, "data":[{"object":"embedding","index":0,"embedding":[1.0, 2e0]},{"object":"embedding","index":1,"embedding":[3]}] }',
    );
    const floats = Wire.ofBytes(EmbeddingListSchema, bytes, true);
    expect(encodeVectors(floats, "float")).toBe(floats);
    expect(encodeVectors(floats, "float").bytes()).toBe(bytes);
    const coded = asList([item(0, "AACAPw==")]);
    expect(encodeVectors(coded, "base64")).toBe(coded);
  });

  test("an answer that is changed keeps what no schema names", () => {
    const bytes = Buffer.from(
      '{"object":"list","vendor":1.0,"data":[{"object":"embedding","index":0,"embedding":[1.0],"more":"x"}]}',
    );
    const coded = encodeVectors(Wire.ofBytes(EmbeddingListSchema, bytes, true), "base64");
    expect(coded.bytes().toString()).toBe(
      '{"object":"list","vendor":1.0,"data":[{"object":"embedding","index":0,"embedding":"AACAPw==","more":"x"}]}',
    );
  });

  for (const [name, embedding, format] of [
    ["base64 that is no 32-bit floats", "AACA", "float"],
    ["infinity, which JSON cannot say", "AACAfw==", "float"],
    ["base64 that is no 32-bit floats, to who wants base64", "AACA", "base64"],
    ["infinity, to who wants base64", "AACAfw==", "base64"],
    ["what is no base64", "AACA!Pw=", "base64"],
    ["what is no base64, to who wants floats", "not base64 at all", "float"],
    ["numbers that are none", ["x"], "base64"],
    ["numbers that are none, to who wants floats", [null, 1], "float"],
    ["a number that 32 bits do not hold", [1e39], "base64"],
    ["an infinite number", [Number.POSITIVE_INFINITY], "float"],
    ["no vector", null, "float"],
    ["a vector without numbers", [], "float"],
    ["base64 of nothing", "", "base64"],
    ["an object", {}, "base64"],
  ] as const) {
    test(`an upstream that answers with ${name} has failed`, () => {
      const answered = asList([item(0, embedding as never)]);
      expect(() => encodeVectors(answered, format)).toThrow(expect.objectContaining({ status: 502 }));
    });
  }

  test("an upstream that answers without a list has failed", () => {
    for (const json of [{}, { error: "none" }, { data: null }, { data: {} }, { data: [null] }]) {
      const answered = Wire.ofJson(EmbeddingListSchema, json as JsonObject, true);
      expect(() => encodeVectors(answered, "float")).toThrow(expect.objectContaining({ status: 502 }));
    }
  });

  test("floats are written unless base64 is requested", () => {
    const asked = (json: JsonObject) => formatAskedFor(Wire.ofJson(CreateEmbeddingsRequestSchema, json));
    expect(asked({})).toBe("float");
    expect(asked({ encoding_format: null })).toBe("float");
    expect(asked({ encoding_format: "float" })).toBe("float");
    expect(asked({ encoding_format: "base64" })).toBe("base64");
  });
});
