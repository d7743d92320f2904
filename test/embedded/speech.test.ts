/**
 * What the embedded speech models say: real speech, in six voices, at any speed, in files that other programs play.
 *
 * The sound itself is measured: its length, pitch and timbre. Files are read by ffprobe and ffmpeg where these are
 * installed.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { afterAll, describe, expect, test } from "vitest";
import {
  CreateSpeechRequestSchema,
  SpeechFormat,
  type SpeechSchema,
  type SpeechUsage,
} from "../../gen/modelgateway/v1/speech_pb.ts";
import { Reason } from "../../src/call/refusals.ts";
import { createSpeech } from "../../src/embedded/speech/index.ts";
import { type Format, type VoiceName, voiceNames } from "../../src/embedded/speech/job.ts";
import { piecesOf } from "../../src/embedded/speech/synthesis/pieces.ts";
import { wordsOf } from "../../src/embedded/speech/synthesis/words.ts";
import { Wire } from "../../src/wire/wire.ts";
import { recordingMeter, unbounded } from "../support/meter.ts";

const speech = createSpeech();
const folder = mkdtempSync(join(tmpdir(), "speech-"));
afterAll(async () => {
  await speech.close();
  rmSync(folder, { recursive: true });
});

const text =
  "The quick brown fox jumps over the lazy dog, and then it sleeps in the warm sun. Nobody knows for how long.";
const rate = 24_000;

interface Order extends Omit<MessageInitShape<typeof CreateSpeechRequestSchema>, "$typeName" | "voice"> {
  voice?: string;
  format?: Format;
}

const words = { mp3: "MP3", opus: "OPUS", aac: "AAC", flac: "FLAC", wav: "WAV", pcm: "PCM" } as const;

function speak<F extends "whole" | "stream">(form: F, { voice = "nova", format = "pcm", ...rest }: Order) {
  const model = rest.model ?? "tts-1";
  const request = create(CreateSpeechRequestSchema, {
    ...{ input: text, voice: { case: "voiceName", value: voice }, responseFormat: SpeechFormat[words[format]] },
    ...{ ...rest, model },
  });
  const wire = Wire.ofMessage(CreateSpeechRequestSchema, request);
  const { signal } = new AbortController();
  return speech.speak({
    id: "req_1",
    operation: "speech",
    form,
    request: wire,
    model,
    signal,
    header: () => undefined,
    meter: recordingMeter(),
    ...unbounded(),
  });
}

async function whole(order: Order): Promise<{ contentType: string | undefined; audio: Buffer }> {
  const answer = await speak("whole", order);
  if (answer.kind !== "whole") throw new Error("not whole");
  const { contentType, audio } = (answer.body as Wire<typeof SpeechSchema>).message();
  return { contentType, audio: Buffer.from(audio as Uint8Array) };
}

interface Streamed {
  readonly contentTypes: readonly (string | undefined)[];
  readonly usages: readonly (SpeechUsage | undefined)[];
  readonly audio: Buffer;
}

async function streamed(order: Order): Promise<Streamed> {
  const answer = await speak("stream", order);
  if (answer.kind !== "stream") throw new Error("not a stream");
  const messages = [];
  for await (const frames of answer.frames) messages.push(...frames.map((frame) => frame.message()));
  const chunks = messages.filter((message) => message.$typeName === "modelgateway.v1.SpeechChunk");
  return {
    contentTypes: chunks.map(({ contentType }) => contentType),
    usages: chunks.map(({ usage }) => usage),
    audio: Buffer.concat(chunks.map(({ audio }) => audio ?? new Uint8Array())),
  };
}

async function samples(order: Order): Promise<Int16Array> {
  const { audio } = await whole({ ...order, format: "pcm" });
  return Int16Array.from({ length: audio.length / 2 }, (_, i) => audio.readInt16LE(2 * i));
}

function loudness(sound: Int16Array): number {
  let sum = 0;
  for (const sample of sound) sum += sample * sample;
  return Math.sqrt(sum / sound.length);
}

/** Returns the median of the pitches found in the sound, in Hz. */
function pitchOf(sound: Int16Array): number {
  const slow = 8000;
  const thinned = Int16Array.from({ length: Math.floor(sound.length / 3) }, (_, i) => sound[3 * i] as number);
  const size = 0.04 * slow;
  const step = Math.max(size / 4, Math.floor(thinned.length / 200));
  const pitches: number[] = [];
  for (let at = 0; at + 2 * size < thinned.length; at += step) {
    const frame = thinned.subarray(at, at + size);
    if (loudness(frame) < 500) continue;
    let best = { likeness: 0.8, lag: 0 };
    for (let lag = slow / 400; lag < slow / 65; lag++) {
      const likeness = likenessOf(frame, thinned.subarray(at + lag, at + lag + size));
      // A longer period that fits as well is twice the shorter one.
      if (likeness > best.likeness * 1.03) best = { likeness, lag };
    }
    if (best.lag > 0) pitches.push(slow / best.lag);
  }
  return pitches.sort((a, b) => a - b)[Math.floor(pitches.length / 2)] ?? 0;
}

