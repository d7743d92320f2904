/** How the lines of the log come out: many at a time, soon, in order, and all of them, whatever becomes of the process. */
import { closeSync, openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { collectLines } from "../../src/commands/serving/log-lines.ts";
import { chatStatus, Running, root, startServer, temporaryFolder } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeEach(async () => {
  folder = await temporaryFolder();
});
afterEach(async () => {
  vi.useRealTimers();
  await folder.remove();
});

/** A log into a file, which sees time only where a test lets it go on. */
function logIntoFile() {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const path = join(folder.path, "log");
  const fd = openSync(path, "a");
  const lines = collectLines(fd);
  return { log: pino({ level: "info" }, lines), said: () => said(readFileSync(path, "utf8")), fd };
}

function said(text: string): string[] {
  const lines = text.split("\n").filter((line) => line.startsWith("{"));
  return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
}

test("a line waits for others, and a tenth of a second at most", async () => {
  const { log, said, fd } = logIntoFile();
  for (const word of ["one", "two"]) log.info(word);
  vi.advanceTimersByTime(99);
  expect(said()).toEqual([]);
  log.info("three");
  vi.advanceTimersByTime(1);
  await eventually(() => expect(said()).toEqual(["one", "two", "three"]));
  expect(vi.getTimerCount()).toBe(0);
  closeSync(fd);
});

test("a warning and an error come at once, with what was said before", async () => {
  const { log, said, fd } = logIntoFile();
  log.info("calm");
  log.warn("warned");
  log.info("calm again");
  log.error("failed");
  await eventually(() => expect(said()).toEqual(["calm", "warned", "calm again", "failed"]));
  closeSync(fd);
});

test("lines come at once where they are many", async () => {
  const { log, said, fd } = logIntoFile();
  const words = Array.from({ length: 1000 }, (_, i) => `line ${i}`);
  for (const word of words) log.info(word);
  // No timer runs: what is here came without one.
  await eventually(() => expect(said().length).toBeGreaterThan(500));
  expect(said()).toEqual(words.slice(0, said().length));
  // A line that is still to come would go to whatever has the number of the descriptor by then, as a pipe of the next test's.
  await eventually(() => {
    vi.advanceTimersByTime(100);
    expect(said()).toEqual(words);
  });
  closeSync(fd);
});

/** A process with a log, which does this. */
function program(body: string): Running {
  const url = pathToFileURL(join(root, "src/commands/serving/log-lines.ts"));
  const script = `import { openLog } from ${JSON.stringify(url)}; const log = openLog("info"); ${body}`;
  return new Running(process.execPath, ["--input-type=module", "-e", script], {});
}

test.each([
  ["comes to its end", ""],
  ["exits", "process.exit(3)"],
  ["fails", "throw new Error('nobody caught this')"],
  ["fails later", "setImmediate(() => { log.warn('b'); log.info('c'); null.property })"],
])("nothing is lost where the process %s", async (_, end) => {
  const { stderr } = await program(`log.info("a"); ${end}`).ended;
  // What was being written at that moment may come after the rest.
  expect(said(stderr).sort()).toEqual(end.includes("log.") ? ["a", "b", "c"] : ["a"]);
});

/**
 * Runs a program whose log is not read before it has gone on, and then until what was read passes the check. It ends after that: at its
 * end it would wait a second for its reader, and no longer.
 */
async function readLate(body: string, check: (stderr: string) => void): Promise<void> {
  const slow = program(`process.once("SIGTERM", () => process.exit());
    setInterval(() => undefined, 1000);
    ${body}
    setTimeout(() => console.log("went on"), 200);`);
  try {
    slow.child.stderr?.pause();
    await slow.shows(/went on/);
    slow.child.stderr?.resume();
    await eventually(() => check(slow.stderr));
  } finally {
    await slow.stop();
  }
}

test("nobody waits for a slow reader, who finds all lines in their order", async () => {
  const words = Array.from({ length: 20_000 }, (_, i) => `line ${i}`);
  await readLate(`for (let i = 0; i < ${words.length}; i++) log.info("line " + i);`, (stderr) => {
    expect(said(stderr)).toEqual(words);
  });
});

test("what is too much to keep for a slow reader is left out and counted", async () => {
  await readLate(`for (let i = 0; i < 30_000; i++) log.info("x".repeat(1000));`, (stderr) => {
    const told = /"lines":(\d+),"msg":"lines of the log are left out/.exec(stderr);
    const written = said(stderr).filter((word) => word.startsWith("x"));
    expect(Number(told?.[1])).toBeGreaterThan(5000);
    expect(written.length + Number(told?.[1])).toBe(30_000);
  });
});

test("a gateway goes on when nobody reads its log any more, and ends as ever", async () => {
  const { server, rootUrl } = await startServer([], { DATA_DIR: folder.path });
  server.child.stderr?.destroy();
  for (let i = 0; i < 100; i++) expect(await chatStatus(rootUrl, "sk-unknown")).toBe(401);
  expect((await server.stop()).code).toBe(0);
});

test("a gateway that is asked to stop tells of its last calls", async () => {
  const { server, rootUrl } = await startServer([], { DATA_DIR: folder.path });
  for (let i = 0; i < 3; i++) await chatStatus(rootUrl, "sk-unknown");
  const { stderr, code } = await server.stop();
  expect(code).toBe(0);
  expect(stderr.match(/"status":401/g)).toHaveLength(3);
});
