/**
 * What a call may cost is held before it is sent: the most that it can cost, or, where its caller sets no bound of the output, what
 * the bound costs that the credit affords.
 */
import { describe, expect, test, vi } from "vitest";
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { formatDecimal } from "../../../src/runtime/decimal.ts";
import { type HeardAnswer, hear } from "../../support/clients/hear.ts";
import { eventually } from "../../support/eventually.ts";
import { type AccountInit, now, startTestGateway } from "../../support/gateway.ts";
import { openAccount, openBooks, type Payer, type Standing } from "../../support/payer.ts";
import { eventStream } from "../../support/scripted-upstream.ts";
import { cost, paidModel, paidModels, price } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  answerAsAnthropic,
  answerAsOpenAi,
  chatAnswer,
  chatChunk,
  done,
  messageAnswer,
  openaiFrames,
} from "../../support/vendors.ts";

/** A token of output that costs nearly a whole millionth, and input that costs hardly anything. */
const fractions = { input: 1, output: 999_000 };

const { upstream, gateway, books } = scriptedStage((base_url) => {
  const config = paidModels(base_url);
  const more = [
    paidModel("gpt-bounded", "openai", { max_output_tokens: 4096 }),
    paidModel("davinci-bounded", "openai", { completions: "native", max_output_tokens: 4096 }),
    paidModel("llama", "meta"),
    paidModel("cheap", "openai", { price: fractions }),
  ];
  const meta = { name: "meta", kind: "openai", base_url, api_key: "k" } as const;
  const upstreams = [...config.upstreams, meta];
  const gold = paidModel("gpt-gold", "openai", { price: { ...price, output: 1e13 } });
  return { ...config, upstreams, models: [...config.models, ...more, gold] };
});

type Json = Readonly<Record<string, unknown>>;

const messages = [{ role: "user", content: "Hello" }];
const paths = { chat: "/v1/chat/completions", messages: "/v1/messages" } as const;
/** The most that a token of input may cost. */
const dearest = cost.cacheWriteHour;

/** The most that this request's input may cost: each byte a token, and what vendors put around a conversation. */
function inputOf(body: Json): number {
  return (JSON.stringify(body).length + 64) * dearest;
}

function say(payer: Payer, body: Json, path: string = paths.chat): Promise<HeardAnswer> {
  return hear(gateway, { path, apiKey: payer.apiKey, body }).answer;
}

/** Answers as the vendor of the path does, and keeps the requests. */
function answerAll(): Json[] {
  const asked: Json[] = [];
  upstream.script = (exchange) => {
    asked.push(exchange.asked as Json);
    (exchange.path === "/v1/messages" ? answerAsAnthropic : answerAsOpenAi)(exchange);
  };
  return asked;
}

describe("a caller who sets no bound", () => {
  const bounds: readonly [string, string, AccountInit][] = [
    ["gpt", "max_completion_tokens", {}],
    ["llama", "max_tokens", {}],
    ["claude", "max_tokens", {}],
    ["gpt-bounded", "max_completion_tokens", {}],
  ];
  test.each(bounds)("of %s gets the one that the balance affords, as %s", async (model, key) => {
    const asked = answerAll();
    const body = { model, messages };
    const payer = await openAccount(gateway, { recharge: inputOf(body) + 100 * cost.output + 5 });
    expect((await say(payer, body)).status).toBe(200);
    expect(asked).toMatchObject([{ [key]: 100 }]);
    expect(Object.keys(asked[0] as Json).filter((name) => name.startsWith("max_"))).toEqual([key]);
  });

  test("gets the one that the key's limit affords, where that is less", async () => {
    const asked = answerAll();
    const body = { model: "gpt", messages };
    const payer = await openAccount(gateway, { creditLimit: inputOf(body) + 7 * cost.output });
    expect((await say(payer, body)).status).toBe(200);
    expect(asked).toMatchObject([{ max_completion_tokens: 7 }]);
  });

  test("shares it among the answers that it asks for", async () => {
    const asked = answerAll();
    const body = { model: "gpt", messages, n: 4 };
    const payer = await openAccount(gateway, { recharge: inputOf(body) + 43 * cost.output });
    await say(payer, body);
    expect(asked).toMatchObject([{ n: 4, max_completion_tokens: 10 }]);
  });

  test("is left without one where the credit covers all that the model can put out", async () => {
    const asked = answerAll();
    await say(await openAccount(gateway), { model: "gpt-bounded", messages });
    expect(asked).toEqual([{ model: "v-gpt-bounded", messages }]);
  });

  test("gets one all the same where nobody knows how much the model can put out", async () => {
    const asked = answerAll();
    await say(await openAccount(gateway), { model: "gpt", messages });
    expect(asked).toMatchObject([{ max_completion_tokens: 8192 }]);
  });

  test.each(["davinci", "davinci-bounded"])(
    "of a legacy completion of %s gets that API's default, as an own one",
    async (model) => {
      const asked = answerAll();
      const answer = await say(await openAccount(gateway), { model, prompt: "Hello" }, "/v1/completions");
      expect(answer.status).toBe(200);
      expect(asked).toMatchObject([{ prompt: "Hello", max_tokens: 16 }]);
    },
  );

  test("is refused where the credit does not cover a single token", async () => {
    const asked = answerAll();
    const body = { model: "gpt", messages };
    const payer = await openAccount(gateway, { recharge: inputOf(body) + cost.output - 1 });
    expect((await say(payer, body)).status).toBe(402);
    expect(asked).toEqual([]);
  });

  test("gets the last token that the credit affords, where its price is a fraction", async () => {
    const asked = answerAll();
    expect((await say(await openAccount(gateway, { recharge: 1 }), { model: "cheap", messages })).status).toBe(200);
    expect(asked).toMatchObject([{ max_completion_tokens: 1 }]);
  });
});

