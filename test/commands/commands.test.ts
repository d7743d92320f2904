/**
 * The command line, as a person or a script runs it: real processes, through the system's own Node.
 */

import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import Sqlite from "better-sqlite3";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../bench/free-port.ts";
import { actionsOf, firstWords, groups, specs } from "../../src/commands/line/table.ts";
import { hashKeySecret } from "../../src/runtime/secrets.ts";
import { openStorage } from "../../src/storage/storage.ts";
import {
  bin,
  type Commands,
  chatStatus,
  modelGateway,
  Running,
  root,
  run,
  startCommands,
  starter,
  startServer,
  systemNode,
  temporaryFolder,
} from "../support/command.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let env: { DATA_DIR: string };
/** For tables of commands; the others are processes of their own, as when a person runs them. */
let commands: Commands;

beforeAll(async () => {
  folder = await temporaryFolder();
  commands = startCommands();
  env = { DATA_DIR: join(folder.path, "data") };
});

afterAll(async () => {
  await commands.close();
  await folder.remove();
});

describe("accounts and keys", () => {
  test("are made, listed and revoked, with nothing but the result on standard output", async () => {
    const account = await modelGateway(["accounts", "create", "--name", " Acme Ltd "], env);
    expect(account).toMatchObject({
      code: 0,
      stderr: `There was no database yet: made ${join(env.DATA_DIR, "gateway.db")}.\n`,
    });
    expect(account.stdout).toMatch(/^acc_[0-9a-z]{25}\n$/);
    const accountId = account.stdout.trim();

    const byName = await modelGateway(["keys", "create", "--account", "Acme Ltd", "--name", "web"], env);
    expect(byName.code).toBe(0);
    expect(byName.stdout).toMatch(/^sk-[\w-]{43}\n$/);
    const [, keyId = ""] = /Created (key_\w+)\./.exec(byName.stderr) ?? [];
    expect(byName.stderr).not.toContain(byName.stdout.trim());
    const byId = await modelGateway(["keys", "create", `--account=${accountId}`, "--name=batch"], env);
    expect(byId.code).toBe(0);

    const accounts = await modelGateway(["accounts", "list"], env);
    expect(accounts.stdout).toMatch(
      new RegExp(
        `^ID +CREATED +TIER +BALANCE +STATUS +BUDGETS +TIME ZONE +NAME\n${accountId}  \\S+Z  Free  0.00 +prepaid +- +UTC +Acme Ltd\n$`,
      ),
    );

    const revoked = await modelGateway(["keys", "revoke", keyId], env);
    expect(revoked).toMatchObject({ code: 0, stdout: "", stderr: `Revoked ${keyId}. It is refused from now on.\n` });

    const list = await modelGateway(["keys", "list", "--account", "Acme Ltd"], env);
    const [head, web, batch, ...more] = list.stdout.trimEnd().split("\n");
    expect(head).toMatch(
      /^ID +ACCOUNT +SECRET +STATUS +ADMIN +CREATED +EXPIRES +SPENT +LIMIT +BUDGETS +MODELS +RATES +AT A TIME +ADDRESSES +TAGS +OWNER +NAME$/,
    );
    expect(web).toMatch(new RegExp(`^${keyId}  ${accountId}  sk-.….{4}  revoked  no +\\S+Z +- +0.00 +-( +-){7} +web$`));
    expect(batch).toMatch(/ active +no .* batch$/);
    expect(more).toEqual([]);
    for (const secret of [byName.stdout.trim(), byId.stdout.trim()]) {
      expect(list.stdout + list.stderr).not.toContain(secret);
      expect(list.stdout).not.toContain(hashKeySecret(secret));
    }
  });

  test("are made by `npx model-gateway`, too", async () => {
    const made = await run("npx", ["--no-install", "model-gateway", "accounts", "create", "--name", "by npx"], env);
    expect(made.code, made.stderr).toBe(0);
    expect(made.stdout).toMatch(/^acc_\w+\n$/);
  });

  test("made beside a running server authenticate at once, and are refused at once when revoked", async () => {
    const { server, rootUrl } = await startServer([], env);
    try {
      await modelGateway(["accounts", "create", "--name", "live"], env);
      const made = await modelGateway(["keys", "create", "--account", "live", "--name", "k"], env);
      const secret = made.stdout.trim();
      expect(await chatStatus(rootUrl, secret), server.stderr).toBe(200);
      const [keyId = ""] = /key_\w+/.exec(made.stderr) ?? [];
      expect((await modelGateway(["keys", "revoke", keyId], env)).code).toBe(0);
      expect(await chatStatus(rootUrl, secret)).toBe(401);
      const { code, stdout, stderr } = await server.stop();
      expect(code).toBe(0);
      expect(stdout + stderr).not.toContain(secret);
      expect(stderr).not.toContain("call failed");
    } finally {
      await server.stop();
    }
  });
});