function likenessOf(a: Int16Array, b: Int16Array): number {
  let [product, ofA, ofB] = [0, 1, 1];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    product += x * y;
    ofA += x * x;
    ofB += y * y;
  }
  return product / Math.sqrt(ofA * ofB);
}

/** Returns the centre of the spectrum, in Hz: low for a dark voice, high for a bright one. */
function colourOf(sound: Int16Array): number {
  const size = 256;
  const power = new Float64Array(size / 2);
  const step = Math.max(size, Math.floor(sound.length / 30));
  for (let at = 0; at + size <= sound.length; at += step) {
    for (let k = 1; k < power.length; k++) {
      let re = 0;
      let im = 0;
      for (let i = 0; i < size; i++) {
        const value = (sound[at + i] as number) * (0.5 - 0.5 * Math.cos((2 * Math.PI * i) / size));
        re += value * Math.cos((2 * Math.PI * k * i) / size);
        im += value * Math.sin((2 * Math.PI * k * i) / size);
      }
      power[k] = (power[k] as number) + Math.hypot(re, im);
    }
  }
  const weighted = power.reduce((sum, value, k) => sum + value * k, 0);
  return (weighted / power.reduce((sum, value) => sum + value)) * (rate / size);
}

const beginnings: Readonly<Record<Exclude<Format, "pcm">, RegExp>> = {
  mp3: /^fff3/,
  opus: /^4f67675300020000.*4f70757348656164/,
  aac: /^fff1/,
  flac: /^664c6143/,
  wav: /^52494646.{8}57415645666d7420/,
};

describe("files", () => {
  const models = ["tts-1", "tts-1-hd"];
  const formats = Object.keys(beginnings) as (keyof typeof beginnings)[];
  const cases = models.flatMap((model) => formats.map((format) => ({ model, format })));

  test.each(cases)("$format by $model begins like such a file", async ({ model, format }) => {
    const { audio } = await whole({ model, format, input: "Hello there." });
    expect(audio.toString("hex", 0, 64)).toMatch(beginnings[format]);
  });

  test.each(cases)(
    "$format by $model is the same bytes streamed and whole, but for the length told at its head",
    async ({ model, format }) => {
      const input = "Hello there, how are you? I am well.";
      const { audio } = await whole({ model, format, voice: "alloy", input });
      const stream = await streamed({ model, format, voice: "alloy", input });
      const head = { wav: 44, flac: 42 }[format as string] ?? 0;
      expect(stream.audio.length).toBe(audio.length);
      expect(stream.audio.subarray(head).equals(audio.subarray(head))).toBe(true);
    },
  );

  test("pcm is as long as the wav, whose header says so in a unary answer", async () => {
    const { audio: wav } = await whole({ format: "wav" });
    const { audio: pcm } = await whole({ format: "pcm" });
    expect(wav.readUInt32LE(40)).toBe(pcm.length);
    expect(wav.readUInt32LE(4)).toBe(pcm.length + 36);
    expect(wav.subarray(44).equals(pcm)).toBe(true);
    const stream = await streamed({ format: "wav" });
    expect(stream.audio.readUInt32LE(40)).toBe(0xffff_ffff);
  });

  test("of tts-1-hd have more bits than those of tts-1", async () => {
    const input = "The quick brown fox jumps over the lazy dog.";
    for (const format of ["mp3", "opus", "aac"] as const) {
      const [usual, high] = [await whole({ format, input }), await whole({ format, input, model: "tts-1-hd" })];
      expect(high.audio.length, format).toBeGreaterThan(1.25 * usual.audio.length);
    }
  });
});