describe("a caller's own bound", () => {
  const bounds: readonly [path: keyof typeof paths, model: string, bound: Json, passed: Json][] = [
    ["chat", "gpt", { max_tokens: 40 }, { max_completion_tokens: 40 }],
    ["chat", "llama", { max_tokens: 40 }, { max_tokens: 40 }],
    ["chat", "gpt", { max_completion_tokens: 40 }, { max_completion_tokens: 40 }],
    ["chat", "claude", { max_tokens: 40 }, { max_tokens: 40 }],
    ["messages", "claude", { max_tokens: 40 }, { max_tokens: 40 }],
  ];
  test.each(bounds)("by %s of %s is never changed, and refused where it is not covered: %o", async (...row) => {
    const [path, model, bound, passed] = row;
    const asked = answerAll();
    const body = { model, messages, ...bound };
    const needed = inputOf(body) + 40 * cost.output;
    expect((await say(await openAccount(gateway, { recharge: needed }), body, paths[path])).status).toBe(200);
    expect(asked).toMatchObject([passed]);

    const refused = await say(await openAccount(gateway, { recharge: needed - 1 }), body, paths[path]);
    expect(refused.status).toBe(402);
    expect(asked).toHaveLength(1);
    const { error } = JSON.parse(refused.text) as { error: { message: string } };
    expect(error.message).toMatch(
      /^This call needs at least 0\.\d+ JPY and 0\.\d+ JPY is left of the account's balance\. Recharge /,
    );
    expect(refused.headers["x-should-retry"]).toBe("false");
  });

  const unusual: readonly [path: string, model: string, asked: Json, passed: Json][] = [
    [paths.chat, "gpt", { messages, n_predict: 40 }, { n_predict: 40, max_completion_tokens: 40 }],
    [paths.chat, "llama", { messages, n_predict: 40 }, { n_predict: 40, max_tokens: 40 }],
    [paths.chat, "gpt-bounded", { messages, n_predict: 40 }, { n_predict: 40, max_completion_tokens: 40 }],
    ["/v1/completions", "davinci", { prompt: "Hi", n_predict: 40 }, { n_predict: 40, max_tokens: 40 }],
    [
      "/v1/completions",
      "davinci-bounded",
      { prompt: "Hi", max_completion_tokens: 40 },
      { max_completion_tokens: 40, max_tokens: 40 },
    ],
  ];
  test.each(unusual)("that only some servers obey is told to all: %s of %s, %o", async (path, model, body, passed) => {
    const asked = answerAll();
    expect((await say(await openAccount(gateway), { model, ...body }, path)).status).toBe(200);
    expect(asked).toMatchObject([passed]);
  });

  const zeros: readonly [path: string, model: string, asked: Json, passed: Json][] = [
    [paths.chat, "gpt", { messages, n_predict: 0 }, { n_predict: 1, max_completion_tokens: 1 }],
    [paths.chat, "llama", { messages, n_predict: 0 }, { n_predict: 1, max_tokens: 1 }],
    ["/v1/completions", "llama", { prompt: "Hi", max_tokens: 0 }, { max_tokens: 1 }],
    ["/v1/completions", "davinci", { prompt: "Hi", n_predict: 0 }, { n_predict: 1, max_tokens: 1 }],
    [paths.messages, "claude", { messages, max_tokens: 0 }, { max_tokens: 0 }],
  ];
  test.each(zeros)("of 0 is 1 where an API has no 0, which servers take for none: %s of %s, %o", async (...row) => {
    const [path, model, body, passed] = row;
    const asked = answerAll();
    expect((await say(await openAccount(gateway), { model, ...body }, path)).status).toBe(200);
    expect(asked).toMatchObject([passed]);
  });

  test("of 0 in a legacy completion is passed on, and what the model may write is held", async () => {
    const asked = answerAll();
    const body = { model: "davinci-bounded", prompt: "Hi", max_tokens: 0 };
    const needed = inputOf(body) + 4096 * cost.output;
    expect((await say(await openAccount(gateway, { recharge: needed - 1 }), body, "/v1/completions")).status).toBe(402);
    const payer = await openAccount(gateway, { recharge: needed });
    expect((await say(payer, body, "/v1/completions")).status).toBe(200);
    expect(asked).toMatchObject([{ max_tokens: 0 }]);
    expect(await books.of(payer)).toMatchObject({ held: 0, holds: 0 });
  });

  test("counts for each of the answers asked for", async () => {
    const asked = answerAll();
    const body = { model: "gpt", messages, max_tokens: 40, n: 3 };
    const needed = inputOf(body) + 3 * 40 * cost.output;
    expect((await say(await openAccount(gateway, { recharge: needed - 1 }), body)).status).toBe(402);
    expect((await say(await openAccount(gateway, { recharge: needed }), body)).status).toBe(200);
    expect(asked).toHaveLength(1);
  });
});

