/** Images, sounds and documents count as their vendor counts them: never below that in a hold, and never by their bytes. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import { CreateMessageRequestSchema } from "../../gen/modelgateway/v1/messages_pb.ts";
import { CreateResponseRequestSchema } from "../../gen/modelgateway/v1/responses_pb.ts";
import { inputBound } from "../../src/ledger/worst-case.ts";
import { attachedTo } from "../../src/tokens/media/attachments.ts";
import { imageRuleFor } from "../../src/tokens/media/image-rules.ts";
import { imageSize } from "../../src/tokens/media/image-size.ts";
import { imageTokens, soundTokens } from "../../src/tokens/media/media-tokens.ts";
import { Wire } from "../../src/wire/wire.ts";

const u16 = (value: number, little = false) => {
  const bytes = Buffer.alloc(2);
  if (little) bytes.writeUInt16LE(value);
  else bytes.writeUInt16BE(value);
  return bytes;
};
const u32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const ascii = (text: string) => Buffer.from(text, "latin1");

function png(width: number, height: number, bytes = 0): Buffer {
  const head = [Buffer.from("89504e470d0a1a0a0000000d", "hex"), ascii("IHDR"), u32(width), u32(height)];
  return Buffer.concat([...head, Buffer.alloc(9 + bytes)]);
}
/** A JPEG with colours and a large preview before its frame, and a table that has a similar marker. */
function jpeg(width: number, height: number, previewBytes = 60_000): Buffer {
  const segment = (marker: number, body: Buffer) =>
    Buffer.concat([Buffer.from([0xff, marker]), u16(body.length + 2), body]);
  const frame = Buffer.concat([Buffer.from([8]), u16(height), u16(width), Buffer.alloc(10)]);
  const before = [
    segment(0xe0, Buffer.alloc(14)),
    segment(0xe1, Buffer.alloc(previewBytes, 0xff)),
    segment(0xc4, Buffer.alloc(30)),
  ];
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    ...before,
    Buffer.from([0xff]),
    segment(0xc2, frame),
    Buffer.alloc(100),
  ]);
}
function webp(kind: "VP8X" | "VP8L" | "VP8 ", width: number, height: number): Buffer {
  const head = [ascii("RIFF"), Buffer.alloc(4), ascii("WEBP"), ascii(kind), Buffer.alloc(4)];
  const u24 = (value: number) => Buffer.from([value & 0xff, (value >> 8) & 0xff, value >> 16]);
  if (kind === "VP8X") return Buffer.concat([...head, Buffer.alloc(4), u24(width - 1), u24(height - 1)]);
  if (kind === "VP8 ") {
    return Buffer.concat([...head, Buffer.alloc(3), Buffer.from("9d012a", "hex"), u16(width, true), u16(height, true)]);
  }
  const bits = Buffer.alloc(4);
  bits.writeUInt32LE(((width - 1) | ((height - 1) << 14)) >>> 0);
  return Buffer.concat([...head, Buffer.from([0x2f]), bits, Buffer.alloc(8)]);
}
const gif = (width: number, height: number) =>
  Buffer.concat([ascii("GIF89a"), u16(width, true), u16(height, true), Buffer.alloc(30)]);

describe("the size of an image is read from its header", () => {
  test.each<[string, Buffer]>([
    ["PNG", png(1234, 567)],
    ["GIF", gif(1234, 567)],
    ["JPEG", jpeg(1234, 567)],
    ["WebP, extended", webp("VP8X", 1234, 567)],
    ["WebP, lossless", webp("VP8L", 1234, 567)],
    ["WebP, lossy", webp("VP8 ", 1234, 567)],
  ])("%s", (_, bytes) => {
    const base64 = bytes.toString("base64");
    expect(imageSize(base64)).toEqual({ width: 1234, height: 567 });
    expect(imageSize(Buffer.from(base64))).toEqual({ width: 1234, height: 567 });
  });

  test("and is not known of anything else, or of what is broken off", () => {
    const broken = [
      png(5, 5).subarray(0, 20),
      jpeg(5, 5).subarray(0, 5000),
      webp("VP8X", 5, 5).subarray(0, 20),
      gif(0, 9),
    ];
    for (const bytes of [...broken, Buffer.alloc(0), Buffer.alloc(500, 0xff), ascii("<svg/>")]) {
      expect(imageSize(bytes.toString("base64"))).toBeUndefined();
    }
    expect(imageSize("%%%%")).toBeUndefined();
    // It goes on for ever.
    expect(
      imageSize(Buffer.concat([Buffer.from([0xff, 0xd8]), Buffer.alloc(100_000, 0xff)]).toString("base64")),
    ).toBeUndefined();
  });
});