const hasFfmpeg = ["ffprobe", "ffmpeg"].every((name) => spawnSync(name, ["-version"]).status === 0);

describe.skipIf(!hasFfmpeg)("files, read by ffprobe and ffmpeg (skipped where these are not installed)", () => {
  const codecs = { mp3: "mp3", opus: "opus", aac: "aac", flac: "flac", wav: "pcm_s16le" } as const;
  const rows = Object.entries(codecs).map(([format, codec], i) => ({
    ...{ format: format as keyof typeof codecs, codec, model: i % 2 ? "tts-1-hd" : "tts-1" },
    ...{ voice: voiceNames[i] as VoiceName, container: format === "opus" ? "ogg" : format },
  }));

  test.each(rows)("$format by $model in the voice $voice", async ({ format, codec, model, voice, container }) => {
    const order = { format, model, voice };
    const sound = await samples(order);
    const seconds = sound.length / rate;
    const unary = await whole(order);
    const file = join(folder, `probed.${format}`);
    writeFileSync(file, unary.audio);
    const found = probe(file);
    expect(found.streams).toEqual([
      expect.objectContaining({ codec_name: codec, channels: 1, sample_rate: format === "opus" ? "48000" : "24000" }),
    ]);
    expect(found.format.format_name).toBe(container);
    // The length of an AAC stream is guessed from its first frames.
    const guess = format === "aac" ? 0.25 : 0.02;
    expect(Math.abs(Number(found.format.duration) / seconds - 1)).toBeLessThan(guess);

    for (const [name, { audio }] of Object.entries({ whole: unary, stream: await streamed(order) })) {
      const path = join(folder, `${name}.${format}`);
      writeFileSync(path, audio);
      const decoded = decode(path);
      expect(Math.abs(decoded.length - sound.length), name).toBeLessThan(0.15 * rate);
      if (format !== "mp3" && format !== "aac") expect(decoded.length, name).toBe(sound.length);
      expect(Math.abs(loudness(decoded) / loudness(sound) - 1), name).toBeLessThan(0.1);
    }
  });

  interface Probed {
    readonly streams: readonly { codec_name: string; sample_rate: string; channels: number }[];
    readonly format: { readonly format_name: string; readonly duration: string };
  }

  function probe(file: string): Probed {
    return JSON.parse(
      execFileSync("ffprobe", ["-v", "error", "-show_streams", "-show_format", "-of", "json", file], {
        encoding: "utf8",
      }),
    );
  }

  /** Decodes to the end and fails at any complaint. */
  function decode(file: string): Int16Array {
    const args = ["-v", "error", "-i", file, "-f", "s16le", "-ar", String(rate), "-ac", "1", "-"];
    const { stdout, stderr, status } = spawnSync("ffmpeg", args, { maxBuffer: 1 << 28 });
    expect(stderr.toString()).toBe("");
    expect(status).toBe(0);
    return Int16Array.from({ length: stdout.length / 2 }, (_, i) => stdout.readInt16LE(2 * i));
  }
});