describe("what is reserved while a call runs", () => {
  test("is the most that it may cost, of the account and of the key", async () => {
    const payer = await openAccount(gateway);
    const body = { model: "gpt", messages, max_tokens: 50 };
    const answering = say(payer, body);
    const exchange = await upstream.next();
    const held = inputOf(body) + 50 * cost.output;
    expect(await books.of(payer)).toMatchObject({ held, keyHeld: held, holds: 1, balance: payer.begunWith, spent: 0 });
    answerAsOpenAi(exchange);
    await answering;
    expect(await books.of(payer)).toMatchObject({ held: 0, keyHeld: 0, holds: 0 });
  });

  test("covers what is put around each of many short prompts", async () => {
    const prompt = Array.from({ length: 50 }, () => "a");
    let held = 0;
    const payer = await openAccount(gateway);
    upstream.script = async (exchange) => {
      held ||= (await books.of(payer)).held;
      exchange.json(200, messageAnswer([{ type: "text", text: "b" }], "end_turn", { usage }));
    };
    // More than any vendor puts around one letter.
    const usage = { input_tokens: 60, output_tokens: 1 };
    const answer = await say(payer, { model: "claude", prompt, max_tokens: 1 }, "/v1/completions");
    expect(answer.status).toBe(200);
    expect(await books.of(payer)).toMatchObject({ spent: 50 * (60 * cost.input + cost.output), held: 0 });
    expect(held).toBeGreaterThanOrEqual(50 * (60 * cost.input + cost.output));
  });

  const payers: readonly [string, AccountInit][] = [
    ["of a prepaid account", { recharge: 100_000 }],
    ["with ample credit", { recharge: 1_000_000_000 }],
    ["of an account that is billed afterwards", { postpaid: true, recharge: 0 }],
    ["of a key with a limit", { recharge: 1_000_000, creditLimit: 100_000 }],
    ["of a key with a limit, billed afterwards", { postpaid: true, creditLimit: 100_000 }],
  ];
  const warnings = (id: string) => {
    const lines = gateway.logged().trim().split("\n");
    return lines.filter((text) => text.includes(id) && text.includes('"level":40')).map((line) => JSON.parse(line));
  };

  test.each(payers)("is exceeded by no charge, whatever the model reasons beyond its bound: %s", async (_, init) => {
    const output = 1_000_000;
    const details = { completion_tokens_details: { reasoning_tokens: output - 1 } };
    const usage = { prompt_tokens: 1, completion_tokens: output, total_tokens: output + 1, ...details };
    upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: "Hi" }, "stop", { usage }));
    const payer = await openAccount(gateway, init);
    const body = { model: "gpt", messages, max_tokens: 5 };
    const answer = await say(payer, body);
    const held = inputOf(body) + 5 * cost.output;
    expect([answer.status, answer.headers["x-gateway-cost"]]).toEqual([200, formatDecimal(held)]);
    const standing = await books.of(payer);
    expect(standing).toMatchObject({ balance: payer.begunWith - held, spent: held, held: 0, keyHeld: 0 });
    const waived = cost.input + output * cost.output - held;
    expect(standing.requests).toMatchObject([{ cost: held, waived, input: 1, output, estimated: 0, implausible: 0 }]);
    expect(standing.hours).toMatchObject([{ cost: held, waived, output }]);
    const id = standing.requests[0]?.id as string;
    expect(warnings(id)).toMatchObject([{ model: "gpt", waived_millionths: waived }]);
  });

  const absurd: readonly [string, unknown][] = [
    ["a million tokens where five were allowed", 1_000_000],
    ["9e15 tokens", 9_000_000_000_000_000],
    ["2 ** 53 − 2 tokens", 2 ** 53 - 2],
    ["1e300 tokens", 1e300],
    ["−1 tokens", -1],
    ["half a token", 2.5],
    ["a count in words", "7"],
  ];
  for (const [payerName, init] of payers) {
    test.each(absurd)(`holds no output that cannot be true, ${payerName}: %s`, async (_, told) => {
      const usage = { prompt_tokens: 1, completion_tokens: told };
      upstream.script = (exchange) => exchange.json(200, chatAnswer({ content: "Hi" }, "stop", { usage }));
      const payer = await openAccount(gateway, init);
      await say(payer, { model: "gpt", messages, max_tokens: 5 });
      const standing = await books.of(payer);
      const charged = cost.input + cost.output;
      expect(standing).toMatchObject({ balance: payer.begunWith - charged, spent: charged, held: 0, keyHeld: 0 });
      const row = { cost: charged, waived: 0, input: 1, output: 1, estimated: 1, implausible: 1 };
      expect(standing.requests).toMatchObject([row]);
      expect(warnings(standing.requests[0]?.id as string)).toMatchObject([
        { model: "gpt", upstream: "openai", msg: expect.stringContaining("cannot be true") },
      ]);
    });
  }
});

