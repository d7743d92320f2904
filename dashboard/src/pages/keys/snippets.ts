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
export function firstModel(models: readonly CatalogModel[], permitted: readonly string[]): CatalogModel | undefined {
  const chat = models.filter((model) => model.kind === ModelKind.CHAT && mayUse(permitted, model));
  return chat.find(({ callable }) => callable) ?? chat[0];
}

/** mayUse reports whether the models that a key is permitted have this one among them; none permits all. */
export function mayUse(permitted: readonly string[], { id, family }: Pick<CatalogModel, "id" | "family">): boolean {
  return permitted.length === 0 || permitted.includes(id) || permitted.includes(`family:${family}`);
}

/** SnippetModel is the model that an example calls. */
export interface SnippetModel {
  readonly id: string;
  readonly kind: ModelKind;
}

/** snippetsOf returns an example for each client that can call such a model. Without a model, the example lists them. */
export function snippetsOf(root: string, model: SnippetModel | undefined): readonly Snippet[] {
  if (model === undefined) return [{ name: "curl", code: listing(root) }];
  const name = JSON.stringify(model.id);
  const { curl, python, typescript, save = "" } = requestOf(model.kind, name);
  const shared = [
    { name: "curl", code: curlCall(root, curl, save) },
    { name: "Python", code: pythonCall(root, python) },
    { name: "TypeScript", code: typescriptCall(root, typescript) },
  ];
  if (model.kind !== ModelKind.CHAT) return shared;
  return [...shared, { name: "Anthropic SDK", code: anthropic(root, name) }, { name: "gRPC", code: grpc(root, name) }];
}

interface RequestTexts {
  /** curl is the path and the body. */
  readonly curl: readonly [path: string, body: string];
  /** save is where curl writes an answer that is no text. */
  readonly save?: string;
  readonly python: string;
  readonly typescript: string;
}

/** requestOf returns what differs by the kind of the model; `name` is its id as a literal. */
function requestOf(kind: ModelKind, name: string): RequestTexts {
  if (kind === ModelKind.EMBEDDING) {
    return {
      curl: ["embeddings", `{"model": ${name}, "input": "Hello!"}`],
      python: `answer = client.embeddings.create(model=${name}, input="Hello!")
print(answer.data[0].embedding)`,
      typescript: `const answer = await client.embeddings.create({ model: ${name}, input: "Hello!" });
console.log(answer.data[0]?.embedding);`,
    };
  }
  if (kind === ModelKind.SPEECH) {
    return {
      curl: ["audio/speech", `{"model": ${name}, "voice": "alloy", "input": "Hello!"}`],
      save: "speech.mp3",
      python: `answer = client.audio.speech.create(model=${name}, voice="alloy", input="Hello!")
answer.write_to_file("speech.mp3")`,
      typescript: `const answer = await client.audio.speech.create({ model: ${name}, voice: "alloy", input: "Hello!" });
await writeFile("speech.mp3", Buffer.from(await answer.arrayBuffer()));`,
    };
  }
  return {
    curl: ["chat/completions", `{"model": ${name}, "messages": [{"role": "user", "content": "Hello!"}]}`],
    python: `answer = client.chat.completions.create(
    model=${name},
    messages=[{"role": "user", "content": "Hello!"}],
)
print(answer.choices[0].message.content)`,
    typescript: `const answer = await client.chat.completions.create({
  model: ${name},
  messages: [{ role: "user", content: "Hello!" }],
});
console.log(answer.choices[0]?.message.content);`,
  };
}

function listing(root: string): string {
  return `curl ${root}/v1/models \\
  -H "Authorization: Bearer $${variable}"`;
}

function curlCall(root: string, [path, body]: RequestTexts["curl"], save: string): string {
  const saving = save === "" ? "" : ` \\\n  -o ${save}`;
  return `curl ${root}/v1/${path} \\
  -H "Authorization: Bearer $${variable}" \\
  -H "Content-Type: application/json" \\
  -d '${body}'${saving}`;
}

function pythonCall(root: string, request: string): string {
  return `# pip install openai
import os
from openai import OpenAI

client = OpenAI(
    base_url="${root}/v1",
    api_key=os.environ["${variable}"],
)
${request}`;
}

function typescriptCall(root: string, request: string): string {
  const files = request.includes("writeFile") ? 'import { writeFile } from "node:fs/promises";\n' : "";
  return `// npm install openai; run it as hello.mts
${files}import OpenAI from "openai";

const client = new OpenAI({
  baseURL: "${root}/v1",
  apiKey: process.env.${variable},
});
${request}`;
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
