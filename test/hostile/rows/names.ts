/** Names that upstreams and callers choose, and that mean something to JavaScript; and guesses of credentials. */
import { ask, exchange, inTurns, post, tally } from "../raw.ts";
import { chat, chatPath, faultsOf, type Row, scaled } from "../row.ts";

const inherited = [
  "constructor",
  "toString",
  "__proto__",
  "hasOwnProperty",
  "valueOf",
  "isPrototypeOf",
  "__defineGetter__",
];

/** A status line as RFC 9112 has it, and of no great length. */
const wellFormed = /^HTTP\/1\.1 \d{3} [\w' -]{0,40}\r\n/;

interface Probe {
  readonly bytes: Buffer;
  /** Statuses that are right. */
  readonly right: readonly number[];
  readonly what: string;
}

/** What an Anthropic upstream says, as its caller's message has it said. */
const saying = (said: unknown, stream = false) =>
  JSON.stringify({ ...JSON.parse(chat("ant", JSON.stringify(said))), stream });

const start = {
  type: "message_start",
  message: {
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    content: [],
    usage: { input_tokens: 1, output_tokens: 1 },
  },
};
const block = { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } };

function probesOf(key: string): Probe[] {
  const errors = inherited.flatMap((type) =>
    [400, 500, 200].flatMap((status) =>
      ["/v1/messages", chatPath].map((path) => ({
        bytes: post(path, key, saying({ status, body: { type: "error", error: { type, message: "m" } } })),
        right: [400, 429, 502, 503, 504],
        what: `error type ${type} with ${status} at ${path}`,
      })),
    ),
  );
  const timeouts = inherited.map((name) => ({
    bytes: post(chatPath, key, chat("calm", "x"), `x-gateway-timeout: ${name}=5\r\n`),
    ...{ right: [400], what: `x-gateway-timeout: ${name}=5` },
  }));
  const refused: readonly unknown[] = [
    { toString: 1 },
    { message: { toString: 1 } },
    "x",
    1,
    null,
    [],
    { toString: null },
  ];
  const bodies = [
    ...refused.map((message) => ({ model: "sink", max_tokens: 5, messages: [{ role: "user", content: message }] })),
    { model: "sink", models: "sink", max_tokens: 5, messages: [{ role: "user", content: "x" }] },
    { model: "sink", models: { 0: "sink", length: 1 }, max_tokens: 5, messages: [{ role: "user", content: "x" }] },
    ...inherited.map((name) => ({ model: name, max_tokens: 5, messages: [{ role: "user", content: "x" }] })),
    ...inherited.map((role) => ({ model: "sink", max_tokens: 5, messages: [{ role, content: "x" }] })),
    ...inherited.map((type) => ({ model: "sink", max_tokens: 5, messages: [{ role: "user", content: [{ type }] }] })),
    ...inherited.map((type) => ({
      model: "sink",
      max_tokens: 5,
      tools: [{ type }],
      messages: [{ role: "user", content: "x" }],
    })),
    ...inherited.map((word) => ({
      model: "sink",
      max_tokens: 5,
      tool_choice: word,
      reasoning_effort: word,
      messages: [{ role: "user", content: "x" }],
    })),
  ].flatMap((value) =>
    [chatPath, "/v1/messages"].map((path) => ({
      bytes: post(path, key, JSON.stringify(value)),
      right: [200, 400, 404, 502],
      what: `${path} ${JSON.stringify(value).slice(0, 90)}`,
    })),
  );
  const messages = [{ toString: 1 }, { message: { toString: 1 } }, [[]], 5].flatMap((message) =>
    [400, 500].map((status) => ({
      bytes: post(
        "/v1/messages",
        key,
        saying({ status, body: { type: "error", error: { type: "api_error", message } } }),
      ),
      right: [400, 502, 503],
      what: `an error's message ${JSON.stringify(message)} with ${status}`,
    })),
  );
  const lists = {
    bytes: post(chatPath, key, chat("sink", "x", { models: "sink" })),
    right: [400],
    what: "`models` that is no list",
  };
  return [...errors, ...timeouts, ...bodies, ...messages, lists];
}