describe("money", () => {
  const own = () => ({ DATA_DIR: join(folder.path, "money") });

  test("comes by recharge, goes by refund, and is proved", async () => {
    const account = (await commands.run(["accounts", "create", "--name", "m", "--grant", "5"], own())).stdout.trim();
    const recharge = [
      "recharge",
      "--account",
      "m",
      "--amount",
      "20.50",
      "--note",
      "invoice 1",
      "--idempotency-key",
      "i1",
    ];
    const first = await commands.run(recharge, own());
    expect(first).toMatchObject({ code: 0, stdout: expect.stringMatching(/^led_[0-9a-z]{25}\n$/) });
    expect(first.stderr).toBe(
      `Recorded the recharge of 20.50 JPY for m (${account}). Its balance is 25.50 JPY, its tier VIP.\n`,
    );
    const again = await commands.run(recharge, own());
    expect(again).toMatchObject({ code: 0, stdout: first.stdout });
    expect(again.stderr).toMatch(
      /^Nothing was moved: the recharge of 20\.50 JPY for m \(acc_\w+\) was recorded under this key at \S+Z\. Its balance is 25\.50 JPY, its tier VIP\.\n$/,
    );
    const other = await commands.run([...recharge, "--amount", "21"], own());
    expect(other).toMatchObject({
      code: 2,
      stdout: "",
      stderr: expect.stringContaining("This `--idempotency-key` was used"),
    });
    const refund = await commands.run(["refund", "--account", account, "--amount", "0.500001"], own());
    expect(refund.stderr).toContain("Recorded the refund of 0.500001 JPY for m ");
    expect(refund.stderr).toContain("Its balance is 24.999999 JPY, its tier Free.");
    const proof = await commands.run(["reconcile"], own());
    expect(proof).toMatchObject({ code: 0, stderr: "" });
    expect(proof.stdout).toBe("The sums hold: 1 account, 0 keys, 3 ledger entries, 0 calls.\n");
  });

  test("that does not add up is named, with exit code 1", async () => {
    const env = { DATA_DIR: join(folder.path, "tampered") };
    const id = (await commands.run(["accounts", "create", "--name", "m", "--grant", "5"], env)).stdout.trim();
    const sqlite = new Sqlite(join(env.DATA_DIR, "gateway.db"));
    sqlite.exec("UPDATE accounts SET balance = balance + 1");
    sqlite.close();
    expect(await commands.run(["reconcile"], env)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(new RegExp(`^balance of ${id}: 5.000001 is written, 5.00 follows\n\n.*alone`)),
      stderr: expect.stringContaining("1 finding in"),
    });
    const told = await commands.run(["reconcile", "--json"], env);
    const finding = { kind: "balance", what: `balance of ${id}`, written: 5_000_001, derived: 5_000_000 };
    expect([told.code, JSON.parse(told.stdout)]).toEqual([
      1,
      expect.objectContaining({
        holds: false,
        findings: [expect.objectContaining({ ...finding, repairable: true, repaired: false })],
      }),
    ]);
    const repaired = await commands.run(["reconcile", "--repair"], env);
    expect(repaired).toMatchObject({
      code: 1,
      stdout: expect.stringContaining(`Repaired: balance of ${id}`),
      stderr: expect.stringContaining("Repeat it without --repair"),
    });
    expect(await commands.run(["reconcile", "--full"], env)).toMatchObject({ code: 0 });
  });

  test("on paper is written once, listed masked, and taken back", async () => {
    const env = { DATA_DIR: join(folder.path, "codes") };
    await commands.run(["accounts", "create", "--name", "first"], env);
    const made = await commands.run(["codes", "create", "--amount", "5", "--count", "3"], env);
    const codes = made.stdout.trimEnd().split("\n");
    expect(codes).toHaveLength(3);
    for (const code of codes) expect(code).toMatch(/^([0-9A-HJKMNP-TV-Z]{5}-){3}[0-9A-HJKMNP-TV-Z]{5}$/);
    const [batch = ""] = /bat_\w+/.exec(made.stderr) ?? [];
    expect((await commands.run(["codes", "revoke", batch], env)).stderr).toBe(
      `Took back 3 of the codes of ${batch}.\n`,
    );
    const list = (await commands.run(["codes", "list", "--batch", batch], env)).stdout;
    expect(list.match(/ 5\.00 +revoked /g)).toHaveLength(3);
    for (const code of codes) expect(list).not.toContain(code);
    expect((await commands.run(["codes", "revoke", "bat_none"], env)).code).toBe(2);
  });

  test("and a key are made once under an idempotency key, also where nobody has read what was printed", async () => {
    const env = { DATA_DIR: join(folder.path, "once") };
    await commands.run(["accounts", "create", "--name", "a"], env);
    const key = ["keys", "create", "--account", "a", "--name", "k", "--credit-limit", "2"];
    for (const [what, ...command] of [["bat", "codes", "create", "--amount", "5"] as const, ["key", ...key] as const]) {
      const once = [...command, "--idempotency-key", "o"];
      const [id] = new RegExp(`${what}_\\w+`).exec((await commands.run(once, env)).stderr) ?? [];
      const again = await commands.run(once, env);
      expect(again).toMatchObject({ code: 1, stdout: "" });
      expect(again.stderr).toMatch(
        new RegExp(`nothing was created: ${id} was before, .*\`${command[0]} revoke ${id}\``),
      );
      const other = await commands.run([...once, "--expires", "2090-01-01T00:00:00Z"], env);
      expect(other).toMatchObject({
        code: 2,
        stdout: "",
        stderr: expect.stringContaining("`--idempotency-key` was used"),
      });
      const list = (await commands.run([`${command[0]}`, "list"], env)).stdout;
      expect(list.match(new RegExp(`${what}_`, "g"))).toHaveLength(1);
    }
  });

  test("is bounded by a key, which can be switched off and on", async () => {
    await commands.run(["accounts", "create", "--name", "bounded"], env);
    const limits = ["--credit-limit", "2.50", "--model", "family:embedded", "--model", "tts-1"];
    const expiry = ["--expires", "2090-01-01T00:00:00+09:00"];
    const made = await commands.run(
      ["keys", "create", "--account", "bounded", "--name", "k", ...limits, ...expiry],
      env,
    );
    expect(made.code, made.stderr).toBe(0);
    const [id = ""] = /key_\w+/.exec(made.stderr) ?? [];
    const list = async () => (await commands.run(["keys", "list", "--account", "bounded"], env)).stdout;
    expect(await list()).toMatch(
      / active .* 2089-12-31T15:00:00\.000Z +0\.00 +2\.50 +- +family:embedded, tts-1( +-){5} +k\n/,
    );
    const models = ["embedded-chat", "embedded-embedding", "tts-1", "family:embedded"];
    const many = models.flatMap((model) => ["--model", model]);
    const of = await commands.run(["keys", "create", "--account", "bounded", "--name", "many", ...many], env);
    expect(of.code, of.stderr).toBe(0);
    expect(await list()).toMatch(
      /Z +- +0\.00 +- +- +embedded-chat, embedded-embedding, tts-1, and 1 more( +-){5} +many\n$/,
    );
    expect((await commands.run(["keys", "disable", id], env)).stderr).toBe(
      `Disabled ${id}. It is refused from now on.\n`,
    );
    expect(await list()).toContain(" disabled ");
    expect((await commands.run(["keys", "enable", id], env)).code).toBe(0);
    expect(await list()).toContain(" active ");
    const storage = await openStorage(join(env.DATA_DIR, "gateway.db"));
    const expires_at = Date.UTC(2089, 11, 31, 15);
    const key = await storage.keys.findWithAccount(id);
    const bounds = { credit_limit: 2_500_000, models: '["family:embedded","tts-1"]', expires_at };
    expect(key).toMatchObject({ ...bounds, is_admin: 0 });
    // The audit log has the same events as for the RPCs, newest first.
    const permitted = { models: ["family:embedded", "tts-1"], expires_at: "2089-12-31T15:00:00.000Z" };
    const acts = await storage.auditEvents.page({ accountId: key?.account_id, limit: 4 });
    expect(acts.map(({ action, subject, details, actor_kind }) => [action, subject, details, actor_kind])).toEqual([
      ["KeyService.UpdateKey", id, '{"disabled":false}', "command_line"],
      ["KeyService.UpdateKey", id, '{"disabled":true}', "command_line"],
      ["KeyService.CreateKey", expect.any(String), JSON.stringify({ name: "many", models }), "command_line"],
      ["KeyService.CreateKey", id, JSON.stringify({ name: "k", credit_limit: "2.50", ...permitted }), "command_line"],
    ]);
    await storage.close();
  });

  test("is spent within budgets of keys and accounts, which are changed and taken away again", async () => {
    const env = { DATA_DIR: join(folder.path, "budgeted") };
    await commands.run(["accounts", "create", "--name", "budgeted"], env);
    const budgets = ["--budget", "10/day", "--budget=100.5/rolling-month"];
    const made = await commands.run(["keys", "create", "--account", "budgeted", "--name", "k", ...budgets], env);
    expect(made.code, made.stderr).toBe(0);
    const [id = ""] = /key_\w+/.exec(made.stderr) ?? [];
    const list = async () => (await commands.run(["keys", "list"], env)).stdout;
    expect(await list()).toContain(" 10.00/day, 100.50/rolling-month ");
    expect((await commands.run(["keys", "update", id, "--budget", "5/week"], env)).code).toBe(0);
    expect(await list()).toContain(" 5.00/week ");
    expect((await commands.run(["keys", "update", id, "--budget="], env)).code).toBe(0);
    const below = await commands.run(["keys", "update", id, "--budget", "-1/day"], env);
    expect([below.code, below.stderr]).toEqual([
      2,
      expect.stringContaining(
        "--budget needs AMOUNT/PERIOD, as 10/day or 10/rolling-day, and no value begins with a hyphen",
      ) as string,
    ]);
    expect(await list()).not.toContain("/week");
    const zone = ["accounts", "update", "budgeted", "--budget", "50/month", "--time-zone", "asia/tokyo"];
    expect((await commands.run(zone, env)).stderr).toMatch(/^Changed budgeted /);
    const storage = await openStorage(join(env.DATA_DIR, "gateway.db"));
    const account = await storage.accounts.find("budgeted");
    await storage.close();
    expect(account?.time_zone).toBe("Asia/Tokyo");
    expect(JSON.parse(account?.budgets ?? "")).toEqual([
      { id: expect.stringMatching(/^bud_/), amount: 50_000_000, period: "month", rolling: false, byOperator: true },
    ]);
    expect((await commands.run(["accounts", "list"], env)).stdout).toMatch(/ 50\.00\/month +Asia\/Tokyo +budgeted\n$/);
    for (const wrong of ["10", "10/year", "/day", "0/day", "x/day", "10/rolling"])
      expect((await commands.run(["keys", "update", id, "--budget", wrong], env)).stderr, wrong).toMatch(/--budget: /);
    const nowhere = await commands.run(["accounts", "update", "budgeted", "--time-zone", "Mars/Base"], env);
    expect([nowhere.code, nowhere.stderr]).toEqual([expect.any(Number), expect.stringMatching(/no such time zone/)]);
    expect((await commands.run(["accounts", "update", "budgeted"], env)).code).not.toBe(0);
  });

  test("is spent no faster than a key's own limits allow, which are changed and taken away again", async () => {
    const env = { DATA_DIR: join(folder.path, "limited") };
    await commands.run(["accounts", "create", "--name", "limited"], env);
    const limits = [
      "--rpm",
      "60",
      "--tpm=9000",
      "--max-concurrent",
      "3",
      "--tag",
      "team a",
      "--tag=b",
      "--owner",
      "Ada",
    ];
    const made = await commands.run(["keys", "create", "--account", "limited", "--name", "k", ...limits], env);
    expect(made.code, made.stderr).toBe(0);
    const [id = ""] = /key_\w+/.exec(made.stderr) ?? [];
    const list = async (...more: string[]) => (await commands.run(["keys", "list", ...more], env)).stdout;
    expect(await list()).toMatch(/ rpm=60, tpm=9000 +3 +- +team a, b +Ada +k\n$/);
    const more = [
      "--rpm=",
      "--model-rate",
      "family:embedded=5,100",
      "--model-rate=tts-1=,7",
      "--allow-ip",
      "192.0.2.0/24",
    ];
    const changed = await commands.run(["keys", "update", id, ...more, "--tag="], env);
    expect([changed.code, changed.stderr]).toEqual([0, `Changed ${id}. It holds from the next call on.\n`]);
    expect(await list()).toMatch(/ tpm=9000, family:embedded=5,100, tts-1=,7 +3 +192\.0\.2\.0\/24 +- +Ada +k\n$/);
    expect(await list("--owner", "Ada")).toContain(id);
    expect(await list("--tag", "b")).not.toContain(id);
    for (const [args, words] of [
      [[], "keys update changes nothing without an option"],
      [["--rpm", "0"], "--rpm: expected a whole number from 1 to 1000000"],
      [["--tpm", "1e3"], "--tpm: expected a whole number"],
      [["--model-rate", "m=x"], "--model-rate: expected MODEL=RPM,TPM"],
      [["--model-rate", "gone=5"], "there is no model `gone` here"],
      [["--allow-ip", "192.0.2.0/33"], "expected an address or a network"],
      [["--tag", "x".repeat(65)], "--tag: expected 1 to 64 characters"],
    ] as const)
      expect((await commands.run(["keys", "update", id, ...args], env)).stderr).toContain(words);
    const unknown = await commands.run(["keys", "update", "key_none", "--rpm", "5"], env);
    expect([unknown.code, unknown.stderr]).toEqual([2, expect.stringContaining("there is no key key_none")]);
  });

  test("is no matter while an account is suspended", async () => {
    await commands.run(["accounts", "create", "--name", "late"], env);
    const suspended = await commands.run(["accounts", "suspend", "late"], env);
    expect(suspended).toMatchObject({ code: 0, stdout: "" });
    expect(suspended.stderr).toMatch(
      /^Suspended late \(acc_\w+\)\. Its calls are refused from now on, and its users are signed out\.\n$/,
    );
    expect((await commands.run(["accounts", "list"], env)).stdout).toMatch(/ suspended +- +UTC +late\n/);
    const reinstated = await commands.run(["accounts", "reinstate", "late"], env);
    expect(reinstated).toMatchObject({ code: 0, stdout: "" });
    expect(reinstated.stderr).toContain("Its calls are answered from now on; its users sign in anew.");
    expect((await commands.run(["accounts", "list"], env)).stdout).toMatch(/ prepaid +- +UTC +late\n/);
  });
});

