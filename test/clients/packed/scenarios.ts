/**
 * What a program of an internal team does with the packed client: each scenario makes calls and returns what it saw, as JSON.
 * It is compiled against the package alone, and runs in Node and in a browser.
 */
import {
  type CallOptions,
  Code,
  ConnectError,
  createClient,
  type GatewayOptions,
  type JsonValue,
  type MessageInitShape,
  Reason,
  refusalOf,
  type Transport,
} from "@model-gateway/client";
import { AccountService } from "@model-gateway/client/accounts";
import { type CreateChatCompletionRequestSchema, InferenceService, Role } from "@model-gateway/client/inference";
import { KeyService } from "@model-gateway/client/keys";
import { OperatorService } from "@model-gateway/client/operator";
import { SessionService } from "@model-gateway/client/sessions";
import { UsageService } from "@model-gateway/client/usage";

export interface Target {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly operatorKey: string;
}

/** Makes the transport under test. */
export type Connect = (options: GatewayOptions) => Transport;

type Request = MessageInitShape<typeof CreateChatCompletionRequestSchema>;

function asking(text: string, model = "embedded-chat", metadata: Record<string, string> = {}): Request {
  return { model, messages: [{ role: Role.USER, content: { case: "text", value: text } }], metadata };
}

/** A client of the models that counts its attempts: the key is asked for at each. */
function counting(connect: Connect, { baseUrl, apiKey }: Target, options: Partial<GatewayOptions> = {}) {
  let attempts = 0;
  const key = async () => {
    attempts++;
    return apiKey;
  };
  const transport = connect({ baseUrl, apiKey: key, retries: { baseMs: 1 }, ...options });
  return { client: createClient(InferenceService, transport), attempts: () => attempts };
}

/** What went wrong, as JSON. */
function told(error: unknown) {
  const refusal = refusalOf(error);
  const code = error instanceof ConnectError ? Code[error.code] : String(error);
  if (!refusal) return { code };
  const { name, status, param, retryAfterMs, isFinal } = refusal;
  const hasId = refusal.requestId.startsWith("req_");
  return {
    code,
    reason: name,
    isReason: Reason.INVALID_VALUE === refusal.reason,
    status,
    param,
    retryAfterMs: retryAfterMs ?? null,
    isFinal,
    hasId,
  };
}

const caught = (work: Promise<unknown>) => work.then(() => "no error", told);

async function textOf(stream: AsyncIterable<{ choices: { delta?: { content?: string | undefined } | undefined }[] }>) {
  let text = "";
  try {
    for await (const { choices } of stream) text += choices[0]?.delta?.content ?? "";
    return { text };
  } catch (error) {
    return { text, error: told(error) };
  }
}

type Scenario = (connect: Connect, target: Target) => Promise<JsonValue>;

