/** Speech of servers that answer with something else than audio, or label it as something else: only audio is told, and charged. */
import { describe, expect, test } from "vitest";
import { AudioReader } from "../../../src/providers/openai/audio.ts";
import { audioType } from "../../../src/providers/openai/audio-type.ts";
import type { ScriptedExchange } from "../../support/scripted-upstream.ts";
import { paidModel, paidModels } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";

const { upstream, gateway } = scriptedStage((baseUrl) => {
  const targets = (["openai", "well"] as const).map((at, priority) => ({
    upstream: at,
    model: "v",
    priority,
    weight: 1,
  }));
  const kind = { kind: "speech" as const };
  const { upstreams, ...config } = paidModels(baseUrl);
  return {
    ...config,
    upstreams: [...upstreams, { name: "well", kind: "openai", base_url: `${baseUrl}/well`, api_key: "k" }],
    models: [paidModel("voice", "openai", kind), paidModel("voice-or-well", "openai", { ...kind, targets })],
    retries: { attempts: 2, share: 1 },
    breaker: { failures: 1000, openMs: 1 },
  };
});

const mp3 = Buffer.from([0x49, 0x44, 0x33, 4, 0, 0, 0, 0, 0, 0, 0xff, 0xfb]);
const base64 = mp3.toString("base64");

async function hear(script: (exchange: ScriptedExchange) => void, more: object = {}) {
  upstream.script = (exchange) => {
    if (!exchange.path.includes("/well/")) return script(exchange);
    exchange.head(200, { "content-type": "audio/mpeg" });
    exchange.end(mp3);
  };
  const response = await fetch(`${gateway.baseUrl}/audio/speech`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "voice", input: "Hello", voice: "alloy", ...more }),
  });
  const body = Buffer.from(await response.arrayBuffer());
  const [row] = await gateway.storage.requests.page({ accountId: gateway.accountId }, undefined, 1);
  return { status: response.status, type: response.headers.get("content-type"), body, cost: row?.cost };
}

function answered(body: string | Buffer, type?: string) {
  return (exchange: ScriptedExchange) => {
    exchange.head(200, type === undefined ? {} : { "content-type": type });
    exchange.end(body);
  };
}

const none: Readonly<
  Record<string, readonly [script: (exchange: ScriptedExchange) => void, status: number, words: RegExp]>
> = {
  "an error": [answered('{"error":{"message":"no such voice","code":400}}', "application/json"), 400, /no such voice/],
  "an error that is labelled as audio": [
    answered('{"error":{"message":"out of memory"}}', "audio/mpeg"),
    502,
    /out of memory/,
  ],
  "an error without a label": [answered('{"detail":"out of memory"}'), 502, /out of memory/],
  "Alibaba's error": [
    answered('{"code":"InvalidParameter","message":"no such voice"}', "application/json"),
    400,
    /voice/,
  ],
  "MiniMax's error": [
    answered(
      '{"data":{"audio":"00"},"base_resp":{"status_code":2013,"status_msg":"no such voice"}}',
      "application/json",
    ),
    400,
    /no such voice/,
  ],
  "an error in events": [
    answered('event: error\ndata: {"type":"error","error":{"message":"out of memory"}}\n\n', "text/event-stream"),
    502,
    /out of memory/,
  ],
  "events that break off": [answered(`data: {"type":"speech.audio.start"}\n\n`, "text/event-stream"), 502, /broke off/],
  "a page": [answered("<!DOCTYPE html><html></html>", "text/html"), 502, /without audio/],
  "a page that is labelled as audio": [answered("<html><body></body></html>", "audio/mpeg"), 502, /without audio/],
  "a text": [answered("upstream connect error", "text/plain"), 502, /without audio/],
  "an object without audio": [answered('{"status":"queued"}', "application/json"), 502, /./],
  "an empty audio": [answered('{"audio":""}', "application/json"), 502, /./],
  nothing: [answered("", "audio/mpeg"), 502, /empty/],
};

describe("no answer, and not charged, is", () => {
  for (const [name, [script, status, words]] of Object.entries(none)) {
    test.each([
      ["bytes", {}],
      ["events", { stream_format: "sse" }],
    ])(`${name}, where %s were asked for`, async (_, more) => {
      const heard = await hear(script, more);
      expect([heard.status, heard.cost]).toEqual([status, 0]);
      expect(heard.body.toString()).toMatch(words);
      if (status === 502) expect((await hear(script, { ...more, model: "voice-or-well" })).status).toBe(200);
    });
  }
});