test("a gateway.yaml beside which the gateway starts without it is named", async () => {
  const cwd = join(folder.path, "beside");
  await mkdir(cwd);
  await writeFile(join(cwd, "gateway.yaml"), "port: 0\n");
  const told = "gateway.yaml of this folder is not read: `--config gateway.yaml`, or GATEWAY_CONFIG, names it\n";
  for (const [args, isTold] of [
    [["serve"], true],
    [["serve", "--config", "gateway.yaml"], false],
  ] as const) {
    const env = { PORT: "0", DATA_DIR: join(cwd, "data") };
    const server = new Running(process.execPath, [starter, ...args], env, { cwd });
    await server.shows(/set-up#/);
    expect((await server.stop()).stdout.includes(told), args.join(" ")).toBe(isTold);
  }
});

describe("a configuration whose secrets are in the environment of the gateway alone", () => {
  const write = async (name: string, text: string) => {
    const file = join(folder.path, name);
    await writeFile(file, text);
    return file;
  };
  const upstream = (address: string) =>
    `upstreams: [{ name: far, kind: openai, base_url: "${address}", api_key: "\${FAR_KEY}" }]\n`;

  test("serves commands on the data, and not the gateway", async () => {
    const data = join(folder.path, "secrets");
    const text = `data_dir: ${data}\noperator_key: "\${OPERATOR_KEY}"\n${upstream("https://far.test/v1")}`;
    const GATEWAY_CONFIG = await write("secrets.yaml", text);
    const made = await commands.run(["accounts", "create", "--name", "late"], { GATEWAY_CONFIG });
    expect([made.code, made.stderr]).toEqual([0, `There was no database yet: made ${join(data, "gateway.db")}.\n`]);
    expect((await commands.run(["accounts", "list"], { GATEWAY_CONFIG })).stdout).toMatch(/ late\n/);
    expect((await commands.run(["reconcile"], { GATEWAY_CONFIG })).stdout).toContain("The sums hold: 1 account");
    const copy = join(folder.path, "secrets.db");
    expect(await commands.run(["backup", copy], { GATEWAY_CONFIG })).toMatchObject({ code: 0 });
    const { code, stderr } = await modelGateway(["serve"], { GATEWAY_CONFIG });
    expect(code).toBe(2);
    expect(stderr).toContain("secrets.yaml:2: the environment variable OPERATOR_KEY is not set");
    expect(stderr).toContain("secrets.yaml:3: the environment variable FAR_KEY is not set");
  });

  test.each([
    [
      "names the data",
      `data_dir: "\${WHERE}"\n${upstream("https://far.test/v1")}`,
      ["1: the environment variable WHERE"],
    ],
    ["has other faults", upstream(`\${FAR_URL}`), ["1: the environment variable FAR_URL", "FAR_KEY"]],
  ])("is refused where a variable %s", async (_, text, faults) => {
    const GATEWAY_CONFIG = await write("faulty.yaml", text);
    const { code, stderr } = await commands.run(["accounts", "list"], { GATEWAY_CONFIG });
    expect(code).toBe(2);
    for (const fault of faults) expect(stderr).toContain(fault);
  });
});

describe("users", () => {
  const password = "correct horse battery";
  let own: { DATA_DIR: string; GATEWAY_CONFIG: string };

  beforeAll(async () => {
    const GATEWAY_CONFIG = join(folder.path, "users.yaml");
    await writeFile(GATEWAY_CONFIG, 'public_urls: { root: "https://gateway.test" }\n');
    own = { DATA_DIR: join(folder.path, "users"), GATEWAY_CONFIG };
  });

  /** Asks an RPC of SessionService, and returns its status. */
  async function ask(rootUrl: string, rpc: string, body: object): Promise<number> {
    const response = await fetch(`${rootUrl}/modelgateway.v1.SessionService/${rpc}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    await response.arrayBuffer();
    return response.status;
  }

  function secretOf(url: string, page: string): string {
    const [, secret] = new RegExp(`^https://gateway\\.test/dashboard/${page}#([\\w-]{43})\n$`).exec(url) ?? [];
    if (secret === undefined) throw new Error(`no link to ${page}: ${url}`);
    return secret;
  }

  test("come by the link of the first start, then by invitation, and are let operate by one who does", async () => {
    const first = await startServer([], own);
    const [, printed = ""] = await first.server.shows(/^Nobody operates this gateway yet\. .*:\n(.*\n)/m);
    const superseded = secretOf(printed, "set-up");
    expect(first.server.stderr).not.toContain(superseded);
    const made = await commands.run(["users", "set-up"], own);
    expect(made).toMatchObject({ code: 0, stderr: expect.stringContaining("within 24 hours") });
    const user = { email: "ann@example.com", password };
    expect(await ask(first.rootUrl, "SetUp", { link: superseded, ...user })).toBe(404);
    expect(await ask(first.rootUrl, "SetUp", { link: secretOf(made.stdout, "set-up"), ...user })).toBe(200);
    await commands.run(["accounts", "create", "--name", "acme"], own);
    const invitation = await commands.run(["users", "invite", "--account", "acme", "--email", "Bob@example.com"], own);
    expect(invitation.stderr).toBe("Whoever opens this address within 3 days may register as Bob@example.com.\n");
    const link = secretOf(invitation.stdout, "register");
    expect(await ask(first.rootUrl, "Register", { link, email: "bob@example.com", password })).toBe(200);
    const list = await commands.run(["users", "list"], own);
    expect(list.stdout.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^ID +CREATED +OPERATOR +SECOND FACTOR +LAST SEEN +EMAIL +ACCOUNT$/),
      expect.stringMatching(/^usr_\w{25} +\S+Z +yes +no +\S+Z +ann@example\.com +ann@example\.com$/),
      expect.stringMatching(/^usr_\w{25} +\S+Z +no +no +\S+Z +bob@example\.com +acme$/),
    ]);
    expect(await commands.run(["users", "set-up"], own)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("somebody operates the gateway already"),
    });
    const last = await commands.run(["users", "no-operator", "ann@example.com"], own);
    expect(last).toMatchObject({ code: 2, stderr: expect.stringContaining("Nobody else operates the gateway") });
    expect((await commands.run(["users", "operator", "BOB@example.com"], own)).code).toBe(0);
    expect(await commands.run(["users", "no-second-factor", "bob@example.com"], own)).toMatchObject({
      code: 0,
      stderr: "bob@example.com signs in by the password alone from now on. All sessions of before have ended.\n",
    });
    const ends = await commands.run(["users", "no-operator", "ann@example.com"], own);
    expect(ends).toMatchObject({ code: 0, stderr: "ann@example.com does not operate the gateway from now on.\n" });
    expect((await first.server.stop()).code).toBe(0);

    const second = await startServer([], own);
    const reset = await commands.run(["users", "reset-password", "ann@example.com"], own);
    const body = { link: secretOf(reset.stdout, "reset-password"), password: "another password" };
    expect(await ask(second.rootUrl, "ResetPassword", body)).toBe(200);
    expect(await ask(second.rootUrl, "SignIn", user)).toBe(401);
    expect(await ask(second.rootUrl, "SignIn", { ...user, password: "another password" })).toBe(200);
    const { stdout, stderr } = await second.server.stop();
    expect(stdout).not.toContain("#");
    for (const secret of [body.link, link, password, "another password"]) expect(stderr).not.toContain(secret);
  });

  test("cannot register by an invitation while registration is closed, and that is said", async () => {
    const file = join(folder.path, "closed.yaml");
    await writeFile(file, "registration: closed\nport: 8123\n");
    const { code, stdout, stderr } = await commands.run(["users", "invite", "--config", file], env);
    expect(stdout).toMatch(/^http:\/\/127\.0\.0\.1:8123\/dashboard\/register#\S+\n$/);
    expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringContaining("registration is closed") });
    const elsewhere = { ...env, HOST: "192.0.2.1", PORT: "8124" };
    const led = await commands.run(["users", "invite", "--config", file], elsewhere);
    expect(led.stdout).toMatch(/^http:\/\/192\.0\.2\.1:8124\/dashboard\/register#\S+\n$/);
  });
});

