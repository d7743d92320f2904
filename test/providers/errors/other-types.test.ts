/**
 * An answer of which any one member has another type than its API's: its caller reads the texts of the rest, or an error. None of them is
 * an error of the gateway's own, none has words of the gateway's making, and what clients take for a text is one.
 */
import { describe, expect, test } from "vitest";
import { eventsIn } from "../../support/ask.ts";
import { call, families as told } from "../../support/clients/families.ts";
import { eventStream, type ScriptedExchange } from "../../support/scripted-upstream.ts";
import { paidModel } from "../../support/upstreams/paid-models.ts";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import {
  anthropicFrames,
  blockEvents,
  chatAnswer,
  chatChunk,
  messageAnswer,
  messageEnd,
  messageStart,
  outputMessage,
  responseAnswer,
} from "../../support/vendors.ts";

// biome-ignore lint/suspicious/noExplicitAny: any member may be anything here.
type Any = any;
type Path = readonly (string | number)[];
type Family = "chat" | "messages" | "responses";

const families = ["chat", "messages", "responses"] as const;

const { upstream, gateway } = scriptedStage((base_url) => {
  const operations = { chat: "/chat/completions", responses: "/responses" };
  return {
    embeddedModels: false,
    upstreams: [
      { name: "chat", kind: "openai", base_url },
      { name: "messages", kind: "anthropic", base_url },
      { name: "responses", kind: "openai", base_url, profile: { operations, responses: "always" } },
    ],
    models: families.map((name) => paidModel(name, name)),
  };
});

const called = { id: "call_1", type: "function", function: { name: "look", arguments: '{"a":"b"}' } };
const used = { type: "tool_use", id: "toolu_1", name: "look", input: { a: "b" } };
const thought = { type: "thinking", thinking: "Hm.", signature: "s" };
const item = { id: "fc_1", type: "function_call", call_id: "call_1", name: "look", arguments: '{"a":"b"}' };
const reasoning = { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] };

const wholes: Readonly<Record<Family, Any>> = {
  chat: chatAnswer(
    { content: "Hello", reasoning_content: "Hm.", refusal: null, tool_calls: [called, { ...called, id: "call_2" }] },
    "tool_calls",
  ),
  messages: messageAnswer([thought, { type: "text", text: "Hello" }, used], "tool_use"),
  responses: responseAnswer([reasoning, outputMessage("Hello"), item]),
};
const streams: Readonly<Record<"chat" | "messages", Any>> = {
  chat: [
    chatChunk({ role: "assistant", reasoning_content: "Hm." }),
    chatChunk({ content: "Hel" }),
    chatChunk({ content: "lo" }),
    chatChunk({ tool_calls: [{ index: 0, ...called }] }),
    chatChunk({}, "tool_calls"),
  ],
  messages: [
    messageStart(),
    ...blockEvents(
      0,
      { type: "text", text: "" },
      { type: "text_delta", text: "Hel" },
      { type: "text_delta", text: "lo" },
    ),
    ...blockEvents(1, { ...used, input: {} }, { type: "input_json_delta", partial_json: '{"a":"b"}' }),
    ...messageEnd("tool_use"),
  ],
};

const odd: readonly Any[] = [null, 7, false, "", [], {}, [null], { toString: 1 }];

function pathsIn(value: Any, path: Path = []): Path[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((key) => {
    const inner = [...path, Array.isArray(value) ? Number(key) : key];
    return [inner, ...pathsIn(value[key], inner)];
  });
}

const parameters = { type: "object", properties: {} };
const tools: Readonly<Record<Family, object>> = {
  chat: { type: "function", function: { name: "look", parameters } },
  messages: { name: "look", input_schema: parameters },
  responses: { type: "function", name: "look", parameters },
};

const typeOf = (value: Any) => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value);

/** othersAt returns the values of other types than the one at a path. */
function othersAt(value: Any, path: Path): Any[] {
  const own = typeOf(path.reduce((inner, key) => inner[key], value));
  return odd.filter((one) => typeOf(one) !== own);
}

/** changed returns a copy in which another value stands at a path; without one, nothing does. */
function changed(value: Any, path: Path, ...[other]: readonly Any[]): Any {
  const copy = structuredClone(value);
  const at = path.slice(0, -1).reduce((inner, key) => inner[key], copy);
  const last = path.at(-1) as number;
  if (other !== undefined) at[last] = other;
  else if (Array.isArray(at)) at.splice(last, 1);
  else delete at[last];
  return copy;
}

