/**
 * A client whose types openapi-typescript has made of the document: it compiles, and makes every call of the service by openapi-fetch.
 */
import { execFile } from "node:child_process";
import { copyFile, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { issueKey } from "../../../src/services/keys/issue-key.ts";
import { hurriedClock, now, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { root } from "../../support/pages.ts";

const run = promisify(execFile);

let folder: string;
let gateway: TestGateway;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "typed-client-"));
  gateway = await startTestGateway({}, { clock: hurriedClock() });
});

afterAll(async () => {
  await gateway?.close("running");
  await rm(folder, { recursive: true });
});

const options = {
  ...{ target: "esnext", module: "nodenext", lib: ["esnext", "dom"], types: ["node"], strict: true, noEmit: true },
  ...{ noUncheckedIndexedAccess: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
  ...{ verbatimModuleSyntax: true, erasableSyntaxOnly: true, allowImportingTsExtensions: true },
};

test("compiles, and makes every call", async () => {
  await symlink(join(root, "node_modules"), join(folder, "node_modules"));
  await copyFile(join(root, "test/packaging/openapi/typed-client/calls.ts"), join(folder, "calls.ts"));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: options, include: ["*.ts"] }));
  const generate = join(root, "test/support/clients/openapi-types.ts");
  await run(process.execPath, [generate, join(root, "gen/openapi.json"), join(folder, "types.ts")]);
  const compiled = await run(join(root, "node_modules/.bin/tsc"), ["-p", folder]).catch((error) => error);
  expect(compiled.stdout).toBe("");

  const { accountId, storage, rootUrl, apiKey } = gateway;
  const administrator = await issueKey(storage.keys, { accountId, name: "administrator", admin: true, now });
  const env = { ...process.env, ROOT_URL: rootUrl, API_KEY: apiKey, ADMIN_KEY: administrator.secret };
  const { stdout } = await run(process.execPath, ["calls.ts"], { cwd: folder, env });
  expect(JSON.parse(stdout)).toEqual({
    chat: { whole: "Hello!", streamed: "Hello!", tokens: 12 },
    tools: ["tool_calls", "get_weather"],
    anthropic: { whole: "Hello!", streamed: "Hello!", counted: true },
    completions: { object: "text_completion", whole: "Once upon a time", streamed: "Once upon a time" },
    embeddings: { object: "list", length: 8 },
    speech: { type: "audio/flac", magic: "fLaC" },
    responses: { same: true, items: 1, deleted: true, streamed: "Hello!" },
    models: { listed: 2, kind: "chat" },
    keys: { limit: ["5.00", null], secret: true, listed: true, removed: true, unit: "JPY" },
    usage: ["id", "created_at"],
    refusals: [404, "model_not_found", 400, 400, 403],
  });
});