describe("a mistake ends with exit code 2 and words that say what to do:", () => {
  const mistakes: Record<string, readonly [args: readonly string[], words: string]> = {
    "an unknown command": [["sevre"], 'there is no command "sevre". Is "serve" meant?'],
    "the singular of a command": [["key", "create"], 'there is no command "key". Is "keys" meant?'],
    "an unknown command whose help is asked for": [["help", "keys", "craete"], 'Is "keys create" meant?'],
    "a command that is like none": [["install"], 'there is no command "install". `model-gateway help`'],
    "an unknown command that every object knows": [["constructor"], 'there is no command "constructor"'],
    "accounts without an action": [["accounts"], "accounts needs one of: create, update, list, suspend"],
    "keys with an unknown action": [
      ["keys", "make"],
      "keys needs one of: create, update, list, disable, enable, revoke",
    ],
    "an account without a name": [
      ["accounts", "create"],
      "accounts create: --name is needed. `model-gateway help accounts create`",
    ],
    "an account with an empty name": [["accounts", "create", "--name", "  "], "--name is needed"],
    "a name with a line break": [["accounts", "create", "--name", "a\nb"], "no line breaks"],
    "an account's name as an argument": [["accounts", "create", "Acme"], "an argument too many"],
    "a taken name": [["accounts", "create", "--name", "taken"], 'There is an account "taken" already'],
    "a key without an account": [["keys", "create", "--name", "k"], "--account is needed"],
    "a key without a name": [["keys", "create", "--account", "taken"], "--name is needed"],
    "a key of an unknown account": [["keys", "create", "--account", "nobody", "--name", "k"], "accounts create --name"],
    "the keys of an unknown account": [
      ["keys", "list", "--account", "nobody"],
      'there is no account "nobody"; `accounts list` shows those that there are',
    ],
    "the keys of an empty name": [["keys", "list", "--account", ""], "--account is needed"],
    "a revocation of nothing": [["keys", "revoke"], "keys revoke needs KEY_ID"],
    "a revocation of two keys": [["keys", "revoke", "key_a", "key_b"], "an argument too many"],
    "a revocation of an unknown key": [
      ["keys", "revoke", "key_none"],
      "there is no key key_none; `keys list` shows them",
    ],
    "a recharge without an account": [["recharge", "--amount", "5"], "--account is needed"],
    "a recharge without an amount": [["recharge", "--account", "taken"], "--amount is needed"],
    "a recharge of nothing": [["recharge", "--account", "taken", "--amount", "0"], "--amount: expected more than 0"],
    "a negative recharge": [["recharge", "--account", "taken", "--amount=-5"], "--amount: expected more than 0"],
    "an absurd recharge": [["recharge", "--account", "taken", "--amount", "1000000000.01"], "at most 1000000000"],
    "an over-precise recharge": [
      ["recharge", "--account", "taken", "--amount", "0.0000001"],
      "expected a decimal with at most 6 places",
    ],
    "a recharge of no number": [
      ["recharge", "--account", "taken", "--amount", "1e3"],
      'expected a decimal, as "12.50"',
    ],
    "a recharge of nobody": [["recharge", "--account", "nobody", "--amount", "5"], "There is no account 'nobody'"],
    "a refund of what never came": [["refund", "--account", "taken", "--amount", "5"], "0.00 JPY may be refunded"],
    "a note that is too long": [
      ["grant", "--account", "taken", "--amount", "5", "--note", "x".repeat(501)],
      ": --note: ",
    ],
    "too many codes": [["codes", "create", "--amount", "5", "--count", "1001"], ": --count: "],
    "codes of no amount": [["codes", "create"], "--amount is needed"],
    "codes that have expired": [
      ["codes", "create", "--amount", "5", "--expires", "2020-01-01T00:00:00Z"],
      "expected a time in the future",
    ],
    "codes that expire at a time without an offset": [
      ["codes", "create", "--amount", "5", "--expires", "2090-01-01T00:00:00"],
      "expected a time with its offset",
    ],
    "an unknown batch": [
      ["codes", "revoke", "bat_none"],
      "There is no batch 'bat_none'. `model-gateway codes list` shows",
    ],
    "codes without an action": [["codes"], "codes needs one of: create, list, revoke"],
    "an account that cannot be suspended": [
      ["accounts", "suspend", "nobody"],
      "There is no account 'nobody'. `model-gateway accounts list` shows those that there are.",
    ],
    "an account without a name to suspend": [["accounts", "suspend", ""], "accounts suspend needs ACCOUNT"],
    "a recharge under an empty key": [
      ["recharge", "--account", "taken", "--amount", "5", "--idempotency-key", ""],
      ": --idempotency-key: expected 1 to 255 printable ASCII characters",
    ],
    "a key for a model that there is not": [
      ["keys", "create", "--account", "taken", "--name", "k", "--model", "nope"],
      ": --model: there is no model `nope` here",
    ],
    "a key with a limit of nothing": [
      ["keys", "create", "--account", "taken", "--name", "k", "--credit-limit", "0"],
      "--credit-limit: expected more than 0",
    ],
    "a key to disable that there is not": [["keys", "disable", "key_none"], "there is no key key_none"],
    "users without an action": [["users"], "users needs one of: list, invite, reset-password, no-second-factor"],
    "a password of nobody": [["users", "reset-password", "nobody@x"], 'there is no user "nobody@x"'],
    "an operator who is nobody": [["users", "operator", "nobody@x"], "`users list` shows those that there are"],
    "an invitation to an account that there is not": [
      ["users", "invite", "--account", "nobody"],
      "no account 'nobody'",
    ],
    "an invitation to what is no address": [["users", "invite", "--email", "nobody"], ": --email: "],
    "an option of a group alone": [
      ["keys", "--account", "a"],
      "keys needs one of: create, update, list, disable, enable, revoke",
    ],
    "an unknown option": [["keys", "list", "--acount", "x"], "Unknown option '--acount'. Is \"--account\" meant?"],
    "a misspelt action": [["accounts", "lst"], 'reinstate. Is "list" meant? `model-gateway help accounts`'],
    "a misspelt option with its value": [["keys", "list", "--acount=x"], 'Is "--account" meant?'],
    "an option that is a variable": [["accounts", "list", "--data-dir", "x"], "Set DATA_DIR in the environment"],
    "an option of another command": [["accounts", "list", "--name", "x"], "Unknown option '--name'"],
    "an option without its value": [["keys", "list", "--account"], "argument missing"],
    "an argument to serve": [["serve", "gateway.yaml"], "serve has an argument too many"],
    "an empty --config": [["serve", "--config", ""], "--config needs the path of a file"],
    "a --config that is not there": [
      ["accounts", "list", "--config", "nowhere.yaml"],
      "nowhere.yaml: the file cannot be read",
    ],
  };

  beforeAll(async () => {
    const storage = await openStorage(join(env.DATA_DIR, "gateway.db"));
    await storage.accounts.insert({ id: "acc_taken", name: "taken", created_at: 0 });
    await storage.close();
  });

  for (const [name, [args, words]] of Object.entries(mistakes)) {
    test(name, async () => {
      const { code, stdout, stderr } = await commands.run(args, env);
      expect(stderr).toContain(words);
      expect(stderr).toMatch(/^model-gateway: .*\n$/);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    });
  }

  test("a secret in the place of a key's id, which is not repeated", async () => {
    const { code, stderr } = await modelGateway(["keys", "revoke", "sk-do-not-show"], env);
    expect(code).toBe(2);
    expect(stderr).toContain("begins with key_");
    expect(stderr).not.toContain("sk-do-not-show");
  });

  test("and makes no database on the way", async () => {
    const DATA_DIR = join(folder.path, "untouched");
    for (const args of [["keys"], ["keys", "revoke", "sk-x"], ["accounts", "create"], ["serve", "x"], ["help"]]) {
      await commands.run(args, { DATA_DIR });
    }
    expect(existsSync(DATA_DIR)).toBe(false);
  });
});