describe("prices", () => {
  test("of nothing need no credit", async () => {
    answerAll();
    const payer = await openAccount(gateway, { recharge: 0 });
    expect((await say(payer, { model: "gpt-free", messages })).status).toBe(200);
    const standing = await books.of(payer);
    expect(standing.requests).toMatchObject([{ outcome: Outcome.ANSWERED, input: 9, output: 2, cost: 0 }]);
    expect(standing).toMatchObject({ balance: 0, spent: 0 });
  });

  const standings: readonly [string, AccountInit, number][] = [
    ["refused to a prepaid account", { recharge: 1_000_000 }, 403],
    ["refused to a key with a limit, though its account is billed afterwards", { postpaid: true, creditLimit: 1 }, 403],
    ["allowed to an account that is billed afterwards", { postpaid: true, recharge: 0 }, 200],
  ];
  test.each(standings)("that are not known: the model is %s", async (_, init, status) => {
    const asked = answerAll();
    const payer = await openAccount(gateway, init);
    const answer = await say(payer, { model: "gpt-unpriced", messages });
    expect(answer.status).toBe(status);
    expect(asked).toHaveLength(status === 200 ? 1 : 0);
    const { requests, holds } = await books.of(payer);
    expect(holds).toBe(0);
    expect(requests).toMatchObject(status === 200 ? [{ cost: 0, input: 9, output: 2 }] : []);
  });

  test("so high that no call can be held for are refused before anything is sent, and say so", async () => {
    const asked = answerAll();
    const payer = await openAccount(gateway, { postpaid: true, recharge: 0 });
    const answer = await say(payer, { model: "gpt-gold", messages, max_tokens: 4e9 });
    expect([answer.status, answer.text]).toEqual([
      402,
      expect.stringContaining("no call can be held more than 3000000000.00 JPY for"),
    ]);
    expect(asked).toHaveLength(0);
    expect(await books.of(payer)).toMatchObject({ balance: 0, held: 0, requests: [] });
  });

  test("are owed by an account that is billed afterwards, below zero", async () => {
    answerAll();
    const payer = await openAccount(gateway, { postpaid: true, recharge: 0 });
    expect((await say(payer, { model: "gpt", messages })).status).toBe(200);
    expect(await books.of(payer)).toMatchObject({ balance: -(9 * cost.input + 2 * cost.output), held: 0 });
  });
});

