/**
 * What an operator gets wrong in a command: one line says what it is and what to do, the exit code is not 0, nothing is changed, and no
 * secret is repeated.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { contentsOf } from "../../support/contents.ts";
import { shareCommands } from "../../support/shared-commands.ts";

const { commands, folder } = shareCommands();
const at = (name: string) => join(folder.path, name);

beforeAll(async () => {
  mkdirSync(at("folder"));
  mkdirSync(at("odd/gateway.db"), { recursive: true });
  writeFileSync(at("file"), "");
  writeFileSync(at("tabs.yaml"), "upstreams:\n\t- name: a\n");
  writeFileSync(at("list.yaml"), "- a\n");
  const upstream = "{ name: a, kind: openai, base_url: http://127.0.0.1:1/v1 }";
  writeFileSync(at("twice.yaml"), `upstreams:\n  - ${upstream}\n  - ${upstream}\n`);
  writeFileSync(at("port.yaml"), "port: 65536\n");
  writeFileSync(at("long.yaml"), "drain_seconds: soon\n");
  writeFileSync(at("unknown.yaml"), "prot: 80\n");
  const made = await commands.run(["accounts", "create", "--name", "acme"], { DATA_DIR: at("data") });
  expect(made.code).toBe(0);
});

interface Case {
  /** `@` stands for the folder. */
  readonly args: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly code?: 1 | 2;
  readonly message: string | RegExp;
}

const correct = "there is no such file or folder. Correct the path";
const url = "postgres://ann:s3cret@127.0.0.1:1/gateway";