describe("where there is no database", () => {
  const email = "a@example.com";
  const looking: readonly (readonly string[])[] = [
    ["reconcile"],
    ...[
      ["accounts", "list"],
      ["accounts", "suspend", "a"],
      ["accounts", "reinstate", "a"],
    ],
    ...[["keys", "list"], ...["disable", "enable", "revoke"].map((action) => ["keys", action, "key_a"])],
    ...[
      ["users", "list"],
      ["users", "set-up"],
    ],
    ...["reset-password", "no-second-factor", "operator", "no-operator"].map((action) => ["users", action, email]),
    ...["recharge", "refund", "grant"].map((command) => [command, "--account", "a", "--amount", "5"]),
    ...[
      ["codes", "create", "--amount", "5"],
      ["codes", "list"],
      ["codes", "revoke", "bat_a"],
    ],
  ];

  for (const args of looking) {
    test(`\`${args.join(" ")}\` names where it looked, and makes none`, async () => {
      const DATA_DIR = join(folder.path, `no ${args.join(" ")}`);
      const { code, stdout, stderr } = await commands.run(args, { DATA_DIR });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      const words = `there is no database ${join(DATA_DIR, "gateway.db")}. Set DATA_DIR, or data_dir of the configuration file`;
      expect(stderr).toMatch(/^model-gateway: .*\n$/);
      expect(stderr).toContain(words);
      expect(existsSync(DATA_DIR)).toBe(false);
    });
  }

  test("it is told by its whole path", async () => {
    const { code, stderr } = await modelGateway(["reconcile"], { DATA_DIR: "lost" }, { cwd: folder.path });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining(`there is no database ${join(folder.path, "lost/gateway.db")}.`),
    });
  });

  test("one may begin with an account, a key or an invitation", async () => {
    const beginning = async (args: readonly string[]) => {
      const DATA_DIR = join(folder.path, `new ${args.join(" ")}`);
      const { stderr } = await modelGateway(args, { DATA_DIR });
      expect(existsSync(join(DATA_DIR, "gateway.db")), stderr).toBe(true);
      return stderr;
    };
    expect(await beginning(["accounts", "create", "--name", "acme"])).toMatch(/^There was no database yet: made .*\n$/);
    expect(await beginning(["users", "invite", "--email", email])).toContain("may register as");
    // Which says how to go on.
    expect(await beginning(["keys", "create", "--account", "acme", "--name", "k"])).toContain("accounts create --name");
  });
});

