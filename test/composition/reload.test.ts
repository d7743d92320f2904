/** gateway.yaml is edited while it is served, by one process and by workers: the change takes effect, or is refused whole. */
import { readFile, writeFile } from "node:fs/promises";
import type { JsonObject } from "@bufbuild/protobuf";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Stage, setStage } from "../crash/stage.ts";
import type { Running } from "../support/command.ts";
import { askRpc, bearer } from "../support/dashboard/session.ts";
import { eventually } from "../support/eventually.ts";
import { operatorKey, processesOf } from "../support/workers/stage.ts";

const patience = 60_000;

let stage: Stage;
let gateway: Running;
let rootUrl: string;
let written: string;

async function start(...options: readonly string[]): Promise<void> {
  stage = await setStage();
  written = await readFile(stage.config, "utf8");
  written += `operator_key: ${operatorKey}\n`;
  await writeFile(stage.config, written);
  ({ gateway, rootUrl } = await stage.start(undefined, options, { LOG_LEVEL: "info" }));
}

afterEach(async () => {
  await gateway.stop("SIGTERM");
  await stage.close();
});

const named = (alias: string) => written.replace('"id":"over-chat"', `"id":"over-chat","aliases":["${alias}"]`);

/** Calls the model over a connection of its own, which any worker may accept. */
async function statusOf(model: string): Promise<number> {
  const response = await fetch(`${rootUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${stage.apiKeys[1]}`, "content-type": "application/json", connection: "close" },
    body: JSON.stringify({ model, max_tokens: 3, messages: [{ role: "user", content: "This is call 1." }] }),
  });
  await response.text();
  return response.status;
}

const statusesOf = (model: string, calls = 8) => Promise.all(Array.from({ length: calls }, () => statusOf(model)));

/** Calls the model one call after another until it is asked to stop. Returns the statuses. */
function callOn(model: string): () => Promise<readonly unknown[]> {
  let isOver = false;
  const calling = (async () => {
    const met: unknown[] = [];
    while (!isOver) met.push(await statusOf(model).catch((error: unknown) => error));
    return met;
  })();
  return () => {
    isOver = true;
    return calling;
  };
}

const change = (json: JsonObject) =>
  askRpc({ rootUrl }, "OperatorService.ChangeConfiguration", json, bearer(operatorKey));

const storedChat = (id: string) => ({
  ...{ id, family: "crash", kind: "chat", price: { input: "1", output: "1" }, max_output_tokens: 3 },
  targets: [{ upstream: "over-chat", model: "over-chat" }],
});

/** The last log line with this message. */
const lineOf = (message: string) =>
  gateway.stderr
    .split("\n")
    .filter((line) => line.includes(message))
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>)
    .at(-1);

