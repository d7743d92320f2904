/**
 * What `npm run test:agents` is made of, without the agents, which are a download: its model, its MCP server, and that docs/clients.md
 * shows what it uses.
 */
import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import { agents } from "../agents/agents.ts";
import { pagePath, partOf, settings } from "../agents/clients-page.ts";
import { type Asked, play, type Turn } from "../agents/model/plan.ts";
import { startModelServer, upstreamNames } from "../agents/model/server.ts";
import { root, temporaryFolder } from "../support/command.ts";

describe("docs/clients.md", async () => {
  const page = await readFile(pagePath, "utf8");

  test("shows the settings that the agents are tried with", () => {
    expect(partOf(page, "settings")).toBe(settings());
  });

  test("tells of each agent over each upstream, in the version that is tried", () => {
    const table = partOf(page, "table");
    for (const { package: name, version, title } of agents) {
      for (const upstream of upstreamNames)
        expect(table).toContain(`| ${title} (\`${name}\` ${version}) | ${upstream} |`);
    }
  });
});

const turn = (role: Turn["role"], text: string, images = 0): Turn => ({ role, text, images });
const shell = {
  name: "Bash",
  schema: { type: "object", properties: { command: { type: "string" } }, required: ["command"] },
};
const asked = (...turns: readonly Turn[]): Asked => ({ turns, tools: [shell] });

describe("the model plays the plan", () => {
  test("of the last prompt, in the tool's own words", () => {
    const { call } = play(
      asked(turn("user", "(plan: hi)"), turn("assistant", "Hi"), turn("user", "Now. (plan: tool)")),
    );
    expect(call).toEqual({ tool: shell, arguments: { command: expect.stringContaining("made.txt") } });
  });

  test("on from a tool's result", () => {
    const called = [turn("user", "(plan: tool)"), turn("assistant", ""), turn("tool", "made-here")];
    expect(play(asked(...called))).toMatchObject({ text: "The tool said: made-here" });
  });

  test("in its text for an agent without tools", () => {
    const { call, text } = play({ turns: [turn("user", "(plan: tool)")], tools: [] });
    expect([call, text]).toEqual([undefined, "made.txt\n```\nmade-here\n```"]);
  });

  test("and knows only what it is sent", () => {
    const last = turn("user", "What was it? (plan: recall)");
    expect(play(asked(turn("user", "word-pear (plan: hi)"), last)).text).toBe("I remember word-pear.");
    expect(play(asked(last)).text).toBe("I remember nothing.");
  });

  test("unless a summary is asked for", () => {
    const turns = [turn("user", "word-pear (plan: hi)"), turn("user", "Write a summary of the conversation.")];
    expect(play(asked(...turns))).toMatchObject({ plan: "side", text: expect.stringContaining("word-pear") });
    const around = turn("user", "Summarize this: word-pear (plan: hi)");
    expect(play({ turns: [around], tools: [] })).toMatchObject({ plan: "side" });
  });
});

describe.each(upstreamNames)("the upstream %s", (name) => {
  const path = name === "anthropic" ? "/messages" : "/chat/completions";

  async function answered(body: object): Promise<{ status: number; text: string; refused: readonly string[] }> {
    const server = await startModelServer(name);
    const sent = JSON.stringify({ model: "m", max_tokens: 100, ...body });
    const answer = await fetch(`${server.upstream.baseUrl}${path}`, { method: "POST", body: sent });
    const text = await answer.text();
    await server.upstream.close();
    return { status: answer.status, text, refused: server.refused };
  }

  test("answers what its vendor takes", async () => {
    const bound = name === "openai" ? { max_tokens: undefined, max_completion_tokens: 100 } : {};
    const { status, text, refused } = await answered({ ...bound, messages: [{ role: "user", content: "(plan: hi)" }] });
    expect([status, refused]).toEqual([200, []]);
    expect(text).toContain("Hi! I keep nothing in mind.");
  });

  test("refuses a result without a call, and remembers it", async () => {
    const result =
      name === "anthropic"
        ? { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "r" }] }
        : { role: "tool", tool_call_id: "t", content: "r" };
    const { status, refused } = await answered({ messages: [{ role: "user", content: "(plan: hi)" }, result] });
    expect([status, refused]).toEqual([400, [expect.stringContaining("400")]]);
  });
});

test("the MCP server stamps, and writes it down", async () => {
  const folder = await temporaryFolder();
  const log = join(folder.path, "stamps.log");
  const child = spawn(process.execPath, [join(root, "test/agents/mcp-server.ts")], { env: { STAMP_LOG: log } });
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ask = async (method: string, params: object) => {
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method, params })}\n`);
    return JSON.parse((await answers.next()).value as string);
  };
  expect(await ask("initialize", {})).toMatchObject({ result: { serverInfo: { name: "stamps" } } });
  expect(await ask("tools/list", {})).toMatchObject({ result: { tools: [{ name: "stamp" }] } });
  const stamped = await ask("tools/call", { name: "stamp", arguments: { text: "pear" } });
  expect(stamped).toMatchObject({ result: { content: [{ type: "text", text: "stamp-raep" }] } });
  expect(await readFile(log, "utf8")).toBe("pear\n");
  expect(await ask("nothing", {})).toMatchObject({ error: { code: -32601 } });
  child.stdin.end();
  await folder.remove();
});