describe("help and version", () => {
  test("fit a screen, with every command in a line of its own", async () => {
    for (const args of [["help"], ["--help"], ["-h"]]) {
      const { code, stdout, stderr } = await commands.run(args, env);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      const lines = stdout.trimEnd().split("\n");
      expect(lines.length).toBeLessThanOrEqual(24);
      for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
      for (const [word, summary] of firstWords()) {
        expect(lines.filter((line) => line.startsWith(`  ${word} `) && line.endsWith(`  ${summary}`))).toHaveLength(1);
      }
    }
  });

  test("are written for every command and group, in three ways", async () => {
    for (const [name, { options, summary }] of specs) {
      const words = name.split(" ");
      const { code, stdout, stderr } = await commands.run(["help", ...words], env);
      expect({ code, stderr }, name).toEqual({ code: 0, stderr: "" });
      expect(stdout).toMatch(new RegExp(`^usage: model-gateway ${name}`));
      expect(stdout.toLowerCase()).toContain(summary.toLowerCase());
      for (const option of Object.keys(options)) expect(stdout).toMatch(new RegExp(`^  --${option}\\b`, "m"));
      for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
      if (name === "help") continue;
      for (const option of ["--help", "-h"]) {
        expect(await commands.run([...words, option], env)).toMatchObject({ code: 0, stdout });
      }
    }
    for (const group of groups.keys()) {
      const { stdout } = await commands.run([group, "--help"], env);
      for (const action of actionsOf(group)) {
        expect(stdout).toMatch(new RegExp(`^  ${action}\\b`, "m"));
        // What may be left out is in brackets, here as in the action's own help.
        for (const { name, isOptional } of specs.get(`${group} ${action}`)?.arguments ?? [])
          if (isOptional) expect(stdout).toMatch(new RegExp(`^  ${action} .*\\[${name}\\]`, "m"));
      }
    }
  });

  test("are written for what is no command, and refused for what is nothing", async () => {
    const { stdout } = await commands.run(["help", "configuration"], env);
    for (const word of [
      "--config",
      "GATEWAY_CONFIG",
      "DATA_DIR",
      "DATABASE_URL",
      "REDIS_URL",
      "HOST and PORT,\nto which links lead",
    ])
      expect(stdout).toContain(word);
    for (const line of stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    const codes = (await commands.run(["help", "exit-codes"], env)).stdout;
    expect(codes.match(/^\d/gm)).toEqual(["0", "1", "2"]);
    expect(await commands.run(["help", "sevre"], env)).toMatchObject({
      ...{
        code: 2,
        stdout: "",
        stderr:
          'model-gateway: there is no command "sevre". Is "serve" meant? `model-gateway help` shows how to use it.\n',
      },
    });
  });

  test("name the commands that there are, and no others", async () => {
    const main = readFileSync(join(root, "src/main.ts"), "utf8");
    const served = [...main.matchAll(/^ {4}"?([\w-]+)"?: async \(\) =>/gm)].map(([, name]) => name);
    expect([...firstWords().keys()].sort()).toEqual(served.sort());
  });

  for (const word of ["version", "--version", "-v"]) {
    test(`are written for ${word}`, async () => {
      expect(await commands.run([word], env)).toMatchObject({
        code: 0,
        stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
      });
    });
  }

  test("come from any working directory, and through the pinned Node as well", async () => {
    const elsewhere = await run(systemNode, [bin, "version"], env, { cwd: folder.path });
    const pinned = await run(process.execPath, [bin, "version"], env, { cwd: folder.path });
    expect(elsewhere).toMatchObject({ code: 0 });
    expect(pinned).toEqual(elsewhere);
  });
});

describe("the configuration", () => {
  test("comes from --config, and from GATEWAY_CONFIG", async () => {
    const file = join(folder.path, "own.yaml");
    const dataDir = join(folder.path, "own-data");
    await writeFile(file, `data_dir: "${dataDir}"\n`);
    expect((await modelGateway(["accounts", "create", "--name", "a", "--config", file], {})).code).toBe(0);
    expect((await modelGateway(["accounts", "list"], { GATEWAY_CONFIG: file })).stdout).toMatch(/ a\n/);
    expect(existsSync(join(dataDir, "gateway.db"))).toBe(true);
  });

  test("is served without naming a command", async () => {
    const file = join(folder.path, "default.yaml");
    await writeFile(file, "port: 0\nembedded_models: true\n");
    const server = new Running(systemNode, [bin, "--config", file], env);
    const [, rootUrl] = await server.shows(/serves at (\S+)/);
    expect((await fetch(`${rootUrl}/readyz`)).status).toBe(200);
    expect(await server.stop("SIGINT")).toMatchObject({ code: 0 });
  });

  test("that is broken is told with all its faults, and nothing starts", async () => {
    const file = join(folder.path, "broken.yaml");
    await writeFile(file, 'prot: 1\nport: "x"\nupstreams:\n  - {name: a, kind: openai, base_url: nowhere}\n');
    for (const args of [["serve"], ["demo"], ["keys", "list"]]) {
      const { code, stdout, stderr } = await modelGateway([...args, "--config", file], { ...env, LOG_LEVEL: "loud" });
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      for (const words of [
        `${file}:1: prot`,
        `${file}:2: port`,
        `${file}:4: upstreams[0].base_url`,
        "environment: LOG_LEVEL",
      ]) {
        expect(stderr).toContain(words);
      }
      expect(stderr).not.toContain("    at ");
    }
  });

  test("may leave the models to a server at OPENAI_BASE_URL", async () => {
    const local = createServer((_, res) => void res.end('{"data":[{"id":"local-model"}]}')).listen(0, "127.0.0.1");
    await once(local, "listening");
    const OPENAI_BASE_URL = `http://127.0.0.1:${(local.address() as { port: number }).port}/v1`;
    const { server } = await startServer([], { ...env, OPENAI_BASE_URL });
    try {
      const { stderr, code } = await server.stop();
      expect(code).toBe(0);
      const asked = stderr.split("\n").find((line) => line.includes('"upstream"')) ?? "";
      expect(JSON.parse(asked)).toMatchObject({ upstream: "openai", models: 1 });
    } finally {
      await server.stop();
      local.close();
    }
  });
});

describe("a server that cannot start says why in one line, with exit code 1, when", () => {
  async function refused(variables: Record<string, string>, args: readonly string[] = ["serve"]): Promise<string> {
    const { code, stdout, stderr } = await modelGateway(args, { ...env, PORT: "0", ...variables });
    expect(stderr).toMatch(/^model-gateway: .*\n$/);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    return stderr;
  }

  test("its port is taken", async () => {
    const { server, rootUrl } = await startServer([], env);
    const { port } = new URL(rootUrl);
    expect(await refused({ PORT: port })).toContain(
      `cannot listen on 127.0.0.1, port ${port}: the port is taken. Stop what uses it, or set PORT to another`,
    );
    // The running gateway continues to serve.
    expect((await fetch(`${rootUrl}/healthz`)).status).toBe(200);
    expect((await server.stop()).code).toBe(0);
  });

  test("its host is not of this machine, or none at all", async () => {
    expect(await refused({ HOST: "192.0.2.1" })).toContain("does not have that address");
    expect(await refused({ HOST: "no-such-host.invalid" })).toContain("Set HOST to an address of this machine");
  });

  test("its data folder is a file, or in one", async () => {
    const path = join(folder.path, "a-file");
    await writeFile(path, "");
    for (const DATA_DIR of [path, join(path, "within")]) {
      expect(await refused({ DATA_DIR })).toContain(`the database ${join(DATA_DIR, "gateway.db")} cannot be opened`);
      expect(await refused({ DATA_DIR }, ["keys", "list"])).toContain("cannot be opened");
    }
  });

  test("its data folder is where none can be made", async () => {
    const path = "/proc/nowhere/data";
    const { code, stderr } = await modelGateway(["serve"], { ...env, PORT: "0", DATA_DIR: path }, { timeout: 20_000 });
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringContaining(`${path}/gateway.db cannot be opened`),
    });
  });

  test("its database is something else", async () => {
    const DATA_DIR = join(folder.path, "odd");
    await mkdir(DATA_DIR);
    await writeFile(join(DATA_DIR, "gateway.db"), "this is no database, it is a text ".repeat(100));
    expect(await refused({ DATA_DIR })).toContain("file is not a database");
  });
});