const delta = JSON.stringify({ type: "speech.audio.delta", audio: base64 });
const audio: Readonly<Record<string, (exchange: ScriptedExchange) => void>> = {
  bytes: answered(mp3, "audio/mpeg"),
  "bytes without a label": answered(mp3),
  "bytes that are labelled as text": answered(mp3, "text/plain; charset=utf-8"),
  "bytes that are labelled as JSON": answered(mp3, "application/json"),
  "OpenAI's events": answered(`data: ${delta}\n\ndata: {"type":"speech.audio.done"}\n\n`, "text/event-stream"),
  "events with an end mark": answered(`data: ${delta}\n\ndata: [DONE]\n\n`, "application/octet-stream"),
  "Together's events": answered(
    `data: {"type":"conversation.item.audio_output.delta","delta":"${base64}"}\n\ndata: [DONE]\n\n`,
    "text/event-stream",
  ),
  "base64 in an object": answered(JSON.stringify({ audio: base64 }), "application/json"),
  "a data URL in an object": answered(
    JSON.stringify({ audio: `data:audio/mpeg;base64,${base64}` }),
    "application/json",
  ),
  "MiniMax's digits": answered(
    JSON.stringify({ data: { audio: mp3.toString("hex") }, base_resp: { status_code: 0, status_msg: "success" } }),
    "application/json",
  ),
  "Mistral's object": answered(JSON.stringify({ audio_data: base64 }), "application/json"),
  "Mistral's events": answered(
    `event: speech.audio.delta\ndata: {"type":"speech.audio.delta","audio_data":"${base64}"}\n\ndata: {"type":"speech.audio.done"}\n\n`,
    "text/event-stream",
  ),
  "Alibaba's object": answered(JSON.stringify({ output: { audio: { data: base64, id: "a" } } }), "application/json"),
};

test.each(Object.entries(audio))("%s are told as audio, and charged", async (_, script) => {
  const heard = await hear(script);
  expect(heard).toMatchObject({ status: 200, type: "audio/mpeg" });
  expect(heard.body).toEqual(mp3);
  expect(heard.cost).toBeGreaterThan(0);
});

test.each([
  ['{"', "audio/pcm"],
  ["{ not JSON", "audio/wav"],
  ["[1, 2", ""],
  ["<htm", "audio/mpeg"],
  ["data", "audio/pcm"],
  [":", "application/octet-stream"],
])("audio that begins with %j is audio, wherever it is cut", (beginning, label) => {
  const bytes = Buffer.concat([Buffer.from(beginning), Buffer.from([0, 255, 7])]);
  for (let at = 0; at <= bytes.length; at++) {
    const reader = new AudioReader(label, () => undefined);
    const pieces = [bytes.subarray(0, at), bytes.subarray(at)].filter(({ length }) => length > 0);
    const told = [...pieces.flatMap((piece) => reader.push(piece)), ...reader.end()];
    expect(Buffer.concat(told)).toEqual(bytes);
  }
});

test("audio that begins like an object is not held for long", () => {
  const reader = new AudioReader("audio/pcm", () => undefined);
  const pieces = Array.from({ length: 200 }, () => Buffer.alloc(1000, "{"));
  const told = pieces.slice(0, 100).flatMap((piece) => reader.push(piece));
  expect(Buffer.concat(told).length).toBe(100_000);
});

test("the media type is that of the bytes, of the label, or of the format that was asked for", () => {
  const of = (text: string) => Buffer.from(text, "latin1");
  expect(audioType(of("fLaC"), "audio/mpeg", "flac")).toBe("audio/flac");
  expect(audioType(of("RIFF1234WAVE"), "audio/x-wav", undefined)).toBe("audio/x-wav");
  expect(audioType(of("RIFF1234WAVE"), "audio/mpeg", undefined)).toBe("audio/wav");
  expect(audioType(of("OggS"), "audio/ogg; codecs=opus", "opus")).toBe("audio/ogg; codecs=opus");
  expect(audioType(of("OggS"), undefined, "opus")).toBe("audio/opus");
  expect(audioType(of("\xff\xfb"), "audio/L16; rate=24000", undefined)).toBe("audio/L16; rate=24000");
  expect(audioType(of("\xff\xfb"), "application/octet-stream", undefined)).toBe("audio/mpeg");
  expect(audioType(of("\x00\x01"), "text/plain", "pcm")).toBe("audio/pcm");
  expect(audioType(of("\x00\x01"), undefined, "midi")).toBe("application/octet-stream");
});

test.each(["mulaw", "ogg"])(
  "a format that a server has besides OpenAI's, as %s, is asked for",
  async (response_format) => {
    const { status, body } = await hear(answered(mp3, "audio/basic"), { response_format });
    expect([status, body]).toEqual([200, mp3]);
    expect(upstream.lastAsked).toMatchObject({ response_format });
  },
);

test("what is no name of a format is refused", async () => {
  for (const response_format of [7, ["mp3"], { type: "mp3" }])
    expect((await hear(answered(mp3), { response_format })).status).toBe(400);
});
