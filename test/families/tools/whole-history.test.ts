/** Interrupted agents' histories reach servers of every family with each call followed by its result, from callers of every family. */
import type { JsonObject } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { pairedTurns } from "../../../src/families/tools/paired-turns.ts";
import { runNow } from "../../../src/runtime/cooperative.ts";
import { ask } from "../../support/ask.ts";
import { allFamiliesStage } from "../../support/upstreams/families-stage.ts";

const { upstream, gateway } = allFamiliesStage();

/** Steps are a history in short: what the user says, `?a` for a call, `!a` for its result, and those of one turn together. */
type Steps = readonly string[];

const user = { role: "user", content: "go on" };

function chatOf(steps: Steps): JsonObject[] {
  return steps.flatMap((step): JsonObject[] => {
    if (step === "user") return [user];
    const ids = step.slice(1).split("");
    if (step.startsWith("!")) return ids.map((id) => ({ role: "tool", tool_call_id: id, content: `of ${id}` }));
    const calls = ids.map((id) => ({ id, type: "function", function: { name: "read", arguments: "{}" } }));
    return [{ role: "assistant", content: null, tool_calls: calls }];
  });
}

function turnsOf(steps: Steps): JsonObject[] {
  return steps.map((step) => {
    if (step === "user") return user;
    const ids = step.slice(1).split("");
    if (step.startsWith("!")) {
      const content = ids.map((id) => ({ type: "tool_result", tool_use_id: id, content: `of ${id}` }));
      return { role: "user", content };
    }
    return { role: "assistant", content: ids.map((id) => ({ type: "tool_use", id, name: "read", input: {} })) };
  });
}

function itemsOf(steps: Steps): JsonObject[] {
  return steps.flatMap((step): JsonObject[] => {
    if (step === "user") return [user];
    return step
      .slice(1)
      .split("")
      .map((call_id) =>
        step.startsWith("!")
          ? { type: "function_call_output", call_id, output: `of ${call_id}` }
          : { type: "function_call", call_id, name: "read", arguments: "{}" },
      );
  });
}

const bodies = {
  "/chat/completions": (steps: Steps) => ({ messages: chatOf(steps) }),
  "/messages": (steps: Steps) => ({ messages: turnsOf(steps), max_tokens: 99 }),
  "/responses": (steps: Steps) => ({ input: itemsOf(steps), store: false }),
};

/** linesOf returns what reached a server in one notation: calls, results with their text, and what the user says. */
function linesOf({ messages, input }: JsonObject): string[] {
  return ((input ?? messages) as JsonObject[]).flatMap((entry) => {
    if (entry.role === "tool") return [`!${entry.tool_call_id} ${entry.content}`];
    const parts = Array.isArray(entry.content) ? (entry.content as JsonObject[]) : [{ text: entry.content ?? "" }];
    const calls = ((entry.tool_calls ?? []) as JsonObject[]).map(({ id }) => `?${id}`);
    return [...(entry.type === undefined || entry.type === "message" ? parts.map(lineOf) : [lineOf(entry)]), ...calls];
  });
}

function lineOf({ type, id, call_id, tool_use_id, content, output, text }: JsonObject): string {
  if (type === "tool_use" || type === "function_call") return `?${call_id ?? id}`;
  if (type === "tool_result" || type === "function_call_output")
    return `!${call_id ?? tool_use_id} ${content ?? output}`;
  return `${text ?? ""}`;
}

const interrupted = expect.stringMatching(/^!\w+ (Error: )?The tool call was interrupted/);
const late = expect.stringContaining("The result of a tool, for which no call is waiting:");

const rows: readonly (readonly [string, Steps, unknown[]])[] = [
  ["a call without a result", ["user", "?a", "user"], ["?a", interrupted]],
  ["one of two calls without a result", ["user", "?ab", "!a", "user"], ["?a", "?b", "!a of a", interrupted]],
  ["a call at the end", ["user", "?a"], ["?a", interrupted]],
  ["a result without a call", ["user", "!z", "user"], [late]],
  ["a second result", ["user", "?a", "!a", "!a"], ["?a", "!a of a", late]],
  ["one id for two calls of a turn", ["user", "?aa", "!aa"], ["?a", "?a_2", "!a of a", "!a_2 of a"]],
  ["one id in two turns", ["user", "?a", "!a", "?a", "!a"], ["?a", "!a of a", "?a_2", "!a_2 of a"]],
  ["an id again after an interruption", ["user", "?a", "user", "?a", "!a"], ["?a", interrupted, "?a_2", "!a_2 of a"]],
];