describe("a key, or an account, that was stopped", () => {
  const stops: readonly [string, number, (payer: Payer) => Promise<unknown>][] = [
    [
      "its account is suspended",
      403,
      ({ accountId }) => gateway.storage.accounts.update(accountId, { suspended_at: now }),
    ],
    ["is disabled", 401, ({ accountId, keyId }) => gateway.storage.keys.update(accountId, keyId, { disabled: 1 })],
    ["has expired", 401, ({ accountId, keyId }) => gateway.storage.keys.update(accountId, keyId, { expires_at: now })],
    ["is revoked", 401, ({ keyId }) => gateway.storage.keys.revoke(keyId, now)],
  ];
  for (const [what, status, stop] of stops) {
    test(`is refused from the next request on when it ${what}, through both families`, async () => {
      const asked = answerAll();
      const payer = await openAccount(gateway);
      expect((await say(payer, { model: "gpt", messages })).status).toBe(200);
      await stop(payer);
      expect((await say(payer, { model: "gpt", messages })).status).toBe(status);
      expect((await say(payer, { model: "claude", messages, max_tokens: 1 }, paths.messages)).status).toBe(status);
      expect(asked).toHaveLength(1);
    });

    test(`finishes what runs when it ${what}, and pays for it`, async () => {
      const payer = await openAccount(gateway);
      const hearing = hear(gateway, {
        path: paths.chat,
        apiKey: payer.apiKey,
        body: { model: "gpt", messages, stream: true },
      });
      const exchange = await upstream.next();
      exchange.head(200, eventStream);
      await exchange.write(openaiFrames(chatChunk({ content: "Hi" })));
      await hearing.begun;
      await stop(payer);
      const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 };
      exchange.end(openaiFrames(chatChunk({}, "stop"), { ...chatChunk({}), choices: [], usage }) + done);
      expect((await hearing.answer).text).toContain("[DONE]");
      expect(await books.of(payer)).toMatchObject({ spent: 9 * cost.input + 2 * cost.output, held: 0, keyHeld: 0 });
    });
  }
});

test("a key that is revoked after the admission of its call is refused as such, and for nothing else", async () => {
  const asked = answerAll();
  const { keys } = gateway.storage;
  const find = keys.findBySecretHash;
  const thread = { type: "continue", previous_message_id: "msg_1" };
  for (const [body, path] of [
    [{ model: "gpt", messages }, paths.chat],
    [{ model: "claude", messages, max_tokens: 1, thread }, paths.messages],
  ] as const) {
    const payer = await openAccount(gateway);
    const finding = vi.spyOn(keys, "findBySecretHash").mockImplementationOnce(async (...of) => {
      const found = await find(...of);
      await keys.revoke(payer.keyId, now);
      return found;
    });
    const { status, text } = await say(payer, body, path);
    expect(finding).toHaveBeenCalled();
    expect([status, text]).toEqual([401, expect.stringContaining("has been revoked")]);
  }
  expect(asked).toEqual([]);
});

describe("a gateway that stops", () => {
  test("charges what it breaks off, and leaves no hold", async () => {
    const stopping = await startTestGateway({ ...paidModels(upstream.baseUrl), drainMs: 50 });
    const payer = await openAccount(stopping);
    const hearing = hear(stopping, {
      path: paths.chat,
      apiKey: payer.apiKey,
      body: { model: "gpt", messages, stream: true },
    });
    const exchange = await upstream.next();
    exchange.head(200, eventStream);
    // So much that counting it takes its time.
    const content = Array.from({ length: 30_000 }, (_, i) => i).join(" ");
    await exchange.write(openaiFrames(chatChunk({ content })));
    await hearing.begun;
    let standing: Standing | undefined;
    const after = openBooks(stopping.database, stopping.storage);
    await stopping.close("running", async () => {
      standing = await after.of(payer);
    });
    expect(standing).toMatchObject({ holds: 0, held: 0, requests: [{ outcome: Outcome.LEFT, estimated: 1 }] });
    expect(standing?.spent).toBeGreaterThan(0);
    await eventually(() => expect(upstream.openRequests).toBe(0));
  });
});
