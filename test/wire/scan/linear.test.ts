/**
 * Every scanner of outside data takes steps proportional to the bytes, whatever the bytes are: a fuzzer searches for
 * each scanner's most costly input and grows it to sixteen megabytes. Steps are counted, not time.
 */
import { ok } from "node:assert";
import { describe, test } from "vitest";
import { multipartPairs } from "../../../src/doors/body/multipart.ts";
import { urlencodedPairs } from "../../../src/doors/body/urlencoded.ts";
import { ChunkedDecoder } from "../../../src/http1/chunked.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { readLongRequest } from "../../../src/wire/json.ts";
import { readOutline } from "../../../src/wire/scan/outline.ts";
import { Pieces } from "../../../src/wire/scan/pieces.ts";
import { Scan } from "../../../src/wire/scan/scan.ts";
import type { Steps } from "../../../src/wire/scan/steps.ts";
import { spliceMembers } from "../../../src/wire/splice.ts";
import { SseReader } from "../../../src/wire/sse.ts";
import { pick, type Random, randomOf } from "../../support/run/random.ts";

/** Scans a repeated pattern between a head and a tail. Returns the steps. */
interface Scanner {
  /** The alphabets of patterns. A pattern uses one, since broken input is mostly refused at once. */
  readonly words: readonly (readonly string[])[];
  /** Heads and tails for the pattern. */
  readonly around: readonly (readonly [before: string, after: string])[];
  scan(bytes: Buffer, steps: Steps): void;
}

const jsonWords = [...'"\\,:[]{}1 \n', "\\\\", '\\"', "\\u0061", "1234567890", "é"];
const values = [
  "1",
  '"a"',
  '"aaaaaaaaaaaaaa"',
  `"${"a".repeat(600)}"`,
  '"\\"\\"\\"\\"\\"\\"\\"\\""',
  '"\\\\"',
  "[]",
  "[[],[]]",
  '{"a":1}',
];
const objects = [
  '{"\\u0061aaaaaaaaaaaaaaaaaaaaa":1}',
  '{"embedding":[1,2]}',
  '{"embedding":[]}',
  '{"embedding":["a"]}',
];
const items = [...values, ...objects].map((value) => `${value},`);
const inText = ["a", "a".repeat(600), '\\"', "\\\\", "\\u0061", "é", '\\"embedding\\":['];
const vectors = [
  '"embedding":[',
  '"embedding":[1,',
  '"embedding":[1],',
  '"embedding"',
  '"embedding" : [',
  "1",
  "1,".repeat(150),
  "]",
  "}",
];
const inJson = [
  ['{"a":', "}"],
  ['{"a":"', '"}'],
  ['{"a":[', "1]}"],
  ['{"data":[{"embedding":[', "]}]}"],
  ['{"a":{', '"z":1}}'],
  ["", ""],
] as const;
const ofJson = { words: [jsonWords, items, inText, vectors], around: inJson };

/** The bytes come cut anywhere. */
function* cut(bytes: Buffer, length: number): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length);
}

const scanBy = (lenient: boolean) => (bytes: Buffer, steps: Steps) => {
  const scan = new Scan(new Pieces(), lenient).begin(bytes);
  try {
    while (!scan.advance(50_000));
  } finally {
    steps.count += scan.steps + scan.searched;
  }
};

const sse = {
  words: [
    [
      "\n",
      "\r",
      "\r\n",
      ":",
      "data",
      "data:",
      "data: ",
      "event",
      "event: a",
      "\n\n",
      ": x",
      "a",
      "a".repeat(700),
      "\ufeff",
    ],
  ],
  around: [
    ["", ""],
    ["data: ", "\n\n"],
    ["a", ""],
  ] as const,
};
const sseBy = (length: number) => (bytes: Buffer, steps: Steps) => {
  const reader = new SseReader(steps);
  for (const chunk of cut(bytes, length)) reader.push(chunk);
  reader.end();
};

