/** A capture that fails is reported to everything that waits for it, the second time too. */
import { expect, test } from "vitest";
import type { Answer, Call, Frames } from "../../../src/call/call.ts";
import { newCallRecord } from "../../../src/call/call-record.ts";
import { captureOnce } from "../../../src/pipeline/charge/capture-once.ts";
import { CallerAbort } from "../../../src/runtime/caller-abort.ts";
import { forEach } from "../../../src/runtime/push-stream.ts";

for (const [when, charge] of [
  ["at once", failing],
  ["later", async () => failing()],
] as const) {
  test(`a stream whose charge fails ${when} does not end well, however often it is asked for`, async () => {
    const signal = new CallerAbort();
    const heard: unknown[] = [];
    const call = { signal, record: newCallRecord() } as Partial<Call> as Call;
    const captured = { call, arrivedAt: 0, meter: { isOver: () => false } };
    const options = {
      ledger: { begin: () => () => {} },
      clock: () => 1,
      onError: (error: unknown) => heard.push(error),
    };
    const answer = await captureOnce(captured, charge, streamed, options);
    // It is captured as soon as its caller has disconnected, and once more at its end.
    signal.abort();
    await expect.poll(() => heard.map(String)).toEqual(["Error: cannot be charged"]);
    const ended = answer.kind === "stream" ? forEach(answer.frames, () => undefined) : undefined;
    await expect(ended).rejects.toThrow("cannot be charged");
  });
}

function failing(): never {
  throw new Error("cannot be charged");
}

function streamed(): Answer {
  return { kind: "stream", frames: (async function* (): Frames {})() };
}