describe.each(Object.keys(bodies) as (keyof typeof bodies)[])("from callers of %s", (path) => {
  describe.each(["chat", "messages", "responses"])("to a server of %s", (model) => {
    test.each(rows)("%s", async (_, steps, expected) => {
      const { status, text, headers } = await ask(gateway, `/v1${path}`, { model, ...bodies[path](steps) });
      expect(status, text).toBe(200);
      expect(headers.get("x-gateway-dropped")).toBeNull();
      const lines = linesOf(upstream.received.at(-1)?.asked as JsonObject);
      const inOrder = (line: string) => !["", "go on"].includes(line) && !/^of z$/.test(line) && !/^of a$/.test(line);
      // Chat servers match results by their place.
      const isRepeated = path === "/chat/completions" && model === "chat" && !steps.some((step) => step === "?aa");
      const named = expected.map((line) => (isRepeated && typeof line === "string" ? line.replace("_2", "") : line));
      expect(lines.filter(inOrder)).toEqual(named);
    });
  });
});

test.each(rows)("%s is counted as it would be sent", async (_, steps) => {
  const messages = turnsOf(steps);
  await ask(gateway, "/v1/messages", { model: "messages", messages, max_tokens: 99 });
  const { messages: sent } = upstream.lastAsked;
  const counted = await ask(gateway, "/v1/messages/count_tokens", { model: "messages", messages });
  expect(counted.status, counted.text).toBe(200);
  expect(upstream.received.at(-1)).toMatchObject({ path: "/v1/messages/count_tokens", asked: { messages: sent } });
  const ofResponse = await ask(gateway, "/v1/responses/input_tokens", { model: "responses", input: itemsOf(steps) });
  expect(ofResponse.status, ofResponse.text).toBe(200);
});

test("results of the Messages API come first in the user's turn, and one that has moved leaves no empty turn", () => {
  const [call, result] = turnsOf(["?a", "!a"]) as [JsonObject, { content: JsonObject[] }];
  const said = { type: "text", text: "wait" };
  const behind = [call, { role: "user", content: [said, ...result.content] }] as JsonObject[];
  expect(runNow(pairedTurns(behind))).toEqual([call, { role: "user", content: [...result.content, said] }]);
  const apart = [call, user, result] as JsonObject[];
  expect(runNow(pairedTurns(apart))).toEqual([
    call,
    { role: "user", content: [...result.content, { type: "text", text: "go on" }] },
  ]);
});

test("whole histories stay as they came: results in two turns, instructions between, calls without ids", () => {
  const [call, first, second] = turnsOf(["?ab", "!a", "!b"]) as JsonObject[];
  const system = { role: "system", content: "Be brief." };
  const odd = { role: "assistant", content: [{ type: "tool_use", name: "read", input: {} }] };
  for (const history of [
    [call, first, second],
    [call, system, first, second],
    [odd, user],
  ] as JsonObject[][])
    expect(runNow(pairedTurns(history))).toBe(history);
});

test("what cannot be asked is named by its place in the caller's history", async () => {
  const part = { type: "image_url", image_url: { url: "nowhere" } };
  const messages = [...chatOf(["user", "?a", "user"]), { role: "user", content: [part] }];
  const { status, text } = await ask(gateway, "/v1/chat/completions", { model: "messages", messages });
  expect(status).toBe(400);
  expect(JSON.parse(text).error.param).toBe("messages[3].content[0].image_url.url");
});