describe("an answer", () => {
  test("is MP3 where no format is named", async () => {
    const { contentType, audio } = await whole({ responseFormat: SpeechFormat.UNSPECIFIED });
    expect(contentType).toBe("audio/mpeg");
    expect(audio.toString("hex", 0, 2)).toBe("fff3");
  });

  test("names its media type first, and counts code points last", async () => {
    const { contentTypes, usages } = await streamed({ format: "opus", input: "Hi, 世界 🌍!" });
    expect(contentTypes).toEqual(["audio/opus", ...Array(contentTypes.length - 1).fill(undefined)]);
    expect(usages.slice(0, -1)).toEqual(Array(usages.length - 1).fill(undefined));
    expect(usages.at(-1)).toMatchObject({ inputTokens: 9, outputTokens: 0, totalTokens: 9 });
  });

  test("has the same bytes for the same request, whatever was spoken before", async () => {
    const formats = ["mp3", "opus", "aac", "flac", "wav"] as const;
    const input = "Hello there, how are you?";
    const inTurn = async () => {
      const spoken: Buffer[] = [];
      for (const format of formats) spoken.push((await whole({ format, voice: "shimmer", input })).audio);
      return spoken;
    };
    const first = await inTurn();
    await whole({ input: "Something else, and rather slow.", speed: 0.25, voice: "echo" });
    for (const [i, audio] of (await inTurn()).entries())
      expect(audio.equals(first[i] as Buffer), formats[i]).toBe(true);
  });

  test("is refused for an unknown voice", async () => {
    const refusal = { reason: Reason.INVALID_VALUE, param: "voice", status: 400 };
    await expect(speak("whole", { voice: "gandalf" })).rejects.toMatchObject(refusal);
    await expect(speak("stream", { voice: "Nova" })).rejects.toMatchObject(refusal);
    const reference = create(CreateSpeechRequestSchema, {
      model: "tts-1",
      input: "Hi.",
      voice: { case: "voiceReference", value: { id: "voice_1" } },
    });
    const request = Wire.ofMessage(CreateSpeechRequestSchema, reference);
    const { signal } = new AbortController();
    const header = () => undefined;
    const attempt = {
      id: "req_1",
      operation: "speech",
      form: "whole",
      model: "tts-1",
      request,
      signal,
      header,
      meter: recordingMeter(),
      ...unbounded(),
    } as const;
    await expect(speech.speak(attempt)).rejects.toMatchObject(refusal);
  });

  test("is refused for an unknown model", async () => {
    await expect(speak("whole", { model: "tts-2" })).rejects.toMatchObject({ reason: Reason.MODEL_NOT_FOUND });
  });
});

describe("voices", () => {
  test("are six that differ in pitch or timbre, and equally loud", async () => {
    const heard: { voice: string; pitch: number; colour: number }[] = [];
    for (const voice of voiceNames) {
      const sound = await samples({ voice });
      expect(loudness(sound), voice).toBeGreaterThan(2500);
      expect(loudness(sound), voice).toBeLessThan(6000);
      heard.push({ voice, pitch: pitchOf(sound), colour: colourOf(sound) });
    }
    for (const [i, a] of heard.entries()) {
      for (const b of heard.slice(i + 1)) {
        const apart = Math.abs(Math.log(a.pitch / b.pitch)) + Math.abs(Math.log(a.colour / b.colour));
        expect(apart, JSON.stringify([a, b])).toBeGreaterThan(0.15);
      }
    }
  });
});

