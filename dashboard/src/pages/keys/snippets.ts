/** Examples of using a key: the same first call for each client. They read the secret from the environment. */
import { type CatalogModel, ModelKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";

export const variable = "GATEWAY_API_KEY";

export interface Snippet {
  readonly name: string;
  readonly code: string;
}

/** exportOf returns the shell command that sets the variable. */
export function exportOf(secret: string): string {
  return `export ${variable}=${secret}`;
}

/** firstModel returns a model for the first call: a chat model that the key and the account may call. */
export function firstModel(models: readonly CatalogModel[], permitted: readonly string[]): string | undefined {
  const entries = new Set(permitted);
  const mayUse = ({ id, family }: CatalogModel) =>
    entries.size === 0 || entries.has(id) || entries.has(`family:${family}`);
  const chat = models.filter((model) => model.kind === ModelKind.CHAT && mayUse(model));
  return (chat.find(({ callable }) => callable) ?? chat[0])?.id;
}

/** Without a chat model, the examples list the models. */
export function snippetsOf(root: string, model: string | undefined): readonly Snippet[] {
  if (model === undefined) return [{ name: "curl", code: listing(root) }];
  const name = JSON.stringify(model);
  return [
    { name: "curl", code: curl(root, name) },
    { name: "OpenAI SDK", code: openai(root, name) },
    { name: "Anthropic SDK", code: anthropic(root, name) },
    { name: "gRPC", code: grpc(root, name) },
  ];
}

function listing(root: string): string {
  return `curl ${root}/v1/models \\
  -H "Authorization: Bearer $${variable}"`;
}

function curl(root: string, model: string): string {
  return `curl ${root}/v1/chat/completions \\
  -H "Authorization: Bearer $${variable}" \\
  -H "Content-Type: application/json" \\
  -d '{"model": ${model}, "messages": [{"role": "user", "content": "Hello!"}]}'`;
}

function openai(root: string, model: string): string {
  return `// npm install openai; run it as hello.mjs
import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${root}/v1",
  apiKey: process.env.${variable},
});
const answer = await client.chat.completions.create({
  model: ${model},
  messages: [{ role: "user", content: "Hello!" }],
});
console.log(answer.choices[0].message.content);`;
}

function anthropic(root: string, model: string): string {
  return `// npm install @anthropic-ai/sdk; run it as hello.mjs
import Anthropic from "@anthropic-ai/sdk";

const client = new Anthropic({
  baseURL: "${root}",
  apiKey: process.env.${variable},
});
const answer = await client.messages.create({
  model: ${model},
  max_tokens: 1000,
  messages: [{ role: "user", content: "Hello!" }],
});
for (const block of answer.content) if (block.type === "text") console.log(block.text);`;
}

function grpc(root: string, model: string): string {
  const plain = root.startsWith("http:") ? " --http2-prior-knowledge" : "";
  return `npx @bufbuild/buf curl --protocol grpc${plain} \\
  -H "Authorization: Bearer $${variable}" \\
  -d '{"model": ${model}, "messages": [{"role": "ROLE_USER", "text": "Hello!"}]}' \\
  ${root}/modelgateway.v1.InferenceService/CreateChatCompletion`;
}
