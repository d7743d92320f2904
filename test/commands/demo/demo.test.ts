/** `npm run demo`, run by somebody who has just cloned the repository. */
import { readFileSync } from "node:fs";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { freePort } from "../../../bench/free-port.ts";
import { startGateway } from "../../../src/composition/gateway.ts";
import { loadConfig } from "../../../src/config/config.ts";
import { hashKeySecret, verifyPassword } from "../../../src/runtime/secrets.ts";
import { openStorage, type Storage } from "../../../src/storage/storage.ts";
import { chatStatus, modelGateway, Running, root, run, starter, temporaryFolder } from "../../support/command.ts";
import { environment } from "../../support/environment.ts";
import { eventually } from "../../support/eventually.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let env: { DATA_DIR: string; PORT: string };
let running: Running | undefined;

beforeEach(async () => {
  folder = await temporaryFolder();
  env = { DATA_DIR: folder.path, PORT: String(await freePort()) };
});

afterEach(async () => {
  if (running) await interrupt(running);
  running = undefined;
  await folder.remove();
});

const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { scripts: { demo: string } };
/** npmRunsTheGateway is whether the script replaces the shell that npm starts it in. */
const npmRunsTheGateway = scripts.demo.startsWith("exec ");

type Demo = Record<string, string>;

/**
 * startDemo starts the demo in a process group of its own, as a shell does, and waits until it has printed everything.
 */
async function startDemo(): Promise<Running> {
  running = new Running("npm", ["run", "demo"], env, { detached: true });
  await running.shows(/Serving until Ctrl-C\./);
  return running;
}

/** startWithoutNpm starts the same bundled and without npm, whose own start takes as long again. */
async function startWithoutNpm(): Promise<Running> {
  running = new Running(process.execPath, [starter, "demo"], env, { detached: true });
  await running.shows(/Serving until Ctrl-C\./);
  return running;
}

/** Presses Ctrl-C: the whole group gets the signal. */
function interrupt(demo: Running) {
  if (demo.isAlive()) process.kill(-(demo.child.pid as number), "SIGINT");
  return demo.ended;
}

async function readDemo(): Promise<Demo> {
  return JSON.parse(await readFile(join(folder.path, "demo.json"), "utf8")) as Demo;
}

async function withStorage(work: (storage: Storage) => Promise<void>): Promise<void> {
  const storage = await openStorage(join(folder.path, "gateway.db"));
  try {
    await work(storage);
  } finally {
    await storage.close();
  }
}

test("makes an account, keys and a sign-in, shows a call, and serves until Ctrl-C", async () => {
  const demo = await startDemo();
  const made = await readDemo();
  expect((await stat(join(folder.path, "demo.json"))).mode & 0o777).toBe(0o600);
  expect(Object.keys(made)).toEqual([
    "root_url",
    "base_url",
    "api_key",
    "admin_key",
    "account_id",
    "email",
    "password",
  ]);
  expect(made).toMatchObject({ root_url: `http://127.0.0.1:${env.PORT}`, base_url: `http://127.0.0.1:${env.PORT}/v1` });

  await withStorage(async ({ accounts, users, keys }) => {
    expect(await accounts.find(made.account_id as string)).toMatchObject({ name: "demo" });
    const ordinary = await keys.findBySecretHash(hashKeySecret(made.api_key as string), Date.now());
    const admin = await keys.findBySecretHash(hashKeySecret(made.admin_key as string), Date.now());
    expect([ordinary, admin]).toMatchObject([
      { account_id: made.account_id, is_admin: 0, revoked_at: null },
      { account_id: made.account_id, is_admin: 1, revoked_at: null },
    ]);
    const user = await users.findByEmail(made.email as string);
    expect(user).toMatchObject({ account_id: made.account_id, is_operator: 1 });
    expect(await verifyPassword(made.password as string, user?.password_hash as string)).toBe(true);
    expect(await verifyPassword(`${made.password} `, user?.password_hash as string)).toBe(false);
  });

  // What is printed can be pasted into a shell.
  const [command] = await demo.shows(/ {2}curl (?:.*\\\n)*.*\n/);
  const pasted = await run("sh", ["-c", `${command.trim()} --silent --fail --noproxy '*'`], {});
  expect(pasted.code, pasted.stderr).toBe(0);
  const pastedAnswer = JSON.parse(pasted.stdout) as { choices: [{ message: { role: string; content: string } }] };
  expect(pastedAnswer.choices[0].message.role).toBe("assistant");
  expect(pastedAnswer.choices[0].message.content.length).toBeGreaterThan(20);

  // Its user operates the gateway: no set-up link is printed.
  expect(demo.stdout).toContain(`The dashboard is at ${made.root_url}/dashboard.`);
  expect(demo.stdout).not.toContain("set-up#");

  // The streamed answer stands between the introduction and the last line.
  const [, shown = ""] = await demo.shows(/as it streams:\n([\s\S]*)\n\nServing until/);
  expect(shown).toMatch(/simulator/i);
  expect(shown.trim().split(/\s+/).length).toBeGreaterThan(10);

  // It still serves, with both keys.
  expect(await chatStatus(made.root_url as string, made.api_key as string)).toBe(200);
  expect(await chatStatus(made.root_url as string, made.admin_key as string)).toBe(200);
  const ended = await interrupt(demo);
  expect(ended.stderr).toBe("");
  // A shell between npm and the gateway dies of the signal itself, and npm says so.
  if (npmRunsTheGateway) expect(ended.code).toBe(0);
  else expect([0, "SIGINT"]).toContain(ended.code ?? ended.signal);
  // Only the ordinary key is shown; the rest stays in the file.
  for (const name of ["admin_key", "password"]) expect(demo.stdout).not.toContain(made[name]);
});

