/**
 * Long requests are read and written in turns, and partly without their long strings. No server can tell: it gets
 * what it gets for the same request with short strings, except for those.
 */
import { describe, expect, test } from "vitest";
import { scriptedStage } from "../../support/upstreams/scripted-stage.ts";
import { servedBy } from "../../support/upstreams/strict-gateway.ts";
import { strictServers } from "../../support/upstreams/strict-servers.ts";
import { answerAsAnthropic, answerAsOpenAi } from "../../support/vendors.ts";

type Texts = (place: number) => string;
type Body = Readonly<Record<string, unknown>>;

const parameters = { type: "object", properties: { city: { type: "string" } } };

/** Has texts in all places that profiles and translations change. */
const requests: Readonly<Record<string, (text: Texts) => Body>> = {
  "/chat/completions": (text) => ({
    max_tokens: 100,
    reasoning_effort: "xhigh",
    user: "u",
    messages: [
      { role: "system", content: text(0) },
      { role: "user", content: text(1), name: "n" },
      { role: "developer", content: [{ type: "text", text: text(2) }] },
      { role: "user", content: [{ type: "text", text: text(3) }] },
      {
        role: "assistant",
        content: [{ type: "text", text: text(4) }],
        reasoning_content: text(5),
        tool_calls: [{ id: "c1", type: "function", function: { name: "weather", arguments: '{"city":"Bonn"}' } }],
      },
      { role: "tool", tool_call_id: "c1", content: [{ type: "text", text: text(6) }] },
      { role: "assistant", content: null, reasoning: text(7) },
      { role: "user", content: "Go on." },
    ],
    tools: [{ type: "function", function: { name: "weather", description: text(8), parameters } }],
    thinking: { note: text(9) },
    stream_options: { note: text(10) },
    response_format: {
      type: "json_schema",
      json_schema: { name: "a", schema: { ...parameters, description: text(11) } },
    },
  }),
  "/messages": (text) => ({
    max_tokens: 100,
    system: [{ type: "text", text: text(0) }],
    output_config: { effort: "xhigh" },
    messages: [
      { role: "user", content: text(1) },
      { role: "system", content: text(2) },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: text(3), signature: "" },
          { type: "text", text: text(4) },
        ],
      },
      { role: "user", content: [{ type: "text", text: text(5) }] },
    ],
    tools: [{ name: "weather", description: text(6), input_schema: parameters }],
  }),
  "/responses": (text) => ({
    store: false,
    max_output_tokens: 20_000,
    instructions: text(0),
    reasoning: { effort: "minimal" },
    input: [
      { role: "user", content: text(1) },
      { role: "developer", content: [{ type: "input_text", text: text(2) }] },
      { type: "reasoning", summary: [{ type: "summary_text", text: text(3) }] },
      { role: "assistant", content: [{ type: "output_text", text: text(4) }] },
      { role: "user", content: text(5) },
    ],
    tools: [{ type: "function", name: "weather", description: text(6), parameters, strict: false }],
  }),
  "/completions": (text) => ({ prompt: text(0), suffix: text(1), max_tokens: 16, stop: ["END"] }),
};

const short: Texts = (place) => `a text (${place})`;
/** Longer than what an outline keeps; the three kinds are read in different ways. */
const long: Texts = (place) => short(place) + ["plain ", "wide é ", 'escaped " '][place % 3]?.repeat(8_000);

/** escaped returns a text as it stands in JSON, without quotes. */
function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

const servers = [
  ...strictServers.map(({ vendor, model }) => ({ vendor, model, kind: "openai" as const })),
  { vendor: "anthropic", model: "claude-opus-4-5", kind: "anthropic" as const },
];

describe.each(servers)("$model at $vendor", ({ vendor, model, kind }) => {
  let asked: Body[] = [];
  const { gateway } = scriptedStage(servedBy({ vendor, model, kind }), {
    script: (exchange) => {
      asked.push(exchange.asked as Body);
      if (kind === "openai") answerAsOpenAi(exchange);
      else answerAsAnthropic(exchange);
    },
  });

  /** Returns the upstream's request, or the caller's answer where there is none. */
  const send = async (path: string, body: Body): Promise<unknown> => {
    asked = [];
    const answer = await fetch(`${gateway.baseUrl}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "m", ...body }),
    });
    const told = await answer.text();
    return asked[0] ?? [answer.status, told.replaceAll(/req_\w+/g, "")];
  };

  const ways = Object.keys(requests).flatMap((path) => [false, true].map((stream) => ({ path, stream })));

  test.each(ways)("$path, stream: $stream", async ({ path, stream }) => {
    const of = (text: Texts) => ({ ...requests[path]?.(text), stream });
    const expected = JSON.stringify(await send(path, of(short)));
    const said = JSON.stringify(await send(path, of(long)));
    const places = Array.from({ length: 12 }, (_, place) => place);
    // A schema that is told to the model is JSON in a text, so that its texts are escaped twice.
    const inTexts = places.reduce((text, i) => text.replaceAll(escaped(escaped(long(i))), short(i)), said);
    const shortened = places.reduce((text, i) => text.replaceAll(escaped(long(i)), short(i)), inTexts);
    expect(JSON.parse(shortened)).toEqual(JSON.parse(expected));
    expect(asked).toHaveLength(1);
  });
});