describe("an image counts as its vendor counts it", () => {
  const by = (model: string, width: number, height: number, detail?: string) =>
    imageTokens(imageRuleFor(model), { width, height }, detail);

  // The examples of the vendors' own pages.
  test.each([
    ["gpt-4o", 1024, 1024, "high", 765],
    ["gpt-4o", 2048, 4096, "high", 1105],
    ["gpt-4o", 4096, 8192, "low", 85],
    ["gpt-4o", 128, 64, "auto", 255],
    ["openai/gpt-4o-mini-2024-07-18", 128, 64, undefined, 8500],
    ["gpt-4.1", 1024, 1024, undefined, 765],
    ["o3-2025-04-16", 128, 64, undefined, 225],
    ["gpt-5", 1024, 1024, undefined, 630],
    ["gpt-4.1-mini", 1024, 1024, undefined, 1659],
    ["gpt-4.1-nano", 128, 64, undefined, 20],
    ["gemini-2.5-pro", 384, 384, undefined, 258],
    ["gemini-2.0-flash", 960, 540, undefined, 1548],
  ])("of %s, %d by %d, detail %s: %d", (model, width, height, detail, tokens) => {
    expect(by(model, width, height, detail)).toBe(tokens);
  });

  test.each([
    // Pixels by 750, and at most some 1,600 or 4,784.
    ["claude-sonnet-4-5", 1000, 1000, 1334],
    ["claude-opus-4-7", 8000, 8000, 4784],
    ["gemini-3-pro", 4000, 4000, 2240],
    ["gpt-5.5", 2400, 1800, 4275],
    ["gpt-4.1-mini", 2400, 1800, Math.ceil(1452 * 1.62)],
  ])("of %s, %d by %d, at least %d, and not ten times that", (model, width, height, tokens) => {
    expect(by(model, width, height)).toBeGreaterThanOrEqual(tokens);
    expect(by(model, width, height)).toBeLessThan(10 * tokens);
  });

  test.each(["gpt-4o", "gpt-4o-mini", "gpt-5-mini", "claude-haiku-4-5", "gemini-2.5-flash", "somebody's"])(
    "of %s, which the gateway cannot see, as the most that there is",
    (model) => {
      const unseen = imageTokens(imageRuleFor(model), undefined);
      for (const [width, height] of [
        [1, 1],
        [512, 512],
        [1024, 768],
        [3072, 500],
        [8000, 8000],
        [20_000, 40],
      ] as const) {
        expect(by(model, width, height)).toBeLessThanOrEqual(unseen);
      }
    },
  );
});