const scanners: Readonly<Record<string, Scanner>> = {
  "JSON of callers": { ...ofJson, scan: scanBy(false) },
  "JSON of upstreams": { ...ofJson, scan: scanBy(true) },
  "JSON put together from its pieces": {
    ...ofJson,
    scan: (bytes, steps) => void runNow(readLongRequest(bytes, steps)),
  },
  "JSON past its vectors": { ...ofJson, scan: (bytes, steps) => void runNow(readOutline(bytes, steps)) },
  "members that are replaced": {
    ...ofJson,
    scan: (bytes, steps) => {
      // Takes values that were read.
      JSON.parse(bytes.toString());
      spliceMembers(bytes, { model: "a" }, steps);
    },
  },
  "server-sent events": { ...sse, scan: sseBy(65_536) },
  "server-sent events in small pieces": { ...sse, scan: sseBy(61) },
  "forms in parts": {
    words: [
      [
        "\r\n",
        "\r\n\r\n",
        "--",
        "--b",
        "\r\n--b",
        "\r\n--b\r\n",
        'content-disposition: form-data; name="a"',
        "a",
        "=",
        ";",
        '"',
        "\\",
      ],
    ],
    around: [
      ["--b\r\n", "\r\n--b--"],
      ['--b\r\ncontent-disposition: form-data; name="a"\r\n\r\n', "\r\n--b--"],
      ["", ""],
    ],
    scan: (bytes, steps) => void [...multipartPairs("multipart/form-data; boundary=b", bytes, steps)],
  },
  forms: {
    words: [["&", "=", "%", "%4", "%41", "+", "a", "a=b&", "[]", "[0]", "é"]],
    around: [
      ["", ""],
      ["a=", ""],
    ],
    scan: (bytes, steps) => {
      // As many as are accepted in a form.
      let pairs = 0;
      for (const _ of urlencodedPairs(bytes, steps)) if (++pairs > 4_096) break;
    },
  },
  "bodies in chunks": {
    words: [["1\r\na\r\n", "00000001\r\na\r\n", "1;a=b\r\na\r\n", "0", "\r\n", ";", "a", "1;a\r\na\r\n", "f", " "]],
    around: [
      ["", ""],
      ["1", ""],
    ],
    scan: (bytes, steps) => {
      const reader = new ChunkedDecoder(steps);
      for (const chunk of cut(bytes, 100)) reader.decode(chunk, []);
    },
  },
};

const megabyte = 2 ** 20;
const tried = 120;
const smallBytes = 16_384;
/**
 * The most steps per byte, for the most costly scanner: each byte is looked at, searched for several things, and
 * copied.
 */
const mostStepsPerByte = 60;

interface Input {
  readonly before: string;
  readonly unit: string;
  readonly after: string;
}

function made({ before, unit, after }: Input, length: number): Buffer {
  const bytes = Buffer.byteLength(unit);
  const whole = Buffer.alloc(Math.floor(length / bytes) * bytes, unit);
  return Buffer.concat([Buffer.from(before), whole, Buffer.from(after)]);
}

/** The refusal comes after as many steps as were made. */
function stepsOf({ scan }: Scanner, bytes: Buffer): number {
  const steps = { count: 0 };
  try {
    scan(bytes, steps);
  } catch {
    // The input is not what the scanner expects.
  }
  return steps.count;
}

/** Returns the inputs with the most steps, and those whose steps grow the most. */
function worstOf(scanner: Scanner, random: Random): Input[] {
  const found = Array.from({ length: tried }, () => {
    const [before, after] = pick(scanner.around, random);
    const words = pick(scanner.words, random);
    const unit = Array.from({ length: 1 + Math.floor(random() * 4) }, () => pick(words, random)).join("");
    const input = { before, unit, after };
    const [small, large] = [stepsOf(scanner, made(input, smallBytes)), stepsOf(scanner, made(input, 4 * smallBytes))];
    const growth = large / Math.max(1, small);
    // Faster growth shows here already. Inputs with few steps per byte may switch to a search later.
    ok(
      large <= 12 * 4 * smallBytes || growth <= 8,
      `${JSON.stringify(input)}: ${small} steps, ${large} for four times as much`,
    );
    return { input, large, growth };
  });
  const bySteps = found.toSorted((a, b) => b.large - a.large);
  const byGrowth = found.filter(({ large }) => large > smallBytes).toSorted((a, b) => b.growth - a.growth);
  return [...new Set([...bySteps.slice(0, 2), ...byGrowth.slice(0, 1)])].map(({ input }) => input);
}

const seed = Number(process.env.SEED ?? 20_261_125);

describe(`the steps are in proportion to the bytes (SEED=${seed})`, () => {
  test.each(Object.entries(scanners))("%s", (_, scanner) => {
    for (const input of worstOf(scanner, randomOf(seed))) {
      let before = 0;
      for (const megabytes of [1, 2, 4, 8, 16]) {
        const steps = stepsOf(scanner, made(input, megabytes * megabyte));
        const words = `${JSON.stringify(input)}: ${steps} steps for ${megabytes} MB, ${before} for half of it`;
        // Work in parts may take one part more or less.
        ok(before === 0 || steps <= 2.5 * before, words);
        ok(steps <= mostStepsPerByte * (megabytes * megabyte + smallBytes), words);
        before = steps;
      }
    }
  });
});

describe("inputs that once took quadratic time", () => {
  const known: readonly (readonly [name: string, Input])[] = [
    ["JSON past its vectors", { before: '{"object":"list","data":[', unit: '"embedding":[', after: "}" }],
    ["JSON past its vectors", { before: '{"object":"list","data":[', unit: '"embedding":[', after: "]}" }],
    ["members that are replaced", { before: '{"a":[', unit: '"aaaaaaaaaaaaaa",', after: '"aa"]}' }],
  ];
  test.each(known)("%s %j", (name, input) => {
    const scanner = scanners[name] as Scanner;
    const steps = stepsOf(scanner, made(input, 8 * megabyte));
    ok(steps > 0 && steps <= mostStepsPerByte * 8 * megabyte, `${steps}`);
  });
});
