/**
 * JSON bodies of the form endpoints may have strings where the specification lists strings. They are converted, for the gateway and
 * for its upstream.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CreateChatCompletionRequestSchema as chat } from "../../../gen/modelgateway/v1/chat_pb.ts";
import { CreateCompletionRequestSchema as completion } from "../../../gen/modelgateway/v1/completions_pb.ts";
import { CreateSpeechRequestSchema as speech } from "../../../gen/modelgateway/v1/speech_pb.ts";
import { withListedStrings } from "../../../src/doors/body/listed-strings.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

const read = (desc: typeof completion | typeof speech | typeof chat, text: string) =>
  withListedStrings(Wire.ofBytes<typeof desc>(desc, Buffer.from(text)))
    .bytes()
    .toString();

describe("a listed string is converted, and every other byte stays:", () => {
  const cases: readonly (readonly [typeof completion | typeof speech | typeof chat, string, string])[] = [
    [completion, '{ "max_tokens":"5" , "prompt":"1" }', '{ "max_tokens":5 , "prompt":"1" }'],
    [completion, '{"max_tokens":"+05","stream":"yes"}', '{"max_tokens":5,"stream":true}'],
    [completion, '{"stream":"False","n":"2"}', '{"stream":false,"n":"2"}'],
    [completion, '{"stream":"","prompt":"a"}', '{"prompt":"a"}'],
    [completion, '{"max_tokens":"five","temperature":"1"}', '{"max_tokens":"five","temperature":"1"}'],
    [completion, '{"max_tokens":7,"stream":true}', '{"max_tokens":7,"stream":true}'],
    [completion, '{"max_tokens":null}', '{"max_tokens":null}'],
    [speech, '{"speed":".5","input":"1.5"}', '{"speed":0.5,"input":"1.5"}'],
    [chat, '{"max_tokens":"5","stream":"true"}', '{"max_tokens":"5","stream":"true"}'],
  ];
  for (const [desc, text, expected] of cases) {
    test(`${desc.name} ${text}`, () => expect(read(desc, text)).toBe(expected));
  }

  test("a long one stays", () => {
    const text = `{"max_tokens":"${" ".repeat(200_000)}5"}`;
    expect(read(completion, text)).toBe(text);
  });
});

describe("over HTTP", () => {
  let gateway: TestGateway;
  beforeAll(async () => {
    gateway = await startTestGateway();
  });
  afterAll(() => gateway.close());

  async function send(path: string, json: object) {
    const headers = { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" };
    const response = await fetch(gateway.baseUrl + path, { method: "POST", headers, body: JSON.stringify(json) });
    const body = Buffer.from(await response.arrayBuffer()).toString("latin1");
    return { status: response.status, type: response.headers.get("content-type") ?? "", body };
  }

  test("a completion is bounded and streamed by strings", async () => {
    const asked = { model: "embedded-chat", prompt: "Name three rivers", max_tokens: "3" };
    const whole = await send("/completions", { ...asked, stream: "false" });
    expect(whole).toMatchObject({ status: 200, type: "application/json" });
    expect(JSON.parse(whole.body).usage.completion_tokens).toBeLessThanOrEqual(3);
    const streamed = await send("/completions", { ...asked, stream: "true" });
    expect(streamed.type).toContain("text/event-stream");
    expect(streamed.body).toContain("[DONE]");
  });

  test("speech has the speed of a string, within its bounds", async () => {
    const asked = { model: "tts-1", input: "Hi", voice: "alloy", response_format: "wav" };
    expect((await send("/audio/speech", { ...asked, speed: "1.5" })).status).toBe(200);
    expect(await send("/audio/speech", { ...asked, speed: "4.5" })).toMatchObject({ status: 400 });
    expect(await send("/audio/speech", { ...asked, speed: "fast" })).toMatchObject({ status: 400 });
  });

  test("a string that is no number is refused", async () => {
    for (const wrong of [{ max_tokens: "five" }, { stream: "perhaps" }, { max_tokens: "-2" }, { temperature: "1" }]) {
      const asked = { model: "embedded-chat", prompt: "a", ...wrong };
      expect(await send("/completions", asked), JSON.stringify(wrong)).toMatchObject({ status: 400 });
    }
  });
});