test("is ready only when demo.json is there", async () => {
  running = new Running("npm", ["run", "demo"], env, { detached: true });
  const ready = async () => (await fetch(`http://127.0.0.1:${env.PORT}/readyz`)).status === 200;
  await eventually(async () => expect(await ready()).toBe(true), 60_000);
  expect(await chatStatus(`http://127.0.0.1:${env.PORT}`, (await readDemo()).api_key as string)).toBe(200);
});

test("is alive, takes calls and is not ready while its start is still being made", async () => {
  await withStorage(async (storage) => {
    const config = { ...loadConfig(undefined, environment), port: 0, dataDir: folder.path, metrics: undefined };
    const gateway = await startGateway({ config, storage, log: pino({ level: "silent" }), isPreparing: true });
    try {
      const standing = async (path: string) => {
        const answer = await fetch(`http://127.0.0.1:${gateway.port}/${path}`);
        return [answer.status, ((await answer.json()) as { status: string }).status];
      };
      expect(await standing("readyz")).toEqual([503, "starting"]);
      expect(await standing("healthz")).toEqual([200, "ok"]);
      expect((await fetch(`http://127.0.0.1:${gateway.port}/v1/models`)).status).toBe(401);
      gateway.prepared();
      expect(await standing("readyz")).toEqual([200, "ok"]);
    } finally {
      await gateway.close();
    }
  });
});

test("ends with exit code 0 on Ctrl-C", async () => {
  expect(await interrupt(await startWithoutNpm())).toMatchObject({ code: 0, stderr: "" });
});

test("ends with exit code 0 where one Ctrl-C echoes until it has ended", async () => {
  running = new Running(process.execPath, [starter, "demo"], env, { detached: true });
  await running.shows(/Serving until Ctrl-C\./);
  const begunAt = performance.now();
  const again = setInterval(() => {
    // A signal half a second later is another Ctrl-C, not an echo.
    if (performance.now() - begunAt > 400) clearInterval(again);
    else void interrupt(running as Running);
  }, 0);
  const { code, signal, stderr } = await running.ended;
  clearInterval(again);
  expect({ code, signal, stderr }).toEqual({ code: 0, signal: null, stderr: "" });
});

// A shell in between would keep the signal to itself.
test.runIf(npmRunsTheGateway)("ends with exit code 0 when only npm is asked to stop", async () => {
  const demo = await startDemo();
  expect(await demo.stop("SIGINT")).toMatchObject({ code: 0 });
  await expect(fetch(`http://127.0.0.1:${env.PORT}/healthz`)).rejects.toThrow();
});

test("uses everything again on a second start, at whatever port", async () => {
  await interrupt(await startWithoutNpm());
  const first = await readDemo();
  env = { ...env, PORT: String(await freePort()) };
  await startWithoutNpm();
  const { root_url, base_url, ...rest } = await readDemo();
  expect(rest).toEqual({
    api_key: first.api_key,
    admin_key: first.admin_key,
    account_id: first.account_id,
    email: first.email,
    password: first.password,
  });
  expect([root_url, base_url]).toEqual([`http://127.0.0.1:${env.PORT}`, `http://127.0.0.1:${env.PORT}/v1`]);
  await withStorage(async ({ accounts, keys }) => {
    expect(await accounts.list()).toHaveLength(1);
    expect(await keys.list()).toHaveLength(2);
  });
});