const names: Row = {
  ...{ name: "inherited-names", item: 5, short: true, warm: 0 },
  attack: "error types, event types, time-outs, roles, models and messages named as members of every object",
  holds: "nothing is looked up in a prototype: no 500, and every status line is one",
  async run({ gateway: { port, keys }, patienceMs, signal }) {
    const probes = probesOf(keys.rich);
    const wrong: string[] = [];
    await inTurns(probes.length, 12, signal, async (i) => {
      const { bytes, right, what } = probes[i] as Probe;
      const answer = await exchange(port, withClose(bytes), patienceMs);
      const status = Number(answer.slice(9, 12));
      if (!wellFormed.test(answer)) wrong.push(`${what}: ${JSON.stringify(answer.slice(0, 40))}`);
      else if (!right.includes(status)) wrong.push(`${what}: ${status}`);
    });
    const types = [{}, 5, null, ["message_stop"], ...inherited];
    await inTurns(types.length, 4, signal, async (i) => {
      const type = types[i];
      const answer = await exchange(
        port,
        withClose(
          post(
            "/v1/messages",
            keys.rich,
            saying({ stream: [start, block, { type, index: 0 }, { type: "message_stop" }] }, true),
          ),
        ),
        patienceMs,
      );
      if (/internal/i.test(answer) || !wellFormed.test(answer))
        wrong.push(`event type ${JSON.stringify(type)}: ${answer.slice(-80)}`);
    });
    const unread = await ask(port, {
      ...{
        path: "/modelgateway.v1.InferenceService/CreateChatCompletion",
        key: keys.rich,
        body: Buffer.alloc(20, 0xff),
      },
      headers: { "content-type": "application/proto", "connect-protocol-version": "1" },
    });
    if (unread.status !== 400 || !unread.body.includes("invalid_argument"))
      wrong.push(`protobuf that cannot be read: ${unread.status}`);
    const count = probes.length + types.length + 1;
    const told = `${count - wrong.length} of ${count} answered as they should be`;
    return {
      told,
      faults: wrong.length > 0 ? [`${wrong.length} were not, as ${wrong.slice(0, 3).join("; ")}`] : [],
    };
  },
};

/** Asks for the connection to be closed, so that the end of an answer is seen. */
function withClose(bytes: Buffer): Buffer {
  const at = bytes.indexOf("\r\n") + 2;
  return Buffer.concat([bytes.subarray(0, at), Buffer.from("connection: close\r\n"), bytes.subarray(at)]);
}

const guesser = "127.9.9.9";

const guesses: Row = {
  ...{ name: "guessed-keys", item: 6, short: true, warm: 0 },
  attack: "1,000 wrong keys, every other one for the operator's, from one address",
  holds: "guesses are throttled with 429; the right key works, from there too",
  async run(stage) {
    const { port, keys } = stage.gateway;
    const statuses: number[] = [];
    const end = performance.now() + stage.ms * 2;
    await inTurns(scaled(stage, 1_000), 20, stage.signal, async (i) => {
      if (performance.now() > end && statuses.includes(429)) return;
      const path = i % 2 === 0 ? chatPath : "/modelgateway.v1.OperatorService/ListAccounts";
      const key = `sk-${String(i).padStart(43, "g")}`;
      const body = i % 2 === 0 ? chat("calm", "x") : "{}";
      statuses.push((await ask(port, { path, key, body, localAddress: guesser })).status);
    });
    const right = await ask(port, { path: chatPath, key: keys.rich, body: chat("calm", "x"), localAddress: guesser });
    const told = `${tally(statuses)}; the right key ${right.status}`;
    const faults = faultsOf({
      "no guess was throttled": !statuses.includes(429),
      "more than 100 guesses were looked at": statuses.filter((status) => status === 401).length > 100,
      "the right key is refused": right.status !== 200,
    });
    return { told, faults };
  },
};

export const namesAndGuesses: readonly Row[] = [names, guesses];
