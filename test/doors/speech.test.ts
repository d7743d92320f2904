/**
 * Speech is the same bytes through every door, and the same refusal: as bytes or events over HTTP, as messages over RPC.
 */
import { create } from "@bufbuild/protobuf";
import { ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ErrorDetailSchema } from "../../gen/modelgateway/v1/errors_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { CreateSpeechRequestSchema, SpeechFormat } from "../../gen/modelgateway/v1/speech_pb.ts";
import { eventsOf } from "../support/clients/endpoints.ts";
import { behind, startTestGateway, type TestGateway } from "../support/gateway.ts";

let near: TestGateway;
let far: TestGateway;

beforeAll(async () => {
  near = await startTestGateway();
  const config = behind(near);
  const [chat] = config.models ?? [];
  if (!chat) throw new Error("no model to go by");
  const targets = chat.targets.map((target) => ({ ...target, model: "tts-1" }));
  far = await startTestGateway({ ...config, models: [{ ...chat, id: "tts-1", kind: "speech", targets }] });
});

afterAll(async () => {
  await far.close();
  await near.close();
});

const transports: Readonly<Record<string, (gateway: TestGateway) => Transport>> = {
  Connect: ({ rootUrl }) => createConnectTransport({ baseUrl: rootUrl, httpVersion: "1.1" }),
  gRPC: ({ rootUrl }) => createGrpcTransport({ baseUrl: rootUrl }),
  "gRPC-Web": ({ rootUrl }) => createGrpcWebTransport({ baseUrl: rootUrl, httpVersion: "1.1" }),
};

const order = { model: "tts-1", input: "Good morning, everybody.", voice: "nova", response_format: "flac" };

function message(voice: string) {
  return create(CreateSpeechRequestSchema, {
    model: order.model,
    input: order.input,
    voice: { case: "voiceName", value: voice },
    responseFormat: SpeechFormat.FLAC,
  });
}

function post({ baseUrl, apiKey }: TestGateway, body: string | URLSearchParams): Promise<Response> {
  const type: Record<string, string> = typeof body === "string" ? { "content-type": "application/json" } : {};
  const headers = { authorization: `Bearer ${apiKey}`, ...type };
  return fetch(`${baseUrl}/audio/speech`, { method: "POST", headers, body });
}

function optionsOf({ apiKey }: TestGateway) {
  return { headers: { authorization: `Bearer ${apiKey}` } };
}

for (const [place, gateway] of [
  ["the embedded model", () => near],
  ["another gateway as upstream", () => far],
] as const) {
  describe(`over ${place}`, () => {
    test("a format that the model does not have is refused, by JSON and by form", async () => {
      const other = { ...order, response_format: "mulaw" };
      for (const body of [JSON.stringify(other), new URLSearchParams(other)]) {
        const response = await post(gateway(), body);
        expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("mp3, opus, aac")]);
      }
    });

    test("the bytes are the same by JSON, form and events, and through every RPC door", async () => {
      const response = await post(gateway(), JSON.stringify(order));
      expect(response.headers.get("content-type")).toBe("audio/flac");
      const expected = Buffer.from(await response.arrayBuffer());
      expect(expected.subarray(0, 4).toString()).toBe("fLaC");

      const byForm = await post(gateway(), new URLSearchParams(order));
      expect(Buffer.from(await byForm.arrayBuffer()).equals(expected), "form").toBe(true);

      const byEvents = await post(gateway(), JSON.stringify({ ...order, stream_format: "sse" }));
      const events = eventsOf(new Uint8Array(await byEvents.arrayBuffer())).map(({ data }) => JSON.parse(String(data)));
      const deltas = events.filter(({ type }) => type === "speech.audio.delta");
      const audio = Buffer.concat(deltas.map((delta) => Buffer.from(delta.audio, "base64")));
      expect(audio.equals(expected), "events").toBe(true);
      expect(events.at(-1)).toMatchObject({ type: "speech.audio.done", usage: { input_tokens: order.input.length } });

      for (const [name, transportTo] of Object.entries(transports)) {
        const client = createClient(InferenceService, transportTo(gateway()));
        const pieces: Uint8Array[] = [];
        for await (const { audio } of client.streamSpeech(message("nova"), optionsOf(gateway()))) {
          if (audio) pieces.push(audio);
        }
        expect(Buffer.concat(pieces).equals(expected), name).toBe(true);
      }
    });

    test("a unary answer over RPC is one file", async () => {
      for (const transportTo of Object.values(transports)) {
        const client = createClient(InferenceService, transportTo(gateway()));
        const { contentType, audio } = await client.createSpeech(message("nova"), optionsOf(gateway()));
        expect(contentType).toBe("audio/flac");
        expect(Buffer.from(audio ?? []).toString("latin1", 0, 4)).toBe("fLaC");
      }
    });

    test("an unknown voice is refused alike", async () => {
      const response = await post(gateway(), JSON.stringify({ ...order, voice: "nobody" }));
      const { error } = (await response.json()) as { error: { message: string; param: string } };
      expect([response.status, error.param]).toEqual([400, "voice"]);
      for (const transportTo of Object.values(transports)) {
        const client = createClient(InferenceService, transportTo(gateway()));
        const refusal = await client.createSpeech(message("nobody"), optionsOf(gateway())).catch(ConnectError.from);
        const [detail] = (refusal as ConnectError).findDetails(ErrorDetailSchema);
        expect(detail).toMatchObject({ httpStatus: 400, param: "voice" });
        expect((refusal as ConnectError).rawMessage).toBe(error.message);
      }
    });
  });
}
