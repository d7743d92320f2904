/** Small requests that grow: references, compression, and many bodies at once. */
import { setTimeout as delay } from "node:timers/promises";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { data, headers, openH2, postFields } from "../h2.ts";
import { ask, drained, inTurns, open, tally } from "../raw.ts";
import { chat, chatPath, faultsOf, largestBody, type Row, type Stage, scaled } from "../row.ts";

const keptBytes = 900_000;

const references: Row = {
  ...{ name: "item-references", item: 3 },
  attack: "400 and 3,000 references to one kept answer of 0.9 MB, in a small request",
  holds: "the request is refused at the bound of bodies before anything is put together",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const path = "/v1/responses";
    const post = (value: object) => ask(port, { path, key: keys.rich, body: JSON.stringify(value) });
    const made = await post({ model: "kept", input: String(keptBytes) });
    const id = /"id":\s*"(msg_[^"]*)/.exec(made.body)?.[1];
    if (id === undefined) return { told: `${made.status}`, faults: ["no answer was kept"] };
    stage.wild.forget();
    const statuses: number[] = [];
    for (const count of [5, scaled(stage, 400), scaled(stage, 3_000)]) {
      const items = Array(count).fill({ type: "item_reference", id });
      statuses.push(
        (await post({ model: "kept", store: false, input: [...items, { role: "user", content: "1" }] })).status,
      );
    }
    const { largest } = await stage.wild.seen();
    const told = `5, 400 and 3,000: ${statuses.join(", ")}; at most ${(largest / 2 ** 20).toFixed(0)} MB upstream`;
    return { told, faults: faultsOf({ "more was sent than may come in": largest > largestBody * 1.1 }) };
  },
};

const bodyBytes = largestBody - 4_096;
const head = '{"model":"sink","max_tokens":5,"messages":[{"role":"user","content":"';
const tail = '"}]}';
const filling = Buffer.alloc(64 * 1024, "a");

/** Sends all of a body but its end, waits, and sends the rest. Resolves with the status. */
async function sendLarge(
  stage: Stage,
  key: string,
  ready: Promise<unknown>,
): Promise<{ status: number; retryAfter: boolean }> {
  const socket = await open(stage.gateway.port);
  let answer = "";
  socket.on("data", (piece: Buffer) => (answer += piece.toString("latin1")));
  const length = `content-length: ${bodyBytes}\r\ncontent-type: application/json\r\n`;
  socket.write(`POST ${chatPath} HTTP/1.1\r\nhost: h\r\nauthorization: Bearer ${key}\r\n${length}\r\n${head}`);
  let left = bodyBytes - head.length - tail.length;
  while (left > 0 && answer === "" && !socket.destroyed) {
    const piece = filling.subarray(0, Math.min(left, filling.length));
    left -= piece.length;
    await drained(socket, socket.write(piece), 3_000);
  }
  await ready;
  if (answer === "") socket.write(tail);
  for (const end = performance.now() + 6_000; answer === "" && !socket.destroyed && performance.now() < end; )
    await delay(20);
  socket.destroy();
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
  return { status, retryAfter: /\r\nretry-after: *\d/i.test(answer) };
}

const largeBodies = (name: string, attack: string, keysOf: (stage: Stage) => readonly string[]): Row => ({
  ...{ name, attack, item: 3, growth: 800, warm: 0.04 },
  holds:
    "bytes in flight are bounded, for the process and an account; beyond it 503 with Retry-After, small requests first",
  async run(stage) {
    const count = scaled(stage, 100);
    const keys = keysOf(stage);
    const ready = delay(2_000 * stage.share);
    const all = Array.from({ length: count }, (_, i) => sendLarge(stage, keys[i % keys.length] as string, ready));
    const replies = await Promise.all(all);
    const refused = replies.filter(({ status }) => status === 503);
    const faults = faultsOf({
      "503 without Retry-After": refused.some(({ retryAfter }) => !retryAfter),
      "none was put off": count >= 100 && refused.length === 0,
      "none was answered": replies.every(({ status }) => status !== 200),
    });
    return { told: tally(replies.map(({ status }) => status)), faults };
  },
});

/** Says the same in a thousandth of the bytes. */
function bomb(megabytes: number): Buffer {
  const bytes = megabytes * 2 ** 20;
  return Buffer.concat([Buffer.from(head), Buffer.alloc(bytes - head.length - tail.length, "a"), Buffer.from(tail)]);
}

