/** The first minute: the gateway starts on nothing but Node, and somebody makes an account, a key and a call. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { chatStatus, modelGateway, type Running, startServer, temporaryFolder } from "../support/command.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let server: Running;
let rootUrl: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  ({ server, rootUrl } = await startServer([], { DATA_DIR: folder.path }));
});

afterAll(async () => {
  await server.stop();
  await folder.remove();
});

/** Runs the command line over the same folder, and returns what it prints. */
async function command(...args: string[]): Promise<string> {
  return (await modelGateway(args, { DATA_DIR: folder.path })).stdout.trim();
}

test("an empty folder is enough: it says where it serves, and shows the link that makes the first user", async () => {
  expect((await fetch(`${rootUrl}/readyz`)).status).toBe(200);
  await server.shows(/\/dashboard\/set-up#/);
});

test("an account and a key from the command line are all that a call needs", async () => {
  expect(await command("accounts", "create", "--name", "acme")).toMatch(/^acc_/);
  const secret = await command("keys", "create", "--account", "acme", "--name", "first");
  expect(secret).toMatch(/^sk-/);
  expect(await chatStatus(rootUrl, "sk-of-nobody")).toBe(401);
  expect(await chatStatus(rootUrl, secret)).toBe(200);
});
