/** A demo prepares the embedded speech models by itself, beside its other work; a thread without work ends. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Worker } from "node:worker_threads";
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { CreateSpeechRequestSchema } from "../../gen/modelgateway/v1/speech_pb.ts";
import { Reason } from "../../src/call/refusals.ts";
import { createEmbeddedProvider } from "../../src/embedded/index.ts";
import { createSpeech, type Speech } from "../../src/embedded/speech/index.ts";
import { Wire } from "../../src/wire/wire.ts";
import { Running, starter, temporaryFolder } from "../support/command.ts";
import { recordingMeter, unbounded } from "../support/meter.ts";
import { shareOfThisThread } from "../support/run/cpu-time.ts";

/** The threads that this process started during the test. */
let threads: Worker[] = [];
const onThread = (thread: Worker) => void threads.push(thread);

beforeEach(() => {
  threads = [];
  process.on("worker", onThread);
});
afterEach(() => void process.off("worker", onThread));

async function speak(speech: Speech): Promise<Buffer> {
  const message = create(CreateSpeechRequestSchema, { input: "Hello.", voice: { case: "voiceName", value: "nova" } });
  const answer = await speech.speak({
    ...{ id: "req_1", operation: "speech", form: "whole", model: "tts-1", header: () => undefined },
    request: Wire.ofMessage(CreateSpeechRequestSchema, message),
    signal: new AbortController().signal,
    meter: recordingMeter(),
    ...unbounded(),
  });
  if (answer.kind !== "whole") throw new Error("not whole");
  return Buffer.from(answer.body.message().audio ?? []);
}

describe("prepared speech", () => {
  test("has its thread started and its first words spoken before any request, and then gives the same audio", async () => {
    const [ready, fresh] = [createSpeech(), createSpeech()];
    try {
      await ready.warm();
      expect(threads.length).toBe(1);
      const audio = await speak(ready);
      expect(threads.length).toBe(1);
      expect(audio.equals(await speak(fresh))).toBe(true);
      expect(threads.length).toBe(2);
    } finally {
      await Promise.all([ready.close(), fresh.close()]);
    }
  });

  test("leaves the event loop free meanwhile", async () => {
    const speech = createSpeech();
    try {
      expect(await shareOfThisThread(() => speech.warm())).toBeLessThan(0.5);
    } finally {
      await speech.close();
    }
  });

  test("serves a caller that comes before it is ready", async () => {
    const speech = createSpeech();
    try {
      const [audio] = await Promise.all([speak(speech), speech.warm()]);
      expect(audio.length).toBeGreaterThan(0);
      expect(threads.length).toBe(1);
    } finally {
      await speech.close();
    }
  });

  test("does not delay the end: its thread is gone when it is closed", async () => {
    const speech = createSpeech();
    const warm = speech.warm();
    const refused = expect(warm).rejects.toMatchObject({ reason: Reason.CANCELLED });
    const [thread] = threads;
    const gone = thread && once(thread, "exit");
    await speech.close();
    await refused;
    await gone;
    expect(threads.length).toBe(1);
  });
});

describe("the embedded models", () => {
  test("start no thread where none of them speaks", async () => {
    const provider = createEmbeddedProvider({ clock: Date.now });
    await provider.warm?.(["embedded-chat", "embedded-embedding"]);
    expect(threads).toEqual([]);
    await provider.warm?.(["embedded-chat", "tts-1"]);
    expect(threads.length).toBe(1);
    await provider.close();
  });
});

describe("a thread without turns", () => {
  test("ends after a while, and another serves the next request with the same audio", async () => {
    const speech = createSpeech({ idleMs: 1 });
    try {
      const audio = await speak(speech);
      const [thread] = threads;
      if (thread && thread.threadId !== -1) await once(thread, "exit");
      expect(audio.equals(await speak(speech))).toBe(true);
      expect(threads.length).toBe(2);
    } finally {
      await speech.close();
    }
  });
});

describe("a demo started fresh", () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let env: { readonly DATA_DIR: string; readonly LOG_LEVEL: string };
  beforeEach(async () => {
    folder = await temporaryFolder();
    env = { DATA_DIR: folder.path, LOG_LEVEL: "debug" };
  });
  afterEach(() => folder.remove());

  const startDemo = () => new Running(process.execPath, [starter, "demo"], { PORT: "0", ...env });

  /** Resolves when the log says that the embedded models are ready. */
  async function ready({ child, stderr: already, ended }: Running): Promise<void> {
    let log = already;
    child.stderr?.on("data", (text: string) => (log += text));
    while (!/"upstream":"embedded","msg":"warm"/.test(log)) {
      const ending = ended.then(() => Promise.reject(new Error(`ended without being ready:\n${log}`)));
      await Promise.race([once(child.stderr as NodeJS.ReadableStream, "data"), ending]);
    }
  }

  test("takes calls at once, prepares speech by itself, and sends the first audio before the last is spoken", async () => {
    const server = startDemo();
    try {
      const made = ready(server);
      const [, rootUrl = ""] = await server.shows(/serves at (\S+)\. Keys/);
      expect((await fetch(`${rootUrl}/readyz`)).status).toBe(200);
      await made;
      const { api_key: key } = JSON.parse(readFileSync(join(folder.path, "demo.json"), "utf8"));
      const leave = new AbortController();
      const response = await fetch(`${rootUrl}/v1/audio/speech`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "tts-1", voice: "nova", input: "Hello there. ".repeat(300) }),
        signal: leave.signal,
      });
      expect(response.status).toBe(200);
      const first = await response.body?.getReader().read();
      expect(first?.value?.length).toBeGreaterThan(0);
      // The whole audio is some minutes long, 8000 bytes a second.
      expect(first?.value?.length).toBeLessThan(200_000);
      leave.abort();
    } finally {
      expect(await server.stop()).toMatchObject({ code: 0 });
    }
  });

  test("ends when told to while it prepares speech", async () => {
    const server = startDemo();
    await server.shows(/serves at/);
    expect(await server.stop()).toMatchObject({ code: 0 });
  });
});
