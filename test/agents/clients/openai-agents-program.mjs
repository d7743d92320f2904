/**
 * A program with the OpenAI Agents SDK, as its documentation has one: a shell for a tool, an MCP server, and a session, which it
 * keeps in a file from run to run. It runs beside the SDK's installation.
 *
 *   node openai-agents-program.mjs PROMPT [--resume] [--image FILE] [--chat]
 */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  Agent,
  MCPServerStdio,
  MemorySession,
  OpenAIResponsesCompactionSession,
  run,
  setOpenAIAPI,
  tool,
} from "@openai/agents";

const { values, positionals } = parseArgs({
  options: { resume: { type: "boolean" }, image: { type: "string" }, chat: { type: "boolean" } },
  allowPositionals: true,
});
const [prompt] = positionals;
if (values.chat) setOpenAIAPI("chat_completions");
const keptAt = join(process.env.HOME, "session.json");
const initialItems = values.resume && existsSync(keptAt) ? JSON.parse(readFileSync(keptAt, "utf8")) : [];
const session = new MemorySession({ initialItems });

const shell = tool({
  name: "run_shell",
  description: "Runs a command.",
  parameters: {
    type: "object",
    properties: { command: { type: "string" } },
    required: ["command"],
    additionalProperties: false,
  },
  execute: ({ command }) => execFileSync("sh", ["-c", command], { encoding: "utf8" }),
});

function input() {
  if (values.image === undefined) return prompt;
  const image = `data:image/png;base64,${readFileSync(values.image, "base64")}`;
  return [
    {
      role: "user",
      content: [
        { type: "input_text", text: prompt },
        { type: "input_image", image },
      ],
    },
  ];
}

if (prompt === "/compact") {
  // The SDK takes no name here that does not look like one of OpenAI's: the gateway knows the model by an alias, too.
  const compacting = new OpenAIResponsesCompactionSession({ underlyingSession: session, model: "gpt-alias" });
  await compacting.runCompaction({ force: true, compactionMode: "input" });
} else {
  const stamps = new MCPServerStdio({
    name: "stamps",
    ...JSON.parse(readFileSync(join(process.env.HOME, "mcp.json"), "utf8")),
  });
  await stamps.connect();
  try {
    const agent = new Agent({
      name: "Helper",
      instructions: "Do what you are asked.",
      tools: [shell],
      mcpServers: [stamps],
    });
    const sessionInputCallback = (before, now) => [...before, ...now];
    const { finalOutput } = await run(agent, input(), { session, sessionInputCallback });
    console.log(finalOutput);
  } finally {
    await stamps.close();
  }
}
writeFileSync(keptAt, JSON.stringify(await session.getItems()));
