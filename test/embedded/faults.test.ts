import { describe, expect, it } from "vitest";
import { CreateChatCompletionRequestSchema } from "../../gen/modelgateway/v1/chat_pb.ts";
import type { Form } from "../../src/call/operations.ts";
import { Reason, Refusal } from "../../src/call/refusals.ts";
import { createEmbeddedProvider } from "../../src/embedded/index.ts";
import type { Speak } from "../../src/providers/contract.ts";
import { Wire } from "../../src/wire/wire.ts";
import { recordingMeter, unbounded } from "../support/meter.ts";

const { chat } = createEmbeddedProvider({ clock: () => 0 }).speaks as { chat: Speak<"chat"> };

interface Told {
  readonly metadata: Record<string, string>;
  readonly form?: Form;
  readonly signal?: AbortSignal;
  readonly say?: string;
}

/** Yields the text of each chunk, or the whole text; throws what the provider throws. */
async function* told({ metadata, form = "whole", signal, say = "one two three" }: Told): AsyncGenerator<string> {
  const messages = [{ role: "user", content: `say ${say}` }];
  const request = Wire.ofJson(CreateChatCompletionRequestSchema, { model: "m", messages, metadata });
  const attempt = { id: "req_1", operation: "chat", form, request, model: "m", header: () => undefined } as const;
  const answer = await chat({
    ...attempt,
    ...unbounded(),
    signal: signal ?? new AbortController().signal,
    meter: recordingMeter(),
  });
  if (answer.kind === "whole") yield JSON.stringify(answer.body.json());
  else for await (const frames of answer.frames) for (const frame of frames) yield JSON.stringify(frame.json());
}

async function outcome(how: Told): Promise<{ chunks: string[]; error: Refusal | undefined }> {
  const chunks: string[] = [];
  try {
    for await (const chunk of told(how)) chunks.push(chunk);
    return { chunks, error: undefined };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { chunks, error };
  }
}

const forms: Form[] = ["whole", "stream"];

describe.each(forms)("as its metadata says, a %s answer", (form) => {
  it("refuses with a status, in the shape of an upstream", async () => {
    for (const [status, retry] of [
      [429, "1"],
      [503, "1"],
      [500, undefined],
      [401, undefined],
    ] as const) {
      const { error } = await outcome({ metadata: { simulate_status: String(status) }, form });
      expect(error).toMatchObject({ status, reason: Reason.UPSTREAM_REFUSED });
      expect(error?.headers["retry-after"]).toBe(retry);
      const body = JSON.parse(error?.upstream?.body?.toString() ?? "");
      expect(body).toEqual({
        error: { message: expect.any(String), type: expect.any(String), param: null, code: "simulated" },
      });
    }
  });

  it("waits before it begins", async () => {
    const begun = performance.now();
    await outcome({ metadata: { simulate_delay_ms: "60" }, form });
    expect(performance.now() - begun).toBeGreaterThanOrEqual(55);
  });

  it("stays silent until the caller disconnects", async () => {
    const leaving = new AbortController();
    const waiting = outcome({ metadata: { simulate_silence: "true" }, form, signal: leaving.signal });
    const first = await Promise.race([waiting, new Promise((resolve) => setTimeout(resolve, 30, "silence"))]);
    expect(first).toBe("silence");
    leaving.abort();
    expect((await waiting).error?.reason).toBe(Reason.CANCELLED);
  });

  it("is not begun for a caller that has disconnected", async () => {
    const { chunks, error } = await outcome({ metadata: {}, form, signal: AbortSignal.abort() });
    expect(chunks).toEqual([]);
    expect(error?.reason).toBe(Reason.CANCELLED);
  });

  it.each([
    ["simulate_status", "200"],
    ["simulate_status", "teapot"],
    ["simulate_delay_ms", "600001"],
    ["simulate_delay_ms", "-1"],
    ["simulate_token_delay_ms", "1.5"],
    ["simulate_break_after", ""],
    ["simulate_silence", "yes"],
    ["simulate_typo", "1"],
  ])("refuses the instruction %s: %j by its name", async (key, value) => {
    const { error } = await outcome({ metadata: { [key]: value }, form });
    expect(error).toMatchObject({ status: 400, param: `metadata.${key}` });
  });

  it("ignores other metadata", async () => {
    const { error } = await outcome({ metadata: { purpose: "test", constructor: "x" }, form });
    expect(error).toBeUndefined();
  });
});

describe("told to break off", () => {
  it("a stream ends with a failure after so many chunks of content", async () => {
    const { chunks, error } = await outcome({ metadata: { simulate_break_after: "2" }, form: "stream" });
    expect(chunks.map((chunk) => JSON.parse(chunk).choices[0].delta.content)).toEqual(["", "one", " two"]);
    expect(error).toMatchObject({ status: 502, reason: Reason.UPSTREAM_FAILED });
    expect(error?.message).toContain("simulated");
  });

  it("a stream that is shorter comes to its end", async () => {
    const { error } = await outcome({ metadata: { simulate_break_after: "99" }, form: "stream" });
    expect(error).toBeUndefined();
  });

  it("a whole answer fails at once", async () => {
    const { error } = await outcome({ metadata: { simulate_break_after: "2" } });
    expect(error?.reason).toBe(Reason.UPSTREAM_FAILED);
  });
});

describe("a stream", () => {
  it("waits between its tokens", async () => {
    const begun = performance.now();
    await outcome({ metadata: { simulate_token_delay_ms: "20" }, form: "stream" });
    expect(performance.now() - begun).toBeGreaterThanOrEqual(38);
  });

  it("stops at once when the caller disconnects in a pause", async () => {
    const leaving = new AbortController();
    const frames = told({ metadata: { simulate_token_delay_ms: "600000" }, form: "stream", signal: leaving.signal });
    await frames.next();
    await frames.next();
    const third = frames.next();
    leaving.abort();
    await expect(third).rejects.toMatchObject({ reason: Reason.CANCELLED });
  });

  it("notices the caller's disconnect in the middle of a long answer at full speed", async () => {
    const leaving = new AbortController();
    const frames = told({ metadata: {}, form: "stream", signal: leaving.signal, say: "word ".repeat(15_000) });
    let seen = 0;
    const reading = (async () => {
      for await (const _ of frames) if (++seen === 10) setImmediate(() => leaving.abort());
    })();
    await expect(reading).rejects.toMatchObject({ reason: Reason.CANCELLED });
    expect(seen).toBeLessThan(1000);
  });
});