/** textsIn returns the words and the thoughts of a whole answer. Throws where a client would. */
function textsIn(family: Family, answer: Any): string {
  const texts: Any[] = [];
  const calls: Any[] = [];
  if (family === "chat") {
    const { content, reasoning_content, refusal, tool_calls } = answer.choices[0].message;
    texts.push(content ?? "", reasoning_content ?? "", refusal ?? "");
    for (const call of tool_calls ?? []) calls.push(call.function.name, call.function.arguments);
  } else if (family === "messages") {
    texts.push(
      ...answer.content.map((block: Any) => (block.type === "thinking" ? block.thinking : (block.text ?? ""))),
    );
    for (const block of answer.content) if (block.type === "tool_use") calls.push(block.name, typeof block.id);
  } else {
    for (const { type, content, summary, name, arguments: input } of answer.output) {
      if (type === "message" || type === "reasoning")
        texts.push(...[...(content ?? []), ...(summary ?? [])].map(({ text }) => text));
      else if (type === "function_call") calls.push(name, input);
    }
  }
  for (const text of [...texts, ...calls]) expect(text).toBeTypeOf("string");
  return texts.join("");
}

/** saidIn returns the words of a stream; undefined where it was broken off. */
function saidIn(family: "chat" | "messages", text: string): string | undefined {
  if (!text.includes(told[family].end)) return undefined;
  const said = eventsIn(text).flatMap(({ choices = [], type, delta }) => {
    if (family === "messages") return type === "content_block_delta" ? [delta.text ?? ""] : [];
    return choices.flatMap(({ delta }: Any) => [delta.content ?? "", delta.reasoning_content ?? ""]);
  });
  for (const piece of said) expect(piece).toBeTypeOf("string");
  return said.join("");
}

/**
 * expectKept has all answers of one changed member asked for at the same time: what is asked says which. `textOf` returns what its caller
 * reads; undefined where that is no whole answer.
 */
async function expectKept(
  { sound, paths }: { readonly sound: Any; readonly paths: readonly Path[] },
  { family, model, stream }: { readonly family: Family; readonly model: Family; readonly stream: boolean },
  textOf: (heard: Awaited<ReturnType<typeof call>>) => string | undefined,
): Promise<void> {
  const changes = paths.flatMap((path) => [undefined, ...othersAt(sound, path)].map((other) => ({ path, other })));
  const answers = [sound, ...changes.map(({ path, other }) => changed(sound, path, other))];
  upstream.script = (exchange) => answer(exchange, answers[Number(/case (\d+)/.exec(exchange.body.toString())?.[1])]);
  const texts = await Promise.all(
    answers.map(async (_, i) => {
      const asked =
        family === "responses" ? { input: `case ${i}` } : { messages: [{ role: "user", content: `case ${i}` }] };
      const heard = await call(gateway, {
        family,
        model,
        stream,
        apiKey: gateway.apiKey,
        more: { ...asked, tools: [tools[family]] },
      });
      expect([200, 502]).toContain(heard.status);
      expect(heard.text).not.toMatch(/\[object |undefined|NaN|The gateway had an error/);
      return textOf(heard);
    }),
  );
  let without: string | undefined;
  for (const [i, { path, other }] of changes.entries()) {
    const text = texts[i + 1];
    if (other === undefined) without = text;
    // A value that a server has parsed of a text is that text.
    const written = other === undefined ? "" : JSON.stringify(other);
    const kept = [texts[0], without, undefined];
    expect(
      [text, text?.replace(written, "")].some((one) => kept.includes(one)),
      `${path.join(".")} = ${written}: ${text}`,
    ).toBe(true);
  }
}

/** answer sends a whole answer, or the events of one. */
function answer(exchange: ScriptedExchange, told: Any): void {
  if (!Array.isArray(told)) exchange.json(200, told);
  else if (exchange.path.endsWith("/completions")) exchange.stream(...told);
  else {
    exchange.head(200, eventStream);
    exchange.end(anthropicFrames(...told));
  }
}

describe.each(families)("of a server of %s", (source) => {
  const sound = wholes[source];
  const paths = pathsIn(sound).filter(([first]) => ["choices", "content", "output"].includes(`${first}`));

  test.each(families)("a whole answer keeps its other texts for callers of %s", async (family) => {
    await expectKept({ sound, paths }, { family, model: source, stream: false }, ({ status, text }) =>
      status === 200 ? textsIn(family, JSON.parse(text)) : undefined,
    );
  });
});

test.each(["chat", "messages"] as const)("a stream of a server of %s keeps its other texts", async (family) => {
  const sound = streams[family];
  const paths = pathsIn(sound).filter((path) => path.includes("delta") || path.at(-1) === "index");
  await expectKept({ sound, paths }, { family, model: family, stream: true }, ({ text }) => saidIn(family, text));
});