describe("repairs a demo.json", () => {
  for (const [name, text] of [
    ["that is no JSON", '{"api_key": "sk-'],
    ["that holds null", "null"],
    ["that holds the wrong types", '{"api_key": 5, "admin_key": {}, "password": ["x"]}'],
    ["that is empty", ""],
  ] as const) {
    test(name, async () => {
      const file = join(folder.path, "demo.json");
      await writeFile(file, text, { mode: 0o644 });
      await startWithoutNpm();
      const made = await readDemo();
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect(await chatStatus(made.root_url as string, made.api_key as string)).toBe(200);
    });
  }

  test("whose key was revoked, whose keys are swapped or of others, and whose password is not right", async () => {
    await interrupt(await startWithoutNpm());
    const first = await readDemo();
    const file = join(folder.path, "demo.json");

    await withStorage(async ({ keys }) => {
      const key = await keys.findBySecretHash(hashKeySecret(first.api_key as string), Date.now());
      await keys.revoke(key?.id as string, Date.now());
    });
    await interrupt(await startWithoutNpm());
    const second = await readDemo();
    expect(second.api_key).not.toBe(first.api_key);
    expect([second.admin_key, second.password]).toEqual([first.admin_key, first.password]);

    await modelGateway(["accounts", "create", "--name", "other"], env);
    const foreign = await modelGateway(["keys", "create", "--account", "other", "--name", "k"], env);
    const spoilt = { ...second, api_key: foreign.stdout.trim(), admin_key: second.api_key, password: "wrong" };
    await writeFile(file, JSON.stringify(spoilt));
    await withStorage(async ({ users }) => {
      const { id = "", account_id = "" } = (await users.findByEmail(first.email as string)) ?? {};
      await users.insert({
        id: "usr_other",
        account_id,
        email: "o@x",
        password_hash: "",
        created_at: 0,
        is_operator: 1,
      });
      expect(await users.setOperator(id, false)).toBe("changed");
    });
    await interrupt(await startWithoutNpm());
    const third = await readDemo();
    await withStorage(async ({ keys, users }) => {
      const ordinary = await keys.findBySecretHash(hashKeySecret(third.api_key as string), Date.now());
      const admin = await keys.findBySecretHash(hashKeySecret(third.admin_key as string), Date.now());
      expect(ordinary).toMatchObject({ account_id: first.account_id, is_admin: 0, revoked_at: null });
      expect(admin).toMatchObject({ account_id: first.account_id, is_admin: 1, revoked_at: null });
      const user = await users.findByEmail(third.email as string);
      expect(user?.is_operator).toBe(1);
      expect(await verifyPassword(third.password as string, user?.password_hash as string)).toBe(true);
      expect(await verifyPassword(first.password as string, user?.password_hash as string)).toBe(false);
    });
  });

  test("that speaks of another database", async () => {
    await writeFile(
      join(folder.path, "demo.json"),
      JSON.stringify({ api_key: "sk-lost", admin_key: "sk-lost", account_id: "acc_lost", password: "lost" }),
    );
    await startWithoutNpm();
    const made = await readDemo();
    expect(made.account_id).not.toBe("acc_lost");
    expect(await chatStatus(made.root_url as string, made.api_key as string)).toBe(200);
  });
});

test("shows the embedded model also beside a configuration that leaves it out", async () => {
  const file = join(folder.path, "gateway.yaml");
  await writeFile(file, "embedded_models: false\n");
  running = new Running("npm", ["run", "demo"], { ...env, GATEWAY_CONFIG: file }, { detached: true });
  await running.shows(/simulator[\s\S]*Serving until Ctrl-C\./i);
});

test("says what to do when its port is taken, and makes nothing up", async () => {
  await startWithoutNpm();
  const before = await readDemo();
  const second = await run("npm", ["run", "--silent", "demo"], env);
  expect(second).toMatchObject({
    code: 1,
    stdout: "",
    stderr: `model-gateway: cannot listen on 127.0.0.1, port ${env.PORT}: the port is taken. Stop what uses it, or set PORT to another\n`,
  });
  expect(await readDemo()).toEqual(before);
});