const cases: Readonly<Record<string, readonly Case[]>> = {
  "a configuration file": [
    {
      args: "accounts list --config @/none.yaml",
      message: `none.yaml: the file cannot be read (ENOENT): ${correct} (--config)`,
    },
    {
      args: "accounts list",
      env: { GATEWAY_CONFIG: "none.yaml" },
      message: `none.yaml: the file cannot be read (ENOENT): ${correct} (GATEWAY_CONFIG)`,
    },
    { args: "serve --config @/none.yaml", message: `cannot be read (ENOENT): ${correct} (--config)` },
    { args: "demo --config @/folder", message: "cannot be read (EISDIR): it is a folder. Name a file (--config)" },
    {
      args: "keys list --config @/file/a.yaml",
      message: "(ENOTDIR): it is below a file, which is no folder. Correct the path",
    },
    { args: "keys list --config @/tabs.yaml", message: "tabs.yaml:2: Tabs are not allowed as indentation" },
    { args: "keys list --config @/list.yaml", message: "list.yaml:1: expected keys and values" },
    { args: "keys list --config @/twice.yaml", message: 'twice.yaml:3: upstreams[1].name: a second upstream "a"' },
    { args: "keys list --config @/port.yaml", message: "port.yaml:1: port: expected at most 65535" },
    { args: "keys list --config @/long.yaml", message: "long.yaml:1: drain_seconds: expected a number, unquoted" },
    { args: "keys list --config @/unknown.yaml", message: "unknown.yaml:1: prot: there is no such key" },
  ],
  "a file that a command is given": [
    { args: "config apply @/none", message: `cannot be read (ENOENT): ${correct}` },
    { args: "config apply @/folder", message: "cannot be read (EISDIR): it is a folder. Name a file" },
    { args: "config apply @/file", message: "file: the file is empty" },
    { args: "models sync @/none", message: `cannot be read (ENOENT): ${correct}` },
    { args: "models sync ftp://127.0.0.1/models.yaml", message: "expected a file, or an https address" },
    {
      args: "models sync http://127.0.0.1:1/models.yaml",
      message: "was not read. It cannot be asked: nothing listens at 127.0.0.1:1",
    },
    { args: "import litellm @/none", message: `cannot be read (ENOENT): ${correct}` },
    { args: "import new-api @/folder", message: "cannot be read (EISDIR): it is a folder. Name a file" },
    { args: "import litellm-keys @/none --account acme", message: `cannot be read (ENOENT): ${correct}` },
    { args: "config export --file @/none/a.yaml", message: `it cannot be written (ENOENT): ${correct}` },
    { args: "config export --file @/file", message: "it exists already. Choose another name, or remove it" },
    { args: "restore @/none", message: `none: ${correct}` },
    { args: "restore @/folder", message: "folder: it is a folder. Name a file" },
    { args: "restore @/file/b", message: "b: it is below a file, which is no folder. Correct the path" },
    { args: "backup @/none/b", message: /there is no folder \S+none\. Make it, or name another/ },
    { args: "backup @/file/b", message: /there is no folder \S+file\. Make it, or name another/ },
    { args: "backup @/folder", message: "folder is no file. Name a file for the back-up" },
    { args: "backup @/file", message: "file exists. Name another file, or replace it by --force" },
  ],
  "a data folder": [
    { args: "keys list", env: { DATA_DIR: "@/none" }, message: "Set DATA_DIR, or data_dir of the configuration file" },
    {
      args: "keys list",
      env: { DATA_DIR: "@/file" },
      code: 1,
      message: "below a file, which is no folder. Correct the path (DATA_DIR)",
    },
    {
      args: "keys list",
      env: { DATA_DIR: "@/odd" },
      code: 1,
      message: "it is a folder. Choose another place (DATA_DIR)",
    },
  ],
  "an address, a port or a number in the environment": [
    {
      args: "keys list",
      env: { DATABASE_URL: url },
      code: 1,
      message: "nobody listens there. Start the server, or correct DATABASE_URL",
    },
    {
      args: "keys list",
      env: { DATABASE_URL: "mysql://ann:s3cret@db/a" },
      message: "DATABASE_URL: expected postgres://",
    },
    { args: "keys list", env: { REDIS_URL: "http://ann:s3cret@db" }, message: "REDIS_URL: expected redis://host:6379" },
    { args: "keys list", env: { PORT: "65536" }, message: "PORT: expected a whole number from 0 to 65535" },
    { args: "keys list", env: { OPENAI_BASE_URL: "none" }, message: "OPENAI_BASE_URL: expected an http(s) address" },
    {
      args: "keys list",
      env: { OPENAI_API_KEY_FILE: "@/none" },
      message: `points to cannot be read (ENOENT): ${correct}`,
    },
    { args: "serve", env: { WORKERS: "many" }, message: "WORKERS: expected auto, or a whole number from 1 to 256" },
  ],
  "a value of an option": [
    {
      args: "grant --account acme --amount 9999999999",
      message: "--amount: expected more than 0, and at most 1000000000",
    },
    { args: "grant --account acme --amount 0", message: "--amount: expected more than 0, and at most 1000000000" },
    { args: "grant --account acme --amount 1,5", message: "--amount: expected a decimal" },
    { args: "codes create --amount 1 --count 0", message: "--count: expected a whole number from 1 to 1000" },
    { args: "codes create --amount 1 --count 1001", message: "--count: expected a whole number from 1 to 1000" },
    { args: "codes create --amount 1 --count x", message: "--count: expected a whole number from 1 to 1000" },
    { args: "codes list --batch code-s3cret", message: "codes list: --batch wants an id that begins with bat_" },
    { args: "codes revoke code-s3cret", message: "codes revoke wants an id that begins with bat_" },
    {
      args: "keys create --account acme --name k --expires soon",
      message: "--expires: expected a time with its offset",
    },
    {
      args: "keys create --account acme --name k --allow-ip 10.0.0",
      message: "--allow-ip: expected an address or a network",
    },
    { args: "keys create --account none --name k", message: 'there is no account "none"; `accounts list` shows' },
    { args: "serve --workers 257", message: "--workers: expected auto, or a number from 1 to 256" },
    { args: "serve --port 80", message: "--port is no option. Set PORT in the environment" },
    { args: "sevre", message: 'there is no command "sevre"' },
  ],
};

for (const [kind, all] of Object.entries(cases)) {
  describe(`${kind} that is wrong is told in a line`, () => {
    for (const { args, env = {}, code = 2, message } of all) {
      const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`);
      test([...variables, args].join(" "), async () => {
        const place = (text: string) => text.replace(/^@(?=\/)/, folder.path);
        const placed = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, place(value)]));
        const words = args.split(" ").map(place);
        const before = contentsOf(folder.path);
        const done = await commands.run(words, { DATA_DIR: at("data"), ...placed });
        expect(done.stderr).toMatch(/^model-gateway: [^\n]+\n$/);
        if (typeof message === "string") expect(done.stderr).toContain(message);
        else expect(done.stderr).toMatch(message);
        expect(done.stderr).not.toContain("s3cret");
        expect({ code: done.code, stdout: done.stdout }).toEqual({ code, stdout: "" });
        expect(contentsOf(folder.path)).toEqual(before);
      });
    }
  });
}