describe("a signal", () => {
  for (const signal of ["SIGTERM", "SIGINT"] as const) {
    test(`${signal} ends the server with exit code 0, and its address is free again`, async () => {
      const PORT = String(await freePort());
      for (const _ of [1, 2]) {
        const server = new Running(process.execPath, [starter, "serve"], { ...env, PORT });
        await server.shows(/serves at/);
        expect(await server.stop(signal)).toMatchObject({ code: 0 });
      }
    });
  }

  test("from the terminal reaches every process at once, and still lets a running call finish", async () => {
    await modelGateway(["accounts", "create", "--name", "slow"], env);
    const made = await modelGateway(["keys", "create", "--account", "slow", "--name", "k"], env);
    // A process group of its own, as a shell makes one: Ctrl-C goes to all of it.
    const server = new Running(systemNode, [bin, "serve"], { ...env, PORT: "0" }, { detached: true });
    const [, rootUrl] = await server.shows(/serves at (\S+)/);
    const response = await fetch(`${rootUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${made.stdout.trim()}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: "embedded-chat",
        stream: true,
        messages: [{ role: "user", content: "Hello" }],
        metadata: { simulate_token_delay_ms: "20" },
      }),
    });
    process.kill(-(server.child.pid as number), "SIGINT");
    expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/);
    expect(await server.ended).toMatchObject({ code: 0 });
  });
});

test("the helper of these tests really runs a Node of the system where there is one", () => {
  expect(systemNode.startsWith(join(root, "node_modules"))).toBe(systemNode === process.execPath);
});