for (const [who, options] of [
  ["one process", []],
  ["two workers", ["--workers", "2"]],
] as const) {
  describe(`by ${who}`, () => {
    beforeEach(() => start(...options));

    test("a change of the file takes effect, and calls go on", async () => {
      const before = await processesOf(gateway.child.pid as number);
      expect(await statusOf("new-name")).toBe(404);
      const stop = callOn("over-chat");
      await writeFile(
        stage.config,
        `${named("new-name")}tiers: [{name: Only, recharge: "0", requests_per_minute: 77000}]\n`,
      );
      await eventually(async () => expect(await statusesOf("new-name")).toEqual(Array(8).fill(200)), patience);
      expect(new Set(await stop())).toEqual(new Set([200]));
      const line = { changed: ["models", "tiers"], why: "the file has changed" };
      await eventually(() => expect(lineOf("is in force")).toMatchObject(line));
      expect(await processesOf(gateway.child.pid as number), "the same processes").toEqual(before);
    });

    test("one that is wrong is refused whole, with its line, and what is served stays", async () => {
      const lines = written.split("\n").length;
      await writeFile(
        stage.config,
        `${named("new-name")}tiers: [{name: Only, recharge: "1", requests_per_minute: 5}]\n`,
      );
      await eventually(() => expect(gateway.stderr).toContain("is not taken"), patience);
      const faults = lineOf("is not taken")?.faults;
      expect(faults).toEqual([expect.stringMatching(new RegExp(`gateway\\.yaml:${lines}: tiers\\[0\\]\\.recharge: `))]);
      expect([await statusOf("over-chat"), await statusOf("new-name")]).toEqual([200, 404]);
      // Mended, it is taken.
      await writeFile(stage.config, named("new-name"));
      await eventually(async () => expect(await statusOf("new-name")).toBe(200), patience);
    });

    test("one that is empty, as a write leaves it that was broken off, is refused", async () => {
      await writeFile(stage.config, "");
      await eventually(() => expect(gateway.stderr).toContain("is not taken"), patience);
      expect(lineOf("is not taken")?.faults).toEqual([expect.stringMatching(/gateway\.yaml: the file is empty, /)]);
      expect(await statusOf("over-chat")).toBe(200);
      gateway.child.kill("SIGHUP");
      const asked = /"why":"SIGHUP".*is not taken|the new processes could not start, and the old ones go on/;
      await eventually(() => expect(gateway.stderr).toMatch(asked), patience);
      expect(await statusOf("over-chat")).toBe(200);
      await writeFile(stage.config, named("new-name"));
      await eventually(async () => expect(await statusOf("new-name")).toBe(200), patience);
    });

    test("a change of what is stored is in force everywhere when it is answered", async () => {
      const model = storedChat("stored-chat");
      const stop = callOn("over-chat");
      const made = await change({ base_version: 0, changes: [{ model }], note: "a model" });
      expect(made).toMatchObject({ status: 200, json: { configuration: { version: 1 } } });
      expect(await statusesOf("stored-chat", 16)).toEqual(Array(16).fill(200));
      const wrong = await change({
        base_version: 1,
        changes: [{ model: { ...model, targets: [{ upstream: "nowhere", model: "m" }] } }],
      });
      expect(wrong.status).toBe(400);
      const gone = await change({ base_version: 1, changes: [{ remove_model: "stored-chat" }] });
      expect(gone).toMatchObject({ status: 200, json: { configuration: { version: 2 } } });
      expect(await statusesOf("stored-chat", 16)).toEqual(Array(16).fill(404));
      expect(new Set(await stop())).toEqual(new Set([200]));
    });

    test("what is stored is checked beside the file in force, not beside one that is still being written", async () => {
      await writeFile(stage.config, "models: [");
      await eventually(() => expect(gateway.stderr).toContain("is not taken"), patience);
      const made = await Promise.all(
        Array.from({ length: 4 }, () =>
          change({ base_version: 0, dry_run: true, changes: [{ model: storedChat("a") }] }),
        ),
      );
      expect(made.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      await writeFile(stage.config, named("new-name"));
      await eventually(async () => expect(await statusesOf("new-name")).toEqual(Array(8).fill(200)), patience);
      await writeFile(stage.config, "models: [");
      const taken = await change({ base_version: 0, changes: [{ model: storedChat("new-name") }] });
      expect(taken, "the name is an alias in the file in force").toMatchObject({ status: 400 });
    });

    test("a key that is bound to the process is told, and the rest is taken", async () => {
      await writeFile(stage.config, `${named("new-name")}max_body_bytes: 2000\n`);
      await eventually(async () => expect(await statusOf("new-name")).toBe(200), patience);
      expect(lineOf("next start")).toMatchObject({ keys: ["max_body_bytes"] });
    });
  });
}

test("SIGHUP has one process read the file at once, and serve on", async () => {
  await start();
  await writeFile(stage.config, named("new-name"));
  gateway.child.kill("SIGHUP");
  await eventually(async () => expect(await statusOf("new-name")).toBe(200), patience);
  expect(gateway.child.exitCode).toBeNull();
});
