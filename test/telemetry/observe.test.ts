/**
 * When a call is told of: once its answer has been written, where it is alone; before that where there are many. On a real
 * socket, whose writes wait for the end of the tick.
 */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { type Answer, anyRoom, here, nobody } from "../../src/call/call.ts";
import { corkUntilTick } from "../../src/http1/cork-until-immediate.ts";
import { observe } from "../../src/pipeline/observe.ts";
import { CallerAbort } from "../../src/runtime/caller-abort.ts";
import { Wire } from "../../src/wire/wire.ts";

const method = InferenceService.method.createChatCompletion;

let server: ReturnType<typeof createServer>;
let client: Socket;
let socket: Socket;
/** What has been handed to the socket, which may hold it. */
let handedOver: string[];

beforeEach(async () => {
  server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  client = connect(port, "127.0.0.1");
  [socket] = await once(server, "connection");
  handedOver = [];
});

afterEach(() => {
  client.destroy();
  socket.destroy();
  server.close();
});

/** Says of each call that is told of whether its answer has been written. */
function watched(answers: readonly Promise<Answer>[]) {
  const told: { readonly id: string; readonly isWritten: boolean }[] = [];
  const observer = {
    ended: ({ arrival: { id } }: { readonly arrival: { readonly id: string } }) =>
      void told.push({ id, isWritten: handedOver.includes(id) && socket.writableCorked === 0 }),
  };
  const coming = [...answers];
  const handle = () => coming.shift() as Promise<Answer<never>>;
  const admit = () => ({ caller: nobody, headers: {} });
  return { told, way: observe({ admit, handle }, { observers: [observer], clock: () => 0 }) };
}

/** Asks, and writes the answer as a door does. */
async function ask(way: ReturnType<typeof observe>, id: string): Promise<void> {
  const request = Wire.ofJson(method.input, {});
  const arrival = { id, method, header: () => undefined, peer: here };
  try {
    await way.handle({ ...arrival, caller: nobody, request, body: anyRoom, signal: new CallerAbort() });
  } finally {
    corkUntilTick(socket);
    socket.write(id);
    handedOver.push(id);
  }
}

const whole = { kind: "whole", body: Wire.ofJson(method.output, {}) } as Answer;

async function received(length: number): Promise<string> {
  let text = "";
  for await (const bytes of client) {
    text += bytes;
    if (text.length >= length) break;
  }
  return text;
}

test("a call that is alone is answered, and then told of", async () => {
  const answer = Promise.withResolvers<Answer>();
  const { told, way } = watched([answer.promise]);
  const asked = ask(way, "a");
  setImmediate(() => answer.resolve(whole));
  await asked;
  expect(await received(1)).toBe("a");
  expect(told).toEqual([{ id: "a", isWritten: true }]);
});

test("so is one that fails", async () => {
  const answer = Promise.withResolvers<Answer>();
  const { told, way } = watched([answer.promise]);
  const asked = ask(way, "a");
  setImmediate(() => answer.reject(new Error("no")));
  await expect(asked).rejects.toThrow("no");
  expect(await received(1)).toBe("a");
  expect(told).toEqual([{ id: "a", isWritten: true }]);
});

test("calls that run at once are told of before their answers are written", async () => {
  const answer = Promise.withResolvers<Answer>();
  const { told, way } = watched([answer.promise, answer.promise]);
  const asked = Promise.all([ask(way, "a"), ask(way, "b")]);
  setImmediate(() => answer.resolve(whole));
  await asked;
  expect(await received(2)).toBe("ab");
  expect(told).toEqual(["a", "b"].map((id) => ({ id, isWritten: false })));
});

test("one that has run beside others is alone again when they are over", async () => {
  const { told, way } = watched([Promise.resolve(whole), Promise.resolve(whole), Promise.resolve(whole)]);
  await Promise.all([ask(way, "a"), ask(way, "b")]);
  await new Promise(setImmediate);
  await ask(way, "c");
  expect(told.map(({ id }) => id)).toEqual(["a", "b"]);
  await received(3);
  expect(told.at(-1)).toEqual({ id: "c", isWritten: true });
});