describe("calls of vendors' tools without results", () => {
  const shell = {
    type: "local_shell_call",
    id: "lsh_1",
    call_id: "c",
    status: "completed",
    action: { type: "exec", command: ["ls"] },
  };
  const patch = {
    type: "apply_patch_call",
    id: "ap_1",
    call_id: "c",
    status: "completed",
    operation: { type: "delete_file", path: "a" },
  };
  const hosted = { type: "shell_call", id: "sh_1", call_id: "c", status: "completed", action: { commands: ["ls"] } };
  const screen = {
    type: "computer_call",
    id: "cu_1",
    call_id: "c",
    status: "completed",
    action: { type: "screenshot" },
  };
  const search = {
    type: "tool_search_call",
    call_id: "c",
    execution: "client",
    status: "completed",
    arguments: { query: "files" },
  };
  const tools = [{ type: "function", name: "read", parameters: { type: "object" } }];
  const found = { type: "tool_search_output", call_id: "c", execution: "client", status: "completed", tools };
  const output = { type: "computer_screenshot", image_url: "data:image/png;base64,iVBORw0KGgo=" };
  const shown = { type: "computer_call_output", call_id: "c", output };
  const words = expect.stringContaining("interrupted");

  async function itemsFor(...items: JsonObject[]): Promise<unknown[]> {
    const { status, text } = await ask(gateway, "/v1/responses", {
      model: "all",
      store: false,
      input: [user, ...items, user],
    });
    expect(status, text).toBe(200);
    return (upstream.lastAsked.input as unknown[]).slice(1, -1);
  }

  test.each<[string, JsonObject, JsonObject]>([
    ["a local shell", shell, { type: "function_call_output", call_id: "c", output: words }],
    ["a patch", patch, { type: "apply_patch_call_output", call_id: "c", status: "failed", output: words }],
    [
      "a shell",
      hosted,
      {
        type: "shell_call_output",
        call_id: "c",
        output: [{ stdout: "", stderr: words, outcome: { type: "exit", exit_code: 1 } }],
      },
    ],
    ["a search", search, { ...found, status: "incomplete", tools: [] }],
  ])("%s gets one", async (_, call, result) => {
    expect(await itemsFor(call)).toEqual([call, result]);
  });

  test("what was done at a screen that nobody has seen is told as a text", async () => {
    const [said, ...others] = await itemsFor(screen);
    const text = expect.stringMatching(/computer: \{"type":"screenshot"\}.*interrupted/s);
    expect(said).toEqual({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
    expect(others).toEqual([]);
  });

  test("a screen for which no call is waiting is shown by the user", async () => {
    const [said, ...others] = (await itemsFor(shown)) as JsonObject[];
    expect(said).toMatchObject({ role: "user", content: [{ text: late }, { image_url: output.image_url }] });
    expect(others).toEqual([]);
  });

  test.each<[string, JsonObject, RegExp]>([
    [
      "a shell",
      { type: "shell_call_output", output: [{ stdout: "a.txt", stderr: "no b", outcome: {} }] },
      /a\.txt\nno b$/,
    ],
    ["a local shell", { type: "local_shell_call_output", output: "a.txt" }, /a\.txt$/],
    ["a patch", { type: "apply_patch_call_output", status: "failed", output: "no file" }, /no file$/],
    ["a patch without a word", { type: "apply_patch_call_output", status: "completed" }, /completed$/],
  ])("what %s has given, for which no call is waiting, is told as text", async (_, result, ending) => {
    const [said, ...others] = (await itemsFor({ ...result, call_id: "c" })) as JsonObject[];
    expect(said).toEqual({ type: "message", role: "user", content: expect.stringMatching(ending) });
    expect(said?.content).toEqual(late);
    expect(others).toEqual([]);
  });

  test("tools found by a server without a search reach a server of chat as text", async () => {
    const input = [{ ...found, execution: "server", call_id: null }, user];
    const { status, text } = await ask(gateway, "/v1/responses", { model: "chat", store: false, input });
    expect(status, text).toBe(200);
    expect(upstream.lastAsked.messages).toEqual([{ role: "user", content: late }, user]);
  });

  test("tools found without a search get one, with an id of its own", async () => {
    const asked = { ...search, arguments: {} };
    expect(await itemsFor(found)).toEqual([asked, found]);
    const second = { call_id: "c_2" };
    expect(await itemsFor(search, found, found)).toEqual([
      ...[search, found],
      ...[
        { ...asked, ...second },
        { ...found, ...second },
      ],
    ]);
  });

  test.each<[string, JsonObject[]]>([
    ["a local shell, as Codex has it", [shell, { type: "function_call_output", call_id: "c", output: "1" }]],
    ["a local shell of its own", [shell, { type: "local_shell_call_output", call_id: "c", output: "1" }]],
    ["a local shell by its id", [shell, { type: "local_shell_call_output", id: "c", output: "1" }]],
    ["a patch", [patch, { type: "apply_patch_call_output", call_id: "c", status: "completed", output: "1" }]],
    ["a shell", [hosted, { type: "shell_call_output", call_id: "c", output: [] }]],
    ["a search", [search, found]],
    ["a search by the server", [{ ...search, execution: "server", call_id: null }]],
    ["a screen", [screen, shown]],
  ])("and results of %s stay", async (_, items) => {
    expect(await itemsFor(...items)).toEqual(items);
  });

  test.each([shell, patch, hosted, search, screen])("%j reaches servers of other families with one", async (call) => {
    for (const model of ["chat", "messages"]) {
      const { status, text } = await ask(gateway, "/v1/responses", { model, store: false, input: [user, call, user] });
      expect(status, text).toBe(200);
      expect(JSON.stringify(upstream.lastAsked.messages).match(/interrupted/g)).toHaveLength(1);
    }
  });
});

test("what is dropped of messages that got an id has its path, also beside results that have moved", async () => {
  const made = { type: "function", function: { name: "a", arguments: "{}" } };
  const call = { role: "assistant", name: "Bo", content: null, tool_calls: [made] };
  const result = { role: "tool", name: "a", content: "1" };
  const droppedOf = async (messages: JsonObject[]) => {
    const { status, text, dropped } = await ask(gateway, "/v1/chat/completions", { model: "messages", messages });
    expect(status, text).toBe(200);
    return dropped;
  };
  expect(await droppedOf([user, call, result, user])).toBe("messages[1].name");
  expect(await droppedOf([user, user, call, user, result, user])).toBe("messages[2].name");
  const moved = [user, call, user, result, { role: "assistant", name: "Al", content: "hi" }, user];
  expect(await droppedOf(moved)).toBe("messages[1].name, messages[4].name");
});
