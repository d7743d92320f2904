/**
 * Commands that change several things, where the database refuses one of them: nothing is changed, and the same command does all later.
 * And those whose output cannot be written.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, expect, test } from "vitest";
import { freePort } from "../../bench/free-port.ts";
import { bin, Running, run, startCommands, starter, systemNode, temporaryFolder } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";

const folder = await temporaryFolder();
const commands = startCommands();
afterAll(async () => {
  await commands.close();
  await folder.remove();
});

/** Makes a folder of data in which a table takes no row, until the returned function is called. */
async function dataThatRefuse(table: string, name = table): Promise<{ env: { DATA_DIR: string }; relent: () => void }> {
  const env = { DATA_DIR: join(folder.path, name) };
  await commands.run(["accounts", "create", "--name", "first"], env);
  const change = (sql: string) => {
    const sqlite = new Sqlite(join(env.DATA_DIR, "gateway.db"));
    sqlite.exec(sql);
    sqlite.close();
  };
  change(`CREATE TRIGGER refuse BEFORE INSERT ON ${table} BEGIN SELECT RAISE(ABORT, 'it is refused'); END`);
  return { env, relent: () => change("DROP TRIGGER refuse") };
}

const create = ["accounts", "create", "--name", "whole", "--grant", "5"];

test.each(["ledger_entries", "acts"])("an account comes with its grant, where %s takes no row", async (table) => {
  const { env, relent } = await dataThatRefuse(table);
  expect(await commands.run(create, env)).toMatchObject({ code: 1, stdout: "" });
  expect((await commands.run(["accounts", "list"], env)).stdout).not.toMatch(/ whole$/m);
  relent();
  const made = await commands.run(create, env);
  expect(made).toMatchObject({ code: 0, stderr: "", stdout: expect.stringMatching(/^acc_\w+\n$/) });
  expect((await commands.run(["accounts", "list"], env)).stdout).toMatch(/ 5\.00 .* whole$/m);
  const sqlite = new Sqlite(join(env.DATA_DIR, "gateway.db"));
  const events = sqlite.prepare("SELECT action FROM acts WHERE account_id = ?").pluck().all(made.stdout.trim());
  sqlite.close();
  expect(events.sort()).toEqual(["OperatorService.CreateAccount", "OperatorService.RecordEntry"]);
});

test("what was refused is in the audit log, and an event that cannot be written is told of in a line", async () => {
  const env = { DATA_DIR: join(folder.path, "acts") };
  expect(await commands.run(create, env)).toMatchObject({ code: 2, stdout: "" });
  const sqlite = new Sqlite(join(env.DATA_DIR, "gateway.db"));
  const refused = sqlite.prepare("SELECT count(*) FROM acts WHERE refused = 'CONFLICT'").pluck();
  expect(refused.get()).toBe(1);
  sqlite.exec("CREATE TRIGGER refuse BEFORE INSERT ON acts BEGIN SELECT RAISE(ABORT, 'it is refused'); END");
  sqlite.close();
  const { code, stderr } = await commands.run(["recharge", "--account", "whole", "--amount", "1"], env);
  expect({ code, lines: stderr.trimEnd().split("\n") }).toEqual({
    code: 0,
    lines: [
      "model-gateway: the audit log could not be written: it is refused",
      expect.stringMatching(/^Recorded the recharge of 1\.00 /),
    ],
  });
});

test("credentials are not written before it is in the audit log that they are", async () => {
  const { env, relent } = await dataThatRefuse("acts", "exported");
  const file = join(folder.path, "exported.yaml");
  const exporting = ["config", "export", "--with-secrets", "--file", file];
  expect((await commands.run(exporting, env)).code).toBe(1);
  expect(existsSync(file)).toBe(false);
  relent();
  expect((await commands.run(exporting, env)).code).toBe(0);
  expect(existsSync(file)).toBe(true);
});

/** A device of Linux that takes nothing, as a disk that is full. */
const full = "/dev/full";

test.skipIf(!existsSync(full)).each([
  ["a secret", ["keys", "create", "--account", "first", "--name", "k"]],
  ["several lines", ["codes", "create", "--amount", "1", "--count", "3"]],
  ["a list", ["accounts", "list"]],
  ["a stream", ["backup", "-"]],
])("output that cannot be written is told of in a line: %s", async (_, args) => {
  const env = { DATA_DIR: join(folder.path, "printing") };
  await commands.run(["accounts", "create", "--name", "first"], env);
  const { code, stderr } = await run("sh", ["-c", `"$0" "$@" > ${full}`, systemNode, bin, ...args], env);
  const [last, ...before] = stderr.trimEnd().split("\n").reverse();
  expect({ code, last }).toEqual({
    code: 1,
    last:
      "model-gateway: standard output: the disk is full. Make room on it, or choose another place. " +
      "What could not be printed is lost",
  });
  for (const line of before) expect(line).toMatch(/^Created /);
});

test.skipIf(!existsSync(full))("a gateway that cannot print where it serves goes on", async () => {
  const port = await freePort();
  const env = { DATA_DIR: join(folder.path, "serving"), PORT: String(port) };
  const command = `exec "$0" "$@" > ${full}`;
  const server = new Running("sh", ["-c", command, process.execPath, starter, "serve"], env);
  try {
    await eventually(async () => expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200));
  } finally {
    await server.stop();
  }
  expect(await server.ended).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("standard output: the disk is"),
  });
});
