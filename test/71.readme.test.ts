/**
 * What the README tells a reader to paste works as it stands, but for the address.
 */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestGateway, type TestGateway } from "./support/gateway.ts";

const run = promisify(execFile);
const root = join(import.meta.dirname, "..");
const readme = readFileSync(join(root, "README.md"), "utf8");

/** Returns the one fenced block of this language that holds the text. */
function snippet(language: string, text: string): string {
  const blocks = [...readme.matchAll(/```(\w+)\n([\s\S]*?)```/g)].filter(
    ([, tag, code]) => tag === language && code?.includes(text),
  );
  const [block, ...others] = blocks;
  if (!block?.[2] || others.length > 0) throw new Error(`${blocks.length} blocks hold ${text}`);
  return block[2].replaceAll("http://127.0.0.1:8080", gateway.rootUrl);
}

let gateway: TestGateway;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  gateway = await startTestGateway();
  const bin = join(root, "node_modules/.bin");
  env = { ...process.env, GATEWAY_API_KEY: gateway.apiKey, PATH: `${bin}:${process.env.PATH}` };
});

afterAll(() => gateway.close());

const simulator = /embedded simulator/;

test("the curl line answers", async () => {
  const { stdout } = await run("sh", ["-c", snippet("sh", "curl http://")], { env, cwd: root });
  expect(JSON.parse(stdout).choices[0].message.content).toMatch(simulator);
});

test("the openai snippet streams an answer", async () => {
  expect(await runTypeScript(snippet("ts", 'from "openai"'))).toMatch(simulator);
});

for (const name of ["@anthropic-ai/sdk", "@langchain/anthropic", "@ai-sdk/anthropic"]) {
  test(`the ${name} snippet answers`, async () => {
    expect(await runTypeScript(snippet("ts", `from "${name}"`))).toMatch(simulator);
  });
}

test("the gRPC snippet answers", async () => {
  expect(await runTypeScript(snippet("ts", "createGrpcTransport"))).toMatch(simulator);
});

test("the buf curl line streams by reflection", async () => {
  const { stdout } = await run("sh", ["-c", snippet("sh", "buf curl")], { env, cwd: root });
  expect(stdout).toContain("FINISH_REASON_STOP");
});

async function runTypeScript(code: string): Promise<string> {
  const { stdout } = await run("node", ["--input-type=module-typescript", "-e", code], { env, cwd: root });
  return stdout;
}
