/**
 * Every example of the API's reference works as it stands, but for the address: by curl, Python, TypeScript and gRPC, against a
 * gateway. Python is skipped where it is missing, or a package that the example imports.
 */
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { referencePages } from "../../site/reference/api/pages.ts";
import { issueKey } from "../../src/services/keys/issue-key.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { type Block, blocksIn, root } from "../support/pages.ts";
import { openInterpreters } from "../support/pasted/interpreters.ts";
import { runsInPython } from "../support/python.ts";

const run = promisify(execFile);
const document = JSON.parse(readFileSync(join(root, "gen/openapi.json"), "utf8"));
const pages = referencePages(document);
const blocks = pages.flatMap(({ address, text }) => blocksIn(address, text));

const languages: readonly string[] = ["sh", "python", "ts"];
const interpreters = openInterpreters();
afterAll(() => interpreters.close());

test("there is an example of every operation in each language that has it", () => {
  const operations = Object.values<Record<string, { operationId?: string; "x-rpc"?: object }>>(document.paths)
    .flatMap((methods) => Object.values(methods))
    .filter((one) => one.operationId !== undefined);
  const rpcs = operations.filter((one) => one["x-rpc"] !== undefined);
  const count = (pattern: RegExp) => blocks.filter(({ language, code }) => pattern.test(`${language} ${code}`)).length;
  expect(operations.length).toBeGreaterThan(25);
  expect(count(/^sh curl/)).toBeGreaterThanOrEqual(operations.length);
  expect(count(/^python/)).toBeGreaterThanOrEqual(operations.length);
  expect(count(/^ts/)).toBeGreaterThanOrEqual(operations.length);
  expect(count(/^sh buf curl/)).toBeGreaterThanOrEqual(rpcs.length);
});

/** An error of any family, as an answer or as an event. */
const errorAnswer =
  /^\s*\{\s*"(?:error": ?\{|type": ?"error"|statusCode": ?[45])|(?:^|\n)data: ?\{"(?:error|type": ?"error)/;

test("examples of requests and answers are JSON", () => {
  const read = blocks.filter(({ language }) => language === "json").map(({ code }) => JSON.parse(code));
  expect(read.length).toBeGreaterThan(20);
});

describe.each(pages.filter(({ address }) => blocks.some(({ page }) => page === address)))(
  "what $address shows",
  ({ address }) => {
    let gateway: TestGateway;
    let folder: string;
    /** How far the gateway's clock is ahead of the machine's. */
    let aheadMs = 0;
    let adminKey: string;

    beforeAll(async () => {
      const tiers = [{ name: "All", recharge: 0, requestsPerMinute: 100_000, tokensPerMinute: undefined }];
      gateway = await startTestGateway({ tiers }, { clock: () => Date.now() + aheadMs });
      adminKey = (
        await issueKey(gateway.storage.keys, {
          accountId: gateway.accountId,
          name: "admin",
          admin: true,
          now: Date.now(),
        })
      ).secret;
      folder = mkdtempSync(join(tmpdir(), "reference-"));
      symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
    });
    afterAll(async () => {
      await gateway.close();
      rmSync(folder, { recursive: true });
    });

    /** Makes what the ids of an example stand for: each example may delete it. */
    async function idsFor({ code }: Block): Promise<Record<string, string>> {
      const ids: Record<string, string> = {};
      if (code.includes("KEY_ID")) {
        ids.KEY_ID = (
          await issueKey(gateway.storage.keys, {
            accountId: gateway.accountId,
            name: "a",
            admin: false,
            now: Date.now(),
          })
        ).key.id;
      }
      if (code.includes("RESPONSE_ID")) ids.RESPONSE_ID = await responseId(/cancel/i.test(code));
      return ids;
    }

    /** Returns the id of a kept response, or of one that is long in the making, so that it can be cancelled. */
    async function responseId(isRunning: boolean): Promise<string> {
      const running = { background: true, metadata: { simulate_delay_ms: "30000" } };
      const answer = await fetch(`${gateway.baseUrl}/responses`, {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.apiKey}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "embedded-chat", input: "Hello!", ...(isRunning ? running : {}) }),
      });
      return ((await answer.json()) as { id: string }).id;
    }

    async function output(block: Block): Promise<string> {
      const path = `${join(root, "node_modules/.bin")}:${process.env.PATH}`;
      const keys = { GATEWAY_API_KEY: gateway.apiKey, ADMIN_KEY: adminKey, PATH: path, ...(await idsFor(block)) };
      const options = { env: { ...process.env, ...keys }, cwd: folder };
      const code = block.code.replaceAll("http://127.0.0.1:8080", gateway.rootUrl);
      if (block.language === "sh") return (await run("sh", ["-e", "-c", code], options)).stdout;
      return interpreters.run(block.language as "python" | "ts", { code, ...options });
    }

    for (const block of blocks.filter(({ page, language }) => page === address && languages.includes(language))) {
      const name = `${block.language}, line ${block.line}`;
      const isSkipped = block.language === "python" && !runsInPython(block.code);
      test.skipIf(isSkipped)(name, async () => {
        // Some RPCs are served once a second.
        aheadMs += 2_000;
        expect(await output(block)).not.toMatch(errorAnswer);
      });
    }
  },
);
