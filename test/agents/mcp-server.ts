/**
 * An MCP server over standard input and output with one tool, `stamp`: it returns its text turned round, and writes each call to the
 * file that STAMP_LOG names. Who says the stamp has called it.
 */
import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string; readonly arguments?: { readonly text?: string } };
}

const stamp = {
  name: "stamp",
  description: "Stamps a text.",
  inputSchema: {
    type: "object",
    properties: { text: { type: "string" } },
    required: ["text"],
    additionalProperties: false,
  },
};

const lists: Readonly<Record<string, object>> = {
  ping: {},
  "tools/list": { tools: [stamp] },
  "resources/list": { resources: [] },
  "resources/templates/list": { resourceTemplates: [] },
  "prompts/list": { prompts: [] },
};

function resultOf({ method = "", params = {} }: Message): object | undefined {
  if (method === "initialize") {
    const { protocolVersion = "2025-06-18" } = params;
    return { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "stamps", version: "1.0.0" } };
  }
  if (method !== "tools/call") return lists[method];
  const text = params.arguments?.text ?? "";
  if (process.env.STAMP_LOG) appendFileSync(process.env.STAMP_LOG, `${text}\n`);
  return { content: [{ type: "text", text: `stamp-${[...text].reverse().join("")}` }] };
}

for await (const line of createInterface({ input: process.stdin })) {
  const message = JSON.parse(line) as Message;
  if (message.id === undefined || message.method === undefined) continue;
  const result = resultOf(message);
  const answer = result ? { result } : { error: { code: -32601, message: `there is no method ${message.method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id: message.id, ...answer })}\n`);
}