export const scenarios = {
  async unary(connect, target) {
    const { client } = counting(connect, target);
    let cost = "";
    const onHeader = (headers: Headers) => {
      cost = headers.get("x-gateway-cost") ?? "";
    };
    const { choices } = await client.createChatCompletion(asking("say: hello"), { onHeader });
    return { content: choices[0]?.message?.content ?? "", cost };
  },

  async streaming(connect, target) {
    const { client } = counting(connect, target);
    let cost = "";
    const onTrailer = (trailers: Headers) => {
      cost = trailers.get("x-gateway-cost") ?? "";
    };
    return { ...(await textOf(client.streamChatCompletion(asking("say: one two three"), { onTrailer }))), cost };
  },

  /** Sends sixteen requests of a megabyte at once. */
  async longRequests(connect, target) {
    const { client } = counting(connect, target, { retries: { attempts: 1 } });
    const long = asking(`say: hello. ${"word ".repeat(200_000)}`);
    const answers = Array.from({ length: 16 }, () => caught(client.createChatCompletion(long)));
    return [...new Set((await Promise.all(answers)).map((outcome) => JSON.stringify(outcome)))];
  },

  async everyService(connect, target) {
    const { baseUrl, apiKey, operatorKey } = target;
    const transport = connect({ baseUrl, apiKey });
    const asOperator = connect({ baseUrl, apiKey: operatorKey });
    const { data } = await createClient(InferenceService, transport).listModels({});
    const { key } = await createClient(KeyService, transport).describeKey({});
    const { account } = await createClient(AccountService, transport).getAccount({});
    const { requests } = await createClient(UsageService, transport).listRequests({});
    const { accounts } = await createClient(OperatorService, asOperator).listAccounts({});
    const session = await caught(createClient(SessionService, transport).listSessions({}));
    const lists = [data, requests, accounts].map((list) => Array.isArray(list));
    return { models: data.map(({ id }) => id), lists, account: account?.name ?? "", key: key?.name ?? "", session };
  },

  /** Leaves a stream by `break`. */
  async leaving(connect, target) {
    const { client } = counting(connect, target);
    const endless = asking(`say: ${"tick ".repeat(1000)}`, "embedded-chat", { simulate_token_delay_ms: "200" });
    for await (const { choices } of client.streamChatCompletion(endless)) if (choices[0]?.delta?.content) break;
    return "left";
  },

  async cancelling(connect, target) {
    const { client, attempts } = counting(connect, target);
    const cancel = new AbortController();
    const endless = asking(`say: ${"tick ".repeat(1000)}`, "embedded-chat", { simulate_token_delay_ms: "200" });
    const stream = (async () => {
      const { signal } = cancel;
      for await (const { choices } of client.streamChatCompletion(endless, { signal })) {
        if (choices[0]?.delta?.content) cancel.abort();
      }
    })();
    const streamed = await caught(stream);
    const silent = asking("hi", "embedded-chat", { simulate_silence: "true" });
    // By then the call is with the gateway, also on a machine that does other things too.
    const whole = await caught(client.createChatCompletion(silent, { signal: AbortSignal.timeout(1_000) }));
    return [streamed, whole, attempts()];
  },

  async deadline(connect, target) {
    const { client, attempts } = counting(connect, target, { timeoutMs: 300 });
    const silent = asking("hi", "embedded-chat", { simulate_silence: "true" });
    const slow = asking("say: a b c", "embedded-chat", { simulate_delay_ms: "500" });
    return [
      await caught(client.createChatCompletion(silent)),
      await caught(client.createChatCompletion(silent, { timeoutMs: 200 })),
      (await textOf(client.streamChatCompletion(silent))).error ?? null,
      await textOf(client.streamChatCompletion(slow, { timeoutMs: 30_000 })),
      attempts(),
    ];
  },

  async refusals(connect, target) {
    const { client, attempts } = counting(connect, target);
    const wrong = counting(connect, { ...target, apiKey: "sk-wrong" });
    return [
      await caught(client.createChatCompletion({ ...asking("hi"), temperature: 9 })),
      (await textOf(client.streamChatCompletion({ ...asking("hi"), temperature: 9 }))).error ?? null,
      await caught(client.createChatCompletion(asking("hi", "no-model"))),
      await caught(wrong.client.listModels({})),
      attempts(),
    ];
  },

  /** The upstream refuses once with 429 and `Retry-After: 1`, then answers. */
  async retrying(connect, target) {
    const { client, attempts } = counting(connect, target);
    const begun = Date.now();
    const { choices } = await client.createChatCompletion(asking("hi", "odd-chat"));
    return { content: choices[0]?.message?.content ?? "", attempts: attempts(), ms: Date.now() - begun };
  },

  /** The upstream fails once, then streams. */
  async retryingStream(connect, target) {
    const { client, attempts } = counting(connect, target);
    return { ...(await textOf(client.streamChatCompletion(asking("hi", "odd-chat")))), attempts: attempts() };
  },

  /** The upstream fails each time. */
  async givingUp(connect, target) {
    const all = counting(connect, target, { retries: { attempts: 2, baseMs: 1 } });
    const single = counting(connect, target);
    return [
      await caught(all.client.createChatCompletion(asking("hi", "odd-chat"))),
      all.attempts(),
      await caught(single.client.createChatCompletion(asking("hi", "odd-chat"), { attempts: 1 })),
      single.attempts(),
    ];
  },

  /** The upstream asks to wait for longer than the deadline. */
  async tooLate(connect, target) {
    const { client, attempts } = counting(connect, target, { timeoutMs: 20_000 });
    const begun = Date.now();
    const error = await caught(client.createChatCompletion(asking("hi", "odd-chat")));
    return { error, attempts: attempts(), isSoon: Date.now() - begun < 10_000 };
  },

  /** The stream breaks after its first content. */
  async broken(connect, target) {
    const { client, attempts } = counting(connect, target);
    return { ...(await textOf(client.streamChatCompletion(asking("hi", "odd-chat")))), attempts: attempts() };
  },

  /** The connection breaks while the answer is on its way. */
  async unsure(connect, target) {
    const { client, attempts } = counting(connect, target);
    return { error: await caught(client.createChatCompletion(asking("hi", "odd-chat"))), attempts: attempts() };
  },

  async unsureWithKey(connect, target) {
    const { client, attempts } = counting(connect, target);
    return repeated(client, attempts, { idempotencyKey: crypto.randomUUID() });
  },

  async unsureWithOwnKeys(connect, target) {
    const { client, attempts } = counting(connect, target, { idempotencyKeys: true });
    return repeated(client, attempts, {});
  },

  /** Nothing listens at the address. */
  async unreachable(connect, target) {
    const { client, attempts } = counting(connect, target);
    const error = await caught(client.createChatCompletion(asking("hi")));
    const charged = attempts();
    await caught(client.listModels({}));
    return { isRefusal: typeof error === "object" && "reason" in error, charged, free: attempts() - charged };
  },

  /** The server refuses streams of HTTP/2 unseen. */
  async unseen(connect, target) {
    const { client, attempts } = counting(connect, target);
    const error = await caught(client.createChatCompletion(asking("hi")));
    return { error, attempts: attempts() };
  },

  /** The key does not come, or comes too late, or the upstream asks to wait: the call ends by its deadline and its signal. */
  async waiting(connect, target) {
    const never = () => new Promise<string>(() => {});
    const { client } = counting(connect, target, { apiKey: never });
    const { client: patient } = counting(connect, target);
    const begun = Date.now();
    const withoutKey = [
      await caught(client.listModels({}, { timeoutMs: 100 })),
      await caught(client.listModels({}, { signal: AbortSignal.timeout(100) })),
      (await textOf(client.streamChatCompletion(asking("hi"), { timeoutMs: 100 }))).error ?? null,
    ];
    const signal = AbortSignal.timeout(1_500);
    const whilePausing = await caught(patient.createChatCompletion(asking("hi", "odd-chat"), { signal }));
    return [...withoutKey, whilePausing, Date.now() - begun < 30_000];
  },

  async misconfigured(connect, { baseUrl }) {
    const messages: string[] = [];
    const secret = "sk-secret\nanother";
    for (const options of [
      { baseUrl: `${baseUrl}/v1/` },
      { baseUrl, apiKey: "" },
      { baseUrl, apiKey: secret },
      { baseUrl, apiKey: () => secret },
      { baseUrl, headers: { "x-api-key": secret } },
      { baseUrl, timeoutMs: Number.NaN },
      { baseUrl, retries: { attempts: Number.NaN } },
    ]) {
      try {
        await createClient(InferenceService, connect(options)).listModels({});
      } catch (error) {
        messages.push(String(error));
      }
    }
    return messages;
  },
} satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof scenarios;

async function repeated(client: ReturnType<typeof counting>["client"], attempts: () => number, options: CallOptions) {
  let replayed = "";
  const onHeader = (headers: Headers) => {
    replayed = headers.get("x-gateway-replayed") ?? "";
  };
  const { choices } = await client.createChatCompletion(asking("hi", "odd-chat"), { ...options, onHeader });
  return { content: choices[0]?.message?.content ?? "", replayed, attempts: attempts() };
}
