/** Writes the conversation's next request as code of a client. Files stand for themselves: their content is left out. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { variable } from "../keys/snippets.ts";
import { type Asked, type Attachment, type ChatSettings, schemaName, type Turn } from "./conversation.ts";

export interface CodeOptions {
  /** root is the gateway's address. */
  readonly root: string;
  readonly model: string;
  readonly turns: readonly Turn[];
  readonly settings: ChatSettings;
}

/** codeOf returns the code of each client by its name. */
export function codeOf({ root, ...asked }: CodeOptions): readonly { readonly name: string; readonly code: string }[] {
  const body = bodyOf(asked);
  return [
    { name: "curl", code: curl(root, body) },
    { name: "Python", code: python(root, body) },
    { name: "TypeScript", code: typescript(root, body) },
  ];
}

/** bodyOf returns the request as OpenAI's API has it. */
function bodyOf({ model, turns, settings }: Omit<CodeOptions, "root">): JsonObject {
  const { system, temperature, maxTokens, tools, effort, schema } = settings;
  const said = turns.map(messageOf).filter((message) => message !== undefined);
  // Before anything is said, there is something to say.
  const messages = said.length === 0 ? [{ role: "user", content: "Hello!" }] : said;
  return {
    model,
    messages: [...(system.trim() ? [{ role: "system", content: system }] : []), ...messages],
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
    ...(schema === undefined
      ? {}
      : { response_format: { type: "json_schema", json_schema: { name: schemaName, strict: true, schema } } }),
    ...(tools.length === 0
      ? {}
      : { tools: tools.map(({ function: defined }) => ({ type: "function", function: { ...defined } })) }),
  };
}

function messageOf(turn: Turn): JsonObject | undefined {
  if (turn.by === "person") return { role: "user", content: contentOf(turn) };
  if (turn.by === "tool") return { role: "tool", tool_call_id: turn.call.id, content: turn.text };
  if (turn.text === "" && turn.calls.length === 0) return undefined;
  const calls = turn.calls.map(({ id, name, arguments: args }) => ({
    ...{ id, type: "function" },
    function: { name, arguments: args },
  }));
  return { role: "assistant", content: turn.text, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
}

function contentOf({ text, files }: Asked): JsonValue {
  if (files.length === 0) return text;
  const parts = files.map((file): JsonObject => {
    const url = withoutContent(file);
    if (file.type.startsWith("image/")) return { type: "image_url", image_url: { url } };
    return { type: "file", file: { filename: file.name, file_data: url } };
  });
  return [...parts, ...(text === "" ? [] : [{ type: "text", text }])];
}

function withoutContent({ type, name }: Attachment): string {
  return `data:${type};base64,<the content of ${name}>`;
}

function curl(root: string, body: JsonObject): string {
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return `curl ${root}/v1/chat/completions \\
  -H "Authorization: Bearer $${variable}" \\
  -H "Content-Type: application/json" \\
  -d '${json}'`;
}

function python(root: string, body: JsonObject): string {
  const fields = Object.entries(body).map(([name, value]) => `    ${name}=${pythonOf(value, "    ")},`);
  return `# pip install openai
import os
from openai import OpenAI

client = OpenAI(base_url="${root}/v1", api_key=os.environ["${variable}"])
answer = client.chat.completions.create(
${fields.join("\n")}
)
print(answer.choices[0].message.content)`;
}

/** pythonOf writes a value as Python does: JSON's strings and numbers are Python's, too. */
function pythonOf(value: JsonValue, indent: string): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = `${indent}    `;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((item) => `${inner}${pythonOf(item, inner)},`).join("\n")}\n${indent}]`;
  }
  const members = Object.entries(value).map(
    ([name, item]) => `${inner}${JSON.stringify(name)}: ${pythonOf(item, inner)},`,
  );
  return members.length === 0 ? "{}" : `{\n${members.join("\n")}\n${indent}}`;
}

function typescript(root: string, body: JsonObject): string {
  return `// npm install openai
import OpenAI from "openai";

const client = new OpenAI({ baseURL: "${root}/v1", apiKey: process.env.${variable} });
const answer = await client.chat.completions.create(${JSON.stringify(body, null, 2)});
console.log(answer.choices[0].message.content);`;
}