describe("speed", () => {
  test.each(["alloy", "onyx", "fable"])("changes the duration and not the pitch of %s", async (voice) => {
    const usual = await samples({ voice });
    for (const speed of [0.25, 0.5, 2, 4]) {
      const sound = await samples({ voice, speed });
      expect((sound.length * speed) / usual.length, `length at ${speed}`).toBeGreaterThan(0.95);
      expect((sound.length * speed) / usual.length, `length at ${speed}`).toBeLessThan(1.05);
      expect(loudness(sound), `loudness at ${speed}`).toBeGreaterThan(2000);
      // At four times the speed there is little left to measure a pitch in.
      const tolerance = speed === 4 ? 0.15 : 0.06;
      expect(Math.abs(pitchOf(sound) / pitchOf(usual) - 1), `pitch at ${speed}`).toBeLessThan(tolerance);
    }
  });

  test.each(["Hi.", "I see. You do. We go.", "Strengths, twelfths and sixths: 3 apples!"])(
    "holds for %j",
    async (input) => {
      const usual = await samples({ input });
      for (const speed of [0.25, 3, 4]) {
        const { length } = await samples({ input, speed });
        expect(Math.abs((length * speed) / usual.length - 1), `at ${speed}`).toBeLessThan(0.1);
      }
    },
  );
});

describe("texts that are not English", () => {
  test.each([
    ["one word", "Hi", 0.3, 2],
    ["a letter", "a", 0.3, 2],
    ["accents", "Crème brûlée, Łódź, straße", 1, 5],
    ["Chinese", "世界你好", 0.4, 0.4],
    ["a lot of Chinese", "世".repeat(4096), 1, 1],
    ["emoji", "👩‍👩‍👧‍👦🌍", 0.25, 1],
    ["only punctuation", "?!... --- ()", 0.25, 0.25],
    ["only spaces", " \n\t ", 0.25, 0.25],
    ["control characters", "\u0000\u0001\u0007\u001b", 0.25, 0.25],
    ["half a surrogate pair", "\ud83d", 0.25, 0.25],
    ["nothing", "", 0.25, 0.25],
    ["English with a little else", "Hello 世界, how are you? 🌍", 1, 4],
    ["words that look like options", "--setf f0_shift=9 -o x.wav", 1, 12],
    ["a very long word", "a".repeat(300), 1, 60],
    ["digits", "1234567890".repeat(4), 5, 60],
    ["signs", "@#$%^&*<>|~ `", 0.5, 20],
  ])("%s", async (_, input, least, most) => {
    const sound = await samples({ input });
    expect(sound.length / rate).toBeGreaterThanOrEqual(least);
    expect(sound.length / rate).toBeLessThanOrEqual(most);
    if (wordsOf(input).words !== "") expect(loudness(sound)).toBeGreaterThan(200);
    else expect(loudness(sound)).toBe(0);
  });

  test("become plain ASCII", () => {
    const cases = {
      "“It’s” – he said…": `"It's" - he said...`,
      "Crème brûlée": "Creme brulee",
      "It costs €5.50, not £3": "It costs 5.50 euros, not 3 pounds",
      "20°C × ½": "20 degrees C times 1/2",
      "Title\n\nBody": "Title. Body",
      "Hello 世界! Bye": "Hello! Bye",
      "世界 Hello": "Hello",
      "ｆｕｌｌ ﬁt": "full fit",
    };
    for (const [text, words] of Object.entries(cases)) expect(wordsOf(text).words).toBe(words);
  });
});

describe("a text's pieces", () => {
  const cut = (words: string) => [...piecesOf(words)].map((piece) => piece.words);

  test("end with sentences, and the first is short", () => {
    const sentence = "Dr. Smith went to the market and bought a lot of fish.";
    expect(cut(`Wait! I have an idea. ${sentence}`)).toEqual(["Wait! I have an idea.", sentence]);
  });

  test("end with clauses or words where a sentence is long, and lose no word", () => {
    const long =
      "it was the best of times, it was the worst of times and nobody could tell which of both it was ".repeat(9);
    const pieces = cut(long.trim());
    expect(pieces.join(" ")).toBe(long.trim());
    expect(pieces[0]).toBe("it was the best of times,");
    for (const piece of pieces) expect(piece.length).toBeLessThan(130);
  });

  test("are cut within a word only if it is too long by itself", () => {
    const pieces = cut("x".repeat(1000));
    expect(pieces.join("")).toBe("x".repeat(1000));
    expect(pieces.length).toBeGreaterThan(5);
  });
});