describe("a request with attachments", () => {
  const fiveMegabytes = 5_000_000;
  const photo = `data:image/png;base64,${png(1024, 1024, fiveMegabytes).toString("base64")}`;
  const said = (content: JsonObject[]) => ({ model: "m", messages: [{ role: "user", content }] });
  const asText = (json: JsonObject) => Buffer.from(JSON.stringify(json));
  const requests: readonly [string, (model: string) => Wire][] = [
    [
      "of chat",
      (model) =>
        Wire.ofBytes(
          CreateChatCompletionRequestSchema,
          asText({ ...said([{ type: "image_url", image_url: { url: photo } }]), model }),
        ),
    ],
    [
      "of messages",
      (model) => {
        const source = { type: "base64", media_type: "image/png", data: photo.slice(photo.indexOf(",") + 1) };
        return Wire.ofBytes(
          CreateMessageRequestSchema,
          asText({ ...said([{ type: "image", source }]), model, max_tokens: 1 }),
        );
      },
    ],
    [
      "of responses",
      (model) => {
        const content = [{ type: "input_image", image_url: photo, detail: "high" }];
        return Wire.ofBytes(CreateResponseRequestSchema, asText({ model, input: [{ role: "user", content }] }));
      },
    ],
  ];

  test.each(requests)("%s holds a photo of five megabytes as an image, and not as five million tokens", (_, make) => {
    for (const [model, tokens] of [
      ["gpt-4o", 765],
      ["claude-sonnet-4-5", 1444],
      ["gemini-2.5-pro", 1032],
    ] as const) {
      const request = make(model);
      expect(attachedTo(request, [model])).toMatchObject({ tokens });
      expect(inputBound(request, undefined, 1, [model])).toBeLessThan(tokens + 500);
      // As the dearest of all where its targets count differently, and as the most of all for a model that nobody knows.
      expect(attachedTo(request, [model, "gpt-4o-mini"]).tokens).toBe(2833 + 4 * 5667);
      expect(attachedTo(request, ["house"]).tokens).toBe(65_536);
      expect(attachedTo(request, ["house"], "usual").tokens).toBe(37 * 37);
    }
  });

  test("counts sound by its seconds, of a WAV as its header says", () => {
    const wav = (seconds: number, rate = 32_000, { format = 1, told = rate, first = "fmt " } = {}) => {
      const head = Buffer.alloc(44);
      head.write("RIFF", 0, "latin1");
      head.write(`WAVE${first}`, 8, "latin1");
      head.writeUInt16LE(format, 20);
      head.writeUInt16LE(1, 22);
      head.writeUInt32LE(rate / 2, 24);
      head.writeUInt32LE(told, 28);
      head.writeUInt16LE(16, 34);
      return Buffer.concat([head, Buffer.alloc(seconds * rate)]).toString("base64");
    };
    expect(soundTokens(wav(10), "most")).toBeGreaterThanOrEqual(320);
    expect(soundTokens(wav(10), "most")).toBeLessThan(330);
    expect(soundTokens(wav(10), "usual")).toBeLessThan(260);
    // A header that says next to nothing is not believed.
    expect(soundTokens(wav(10, 2).padEnd(40_000, "A"), "most")).toBeLessThan(2_000);
    // Nor is one that makes a second of many more bytes than its samples have, whether or not a decoder goes by these.
    for (const lie of [{}, { format: 0x55 }, { first: "JUNK" }])
      expect(soundTokens(wav(10, 32_000, { told: 0xffff_ffff, ...lie }), "most")).toBeGreaterThanOrEqual(320);
    // A minute of MP3, at 128 kbit/s.
    const mp3 = Buffer.alloc(960_000).toString("base64");
    expect(soundTokens(mp3, "usual")).toBe(1_500);
    expect(soundTokens(mp3, "most")).toBeGreaterThan(1_920);
  });

  test("counts an attachment with several contents as the most, whichever of them its server reads", () => {
    const long = Buffer.alloc(3_000_000).toString("base64");
    const tokens = (part: JsonObject) =>
      attachedTo(Wire.ofBytes(CreateChatCompletionRequestSchema, asText(said([part]))), ["gpt-4o"]).tokens;
    const sound = (more: JsonObject) => tokens({ type: "input_audio", input_audio: { data: long, ...more } });
    expect(sound({ url: "AA" })).toBeGreaterThanOrEqual(sound({}));
    expect(sound({ url: "" })).toBe(sound({}));
    const image = (more: JsonObject) =>
      tokens({ type: "image_url", image_url: { data: photo, ...more }, detail: "low" });
    expect(image({ url: `data:image/png;base64,${png(1, 1).toString("base64")}` })).toBeGreaterThanOrEqual(image({}));
    // What stands beside an image in place of within it tells no server of chat how finely to look.
    expect(image({})).toBe(765);
  });

  const elsewhere: readonly [JsonObject, number][] = [
    [{ type: "document_url", document_url: "https://a/b.pdf" }, 1_000_000],
    [{ type: "file_url", file_url: { url: "https://a/b.pdf" } }, 1_000_000],
    [{ type: "novel_url", novel_url: "https://a/b" }, 1_000_000],
    [{ type: "audio_url", audio_url: { url: "https://a/b.mp3" } }, 1_000_000],
    [{ type: "audio", audio: "https://a/b.mp3" }, 1_000_000],
    [{ type: "input_audio", input_audio: "https://a/b.mp3" }, 1_000_000],
    [{ type: "input_audio", input_audio: { data: "gs://a/b.mp3", format: "mp3" } }, 1_000_000],
    [{ type: "video", video: ["https://a/1.png", "https://a/2.png"] }, 1_000_000],
    [{ type: "video", video: "https://a/b.mp4" }, 1_000_000],
    [{ type: "image", image: "https://a/b.png" }, 765 + 4 * 170],
    [{ type: "text", text: "https://a/b.png" }, 0],
    [{ type: "text", text: "x", cache_control: { type: "ephemeral" } }, 0],
  ];
  test.each(elsewhere)("counts what a part names for its server to fetch, by whatever key: %j", (part, tokens) => {
    const attached = attachedTo(Wire.ofJson(CreateChatCompletionRequestSchema, said([part])), ["gpt-4o"]);
    expect(attached.tokens).toBe(tokens);
    expect(attached.isUnseen).toBe(tokens === 1_000_000);
  });

  test("counts a sound of an earlier answer, and a document beside the messages", () => {
    const messages = [{ role: "assistant", audio: { id: "audio_1" } }];
    const spoken = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages });
    expect(attachedTo(spoken)).toMatchObject({ tokens: 16_384, isUnseen: true });
    const system = [{ type: "document", source: { type: "url", url: "https://a/b.pdf" } }];
    const told = Wire.ofJson(CreateMessageRequestSchema, { ...said([]), max_tokens: 1, system });
    expect(attachedTo(told).tokens).toBe(1_000_000);
  });

  test("counts a file that is no PDF as what a context holds at most, and by its bytes as usual", () => {
    const file = {
      type: "file",
      file: { filename: "a.pdf", file_data: `data:application/pdf;base64,${"A".repeat(400_000)}` },
    };
    const request = Wire.ofBytes(CreateChatCompletionRequestSchema, asText(said([file])));
    expect(attachedTo(request, ["gpt-4o"]).tokens).toBe(1_000_000);
    expect(attachedTo(request, ["gpt-4o"], "usual").tokens).toBe(6 * 2_500);
  });
});