const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } };
let made: readonly { readonly encoding: string; readonly bytes: Buffer }[] | undefined;
function bombs() {
  made ??= [15, 64].flatMap((megabytes) => {
    const bytes = bomb(megabytes);
    return [
      { encoding: "br", bytes: brotliCompressSync(bytes, quick) },
      { encoding: "gzip", bytes: gzipSync(bytes) },
    ];
  });
  return made;
}

const path = "/modelgateway.v1.InferenceService/CreateChatCompletion";

const connectBombs: Row = {
  ...{ name: "compressed-connect", item: 3, growth: 800 },
  attack: "50 bodies of Connect at once, by brotli and gzip, that become 15 MB and 64 MB",
  holds: "what they become is bounded as what is sent, before it is there",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const statuses: number[] = [];
    await inTurns(scaled(stage, 50), 50, stage.signal, async (i) => {
      const { encoding, bytes } = bombs()[i % 4] as { encoding: string; bytes: Buffer };
      const extra = { "content-encoding": encoding, "connect-protocol-version": "1" };
      statuses.push((await ask(port, { path, key: keys.rich, body: bytes, headers: extra, timeoutMs: 10_000 })).status);
    });
    return { told: tally(statuses), faults: [] };
  },
};

const grpcBombs: Row = {
  ...{ name: "compressed-grpc", item: 3, growth: 800 },
  attack: "50 compressed messages of gRPC at once that become 15 MB and 64 MB",
  holds: "what they become is bounded as what is sent, before it is there",
  async run(stage) {
    const { port, keys } = stage.gateway;
    let ended = 0;
    await inTurns(scaled(stage, 50), 50, stage.signal, async (i) => {
      const { encoding, bytes } = bombs()[i % 4] as { encoding: string; bytes: Buffer };
      const client = await openH2(port);
      const fields = postFields(path, keys.rich).filter(([name]) => name !== "content-type");
      const prefix = Buffer.alloc(5);
      prefix[0] = 1;
      prefix.writeUInt32BE(bytes.length, 1);
      const block = headers(1, [
        ...fields,
        ["content-type", "application/grpc+json"],
        ["grpc-encoding", encoding],
        ["te", "trailers"],
      ]);
      client.socket.write(Buffer.concat([block, data(1, Buffer.concat([prefix, bytes]))]));
      for (const end = performance.now() + 10_000; !client.ended.has(1) && performance.now() < end; ) await delay(20);
      if (client.ended.has(1)) ended++;
      client.socket.destroy();
    });
    return { told: `${ended} answered`, faults: [] };
  },
};

const restBombs: Row = {
  ...{ name: "compressed-rest", item: 3, warm: 0 },
  attack: "compressed bodies of HTTP JSON",
  holds: "none is expanded beyond the bound of bodies",
  async run(stage) {
    const { port, keys } = stage.gateway;
    stage.wild.forget();
    const replies = await Promise.all(
      bombs().map(({ encoding, bytes }) =>
        ask(port, { path: chatPath, key: keys.rich, body: bytes, headers: { "content-encoding": encoding } }),
      ),
    );
    const { largest } = await stage.wild.seen();
    const faults = faultsOf({
      "a 500": replies.some(({ status }) => status === 500),
      "more came through": largest > largestBody * 1.1,
    });
    return { told: tally(replies.map(({ status }) => status)), faults };
  },
};

const megabyteBodies: Row = {
  ...{ name: "megabyte-bodies", item: 3 },
  attack: "bodies of 1 MB, 16 at a time, of a key that may",
  holds: "each is answered; others are not kept waiting",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const body = chat("sink", "a".repeat(2 ** 20));
    const statuses: number[] = [];
    await inTurns(scaled(stage, 120), 16, stage.signal, async () => {
      statuses.push((await ask(port, { path: chatPath, key: keys.rich, body })).status);
    });
    return {
      told: tally(statuses),
      faults: faultsOf({ "some were not answered": statuses.some((status) => status !== 200) }),
    };
  },
};

export const expansion: readonly Row[] = [
  references,
  largeBodies("large-bodies-one-key", "100 bodies of 16 MB at once, of one key", ({ gateway }) => [gateway.keys.rich]),
  largeBodies("large-bodies-many-keys", "100 bodies of 16 MB at once, of nine accounts", ({ gateway }) => [
    gateway.keys.rich,
    ...gateway.keys.others,
  ]),
  megabyteBodies,
  connectBombs,
  grpcBombs,
  restBombs,
];
