/**
 * The configuration: what the file and the environment say, everything that is wrong with them at once, and the
 * catalogue that comes with the gateway.
 */
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { createServer, type RequestListener, type Server } from "node:http";
import { join } from "node:path";
import { pipeline, Readable } from "node:stream";
import { pino } from "pino";
import { afterAll, describe, expect, test } from "vitest";
import { parseDocument } from "yaml";
import { z } from "zod";
import { type Config, type Environment, loadConfig, type ModelConfig } from "../../src/config/config.ts";
import { ConfigError } from "../../src/config/config-error.ts";
import { discoverModels } from "../../src/config/discovery/discover.ts";
import { fileSchema } from "../../src/config/schema.ts";
import { vendorsSchema } from "../../src/config/schema-models.ts";
import { fitEffort } from "../../src/providers/profile/effort.ts";
import { createProfile } from "../../src/providers/profile/profile.ts";
import { createCatalog } from "../../src/targets/catalog.ts";
import { root } from "../support/command.ts";
import { writtenConfig } from "./written-config.ts";

const example = join(root, "gateway.example.yaml");
const written = writtenConfig();
const { load } = written;

/** Returns what is wrong, as `line: message`; faults of the environment have no line. */
async function faultsOf(text: string, environment: Environment = {}): Promise<string[]> {
  await writeFile(written.file, text);
  return faultsIn(() => loadConfig(written.file, environment));
}

function faultsIn(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return error.faults.map(({ line, message }) => (line === undefined ? message : `${line}: ${message}`));
  }
  return [];
}

function idsAt(config: Config, upstream: string): string[] {
  return config.models.filter(({ targets }) => targets.some((at) => at.upstream === upstream)).map(({ id }) => id);
}

describe("gateway.example.yaml", () => {
  test("loads as it is", () => {
    const config = loadConfig(example, { UPSTREAM_KEY: "secret" });
    expect(config.upstreams).toMatchObject([
      { name: "local", base_url: "http://127.0.0.1:9000/v1", api_key: "secret" },
    ]);
    expect(config.models).toMatchObject([
      {
        id: "some-chat",
        aliases: ["some-chat-latest"],
        price: { input: 1_100_000, output: 4_400_000, cache_read: 550_000, cache_write: 1_100_000 },
        targets: [{ upstream: "local", model: "upstream-name", priority: 0, weight: 1 }],
      },
    ]);
  });

  test("documents every key that the schema has", async () => {
    const text = await readFile(example, "utf8");
    const keys = [...keysOf(fileSchema)];
    expect(keys.length).toBeGreaterThan(30);
    for (const key of keys) expect(text, key).toMatch(new RegExp(`\\b${key}:`));
  });

  test("writes every default as it is", async () => {
    const { embeddedModels, upstreams, models, ...written } = loadConfig(example, { UPSTREAM_KEY: "secret" });
    const { embeddedModels: byDefault, upstreams: _, models: __, ...defaults } = await load("");
    expect(written).toEqual(defaults);
    expect(loadConfig(undefined, {})).toMatchObject({ ...defaults, embeddedModels: true });
    expect([embeddedModels, byDefault]).toEqual([false, false]);
    const [bare] = (
      await load(`
upstreams: [{name: local, kind: openai, base_url: "http://127.0.0.1:9000/v1"}]
models: [{id: some-chat, family: some, kind: chat, targets: [{upstream: local, model: upstream-name}]}]
`)
    ).models;
    expect(bare?.targets).toEqual(models[0]?.targets);
    expect(upstreams[0]?.discover).toBe(false);
  });
});

/** Walks a schema down to every key of every object in it. */
function* keysOf(schema: unknown): Generator<string> {
  if (schema instanceof z.ZodObject) {
    for (const [key, value] of Object.entries(schema.shape)) {
      yield key;
      yield* keysOf(value);
    }
  } else if (schema instanceof z.ZodArray) yield* keysOf(schema.element);
  else if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) yield* keysOf(schema.unwrap());
}

const sound = `
upstreams:
  - {name: near, kind: openai, base_url: "https://near.example/v1/", api_key: "\${NEAR_KEY}"}
models:
  - {id: one, family: f, kind: chat, targets: [{upstream: near, model: uno}]}
`;

describe("a file", () => {
  test("has its variables replaced, also within a text", async () => {
    const text = sound.replace("near.example", "$" + "{PLACE}.example");
    const { upstreams } = await load(text, { NEAR_KEY: "k: [1, 'x'] #", PLACE: "there" });
    expect(upstreams[0]).toMatchObject({ base_url: "https://there.example/v1", api_key: "k: [1, 'x'] #" });
  });

  test("keeps a credential clean of the line break that came with it", async () => {
    expect((await load(sound, { NEAR_KEY: "key\n" })).upstreams[0]?.api_key).toBe("key");
    expect(await faultsOf(sound, { NEAR_KEY: "k\ney" })).toEqual([
      "3: upstreams[0].api_key: expected a key of ASCII characters",
    ]);
  });

  test("calls a model by what a header may hold, whatever it is called elsewhere", async () => {
    const named = sound.replace("model: uno", "model: 模型-1").replace("id: one", "id: one, aliases: [模型]");
    const { models } = await load(named, { NEAR_KEY: "k" });
    expect(models[0]).toMatchObject({ id: "one", aliases: ["模型"], targets: [{ model: "模型-1" }] });
    expect(await faultsOf(sound.replace("id: one", "id: 模型"), { NEAR_KEY: "k" })).toEqual([
      "5: models[0].id: expected a model id of letters, digits and signs of ASCII, at most 200 characters",
    ]);
  });

  test("is found by GATEWAY_CONFIG, and by --config before that", async () => {
    await writeFile(written.file, "port: 1234");
    expect(loadConfig(undefined, { GATEWAY_CONFIG: written.file }).port).toBe(1234);
    const other = join(written.folder, "other.yaml");
    await writeFile(other, "port: 4321");
    expect(loadConfig(other, { GATEWAY_CONFIG: written.file }).port).toBe(4321);
    expect(loadConfig("", { GATEWAY_CONFIG: "" }).port).toBe(8080);
  });

  test("gives way to the environment", async () => {
    const text = "host: 10.0.0.1\nport: 1\ndata_dir: /in/file\nlog_level: error";
    expect(await load(text)).toMatchObject({ host: "10.0.0.1", port: 1, dataDir: "/in/file", logLevel: "error" });
    const environment = { HOST: "0.0.0.0", PORT: "0", DATA_DIR: "/elsewhere", LOG_LEVEL: "debug" };
    expect(await load(text, environment)).toMatchObject({
      host: "0.0.0.0",
      port: 0,
      dataDir: "/elsewhere",
      logLevel: "debug",
    });
    const metrics = "metrics: {host: 10.0.0.1, port: 2}";
    const everywhere = { host: "0.0.0.0", port: 9464, isAsked: true };
    expect(await load(metrics, { METRICS_HOST: "0.0.0.0" })).toMatchObject({ metrics: { host: "0.0.0.0", port: 2 } });
    expect(loadConfig(undefined, { METRICS_HOST: "0.0.0.0" }).metrics).toEqual(everywhere);
    const empty = { HOST: "", PORT: "", DATA_DIR: "", LOG_LEVEL: "" };
    expect(await load(text, empty)).toMatchObject({
      host: "10.0.0.1",
      port: 1,
      dataDir: "/in/file",
      logLevel: "error",
    });
  });

  test("says all of times and sizes in the units that the gateway counts in", async () => {
    const text = "max_body_bytes: 2048\nbody_timeout_seconds: 0.5\nkeep_alive_seconds: 2\ndrain_seconds: 0";
    expect(await load(text)).toMatchObject({ maxBodyBytes: 2048, bodyTimeoutMs: 500, keepAliveMs: 2000, drainMs: 0 });
    expect(await load("stop_delay_seconds: 1.5")).toMatchObject({ stopDelayMs: 1500, drainMs: 30_000 });
    const more = "idle_seconds: 5\nstalled_reader_seconds: 1.5\nmax_connections: 7";
    expect(await load(more)).toMatchObject({ idleMs: 5000, stalledReaderMs: 1500, maxConnections: 7 });
  });

  test("takes prices to the last place", async () => {
    const text = sound.replace(
      "kind: chat,",
      'kind: chat, price: {input: "0.000001", output: "999999999.999999", cache_read: "0"},',
    );
    const [model] = (await load(text, { NEAR_KEY: "" })).models;
    expect(model?.price).toEqual({ input: 1, output: 999_999_999_999_999, cache_read: 0 });
  });

  test("serves a vendor's models at an upstream of the vendor's name", async () => {
    const config = await load('upstreams: [{name: xai, kind: openai, base_url: "http://127.0.0.1:1/v1"}]');
    expect(config.models.map(({ id }) => id)).toEqual(["grok-4.5", "grok-4.6", "grok-4.7"]);
    expect(idsAt(config, "xai")).toEqual(["grok-4.5", "grok-4.6", "grok-4.7"]);
    expect(config.models.every(({ price }) => price?.input === 310_000_000)).toBe(true);
  });

  test("replaces a model of the catalogue by its own entry, whole", async () => {
    const config = await load(`
upstreams: [{name: xai, kind: openai, base_url: "http://127.0.0.1:1/v1"}]
models:
  - {id: grok-4.5, family: mine, kind: chat, price: {input: "9"}, targets: [{upstream: xai, model: other}]}
  - {id: grok-next, family: mine, vendor: xai, kind: chat, aliases: [grok-4.6]}
`);
    expect(config.models).toHaveLength(3);
    expect(config.models[0]).toMatchObject({
      family: "mine",
      price: { input: 9_000_000 },
      targets: [{ model: "other" }],
    });
    expect(config.models[0]?.price?.output).toBeUndefined();
    const catalog = createCatalog(config.models);
    expect(catalog.find("grok-4.6", "chat")).toMatchObject({ id: "grok-next", targets: [{ model: "grok-next" }] });
  });

  test("has secrets that lie in files, to which variables with _FILE point", async () => {
    const secret = join(written.folder, "secret");
    await writeFile(secret, "sk-in-a-file\n");
    const text = `upstreams: [{ name: local, kind: openai, base_url: "http://127.0.0.1:9000/v1", api_key: "\${KEY}" }]\n`;
    const keyOf = async (environment: Environment) => (await load(text, environment)).upstreams[0]?.api_key;
    expect(await keyOf({ KEY_FILE: secret })).toBe("sk-in-a-file");
    expect(await keyOf({ KEY_FILE: secret, KEY: "" })).toBe("sk-in-a-file");
    expect(await keyOf({ KEY_FILE: secret, KEY: "sk-itself" })).toBe("sk-itself");
    const [upstream] = loadConfig(undefined, { OPENAI_API_KEY_FILE: secret }).upstreams;
    expect(upstream).toMatchObject({ name: "openai", api_key: "sk-in-a-file" });
  });

  test("may be empty", async () => {
    for (const text of ["", "# nothing yet\n"]) expect(await load(text)).toMatchObject({ upstreams: [], models: [] });
  });
});

describe("what is wrong is told", () => {
  test("also of room for bodies in which none of the largest would find any", async () => {
    const text = "max_body_bytes: 1000000\nbodies_in_flight: { max_bytes: 1000000, max_bytes_per_account: 999999 }";
    expect(await faultsOf(text)).toEqual([
      "2: bodies_in_flight.max_bytes: expected at least 1333334, to have room for a body of max_body_bytes (1000000)",
      "2: bodies_in_flight.max_bytes_per_account: expected at least 1000000, to have room for a body of max_body_bytes (1000000)",
    ]);
  });

  test("all at once, each with its line, across every kind of fault", async () => {
    const text = `# a comment first
prot: 8080
port: "eighty"
log_level: loud
max_body_bytes: 12
upstreams:
  - name: near
    kind: openai
    base_url: "near.example/v1"
  - name: near
    kind: telepathy
    base_url: "http://127.0.0.1:9000/v1"
    api_key: "\${NO_SUCH_KEY}"
    retries: 3
    patience: none
  - kind: openai
    base_url: "\${NO_SUCH_ADDRESS}/v1"
models:
  - id: one
    aliases: [uno]
    family: f
    kind: chat
    price: {input: 1.10, output: "0.1234567"}
    targets: [{upstream: far, model: x}]
  - id: uno
    family: f
    kind: chat
    context_window: many
    targets:
      - {upstream: near, model: x, weight: 0}
  - id: lost
    family: f
    kind: image
`;
    expect(await faultsOf(text, { PORT: "70000", LOG_LEVEL: "verbose" })).toEqual([
      "2: prot: there is no such key; is port meant?",
      "3: port: expected a number, unquoted",
      "4: log_level: expected one of debug, info, warn, error, silent",
      "5: max_body_bytes: expected at least 1024",
      "9: upstreams[0].base_url: expected an http(s) address",
      '10: upstreams[1].name: a second upstream "near"',
      "11: upstreams[1].kind: expected one of openai, anthropic",
      "13: the environment variable NO_SUCH_KEY is not set",
      "14: upstreams[1].retries: there is no such key",
      "15: upstreams[1].patience: there is no such key",
      "16: upstreams[2].name: is missing",
      "17: the environment variable NO_SUCH_ADDRESS is not set",
      '23: models[0].price.input: expected a decimal in quotes, as "1.10"',
      "23: models[0].price.output: expected a decimal with at most 6 places",
      '24: models[0].targets[0].upstream: there is no upstream "far"',
      '25: models[1].id: a second model "uno"',
      "28: models[1].context_window: expected a number, unquoted",
      "30: models[1].targets: all targets have the weight 0: give one a weight, or remove the model",
      '31: models[2]: "lost" has no targets, and no upstream has the name of its vendor',
      "33: models[2].kind: expected one of chat, embedding, speech",
      "PORT: expected a whole number from 0 to 65535",
      "LOG_LEVEL: expected one of debug, info, warn, error, silent",
    ]);
  });

  test("of a model at an upstream that serves none of its kind, by name and wherever the upstream is named", async () => {
    const text = `upstreams:
  - {name: claude, kind: anthropic, base_url: "http://127.0.0.1:9000/v1"}
  - {name: local, kind: openai, base_url: "http://127.0.0.1:9001/v1"}
models:
  - {id: vectors, family: f, kind: embedding, targets: [{upstream: claude, model: v}]}
  - id: shared-vectors
    family: f
    kind: embedding
    targets:
      - {upstream: local, model: v}
      - {upstream: claude, model: v}
  - {id: voice, family: f, kind: speech, vendor: claude}
  - {id: words, family: f, kind: chat, targets: [{upstream: claude, model: w}]}
  - {id: own-vectors, family: f, kind: embedding, targets: [{upstream: local, model: v}]}
`;
    const why = (id: string, kind: string) =>
      `"${id}" is of kind ${kind}, and an upstream of kind anthropic serves only chat`;
    expect(await faultsOf(text)).toEqual([
      `5: models[0].targets[0].upstream: ${why("vectors", "embedding")}`,
      `11: models[1].targets[1].upstream: ${why("shared-vectors", "embedding")}`,
      `12: models[2]: ${why("voice", "speech")}`,
    ]);
  });

  test.each([
    "http://169.254.169.254/latest",
    "http://169.254.170.2",
    "http://0xa9fea9fe/v1",
    "http://2852039166",
    "http://[::ffff:169.254.169.254]:80/v1",
    "https://[fe80::1]/v1",
    "http://[fd00:ec2::254]",
    "http://100.100.100.200",
  ])("of an upstream where clouds keep a machine's credentials: %s", async (address) => {
    const text = `upstreams:\n  - {name: a, kind: openai, base_url: "${address}"}\n`;
    const why =
      "expected the address of an upstream: it is an address of the cloud's own services, where no model is served";
    expect(await faultsOf(text)).toEqual([`2: upstreams[0].base_url: ${why}`]);
  });

  test.each(["Host", "content-length", "Transfer-Encoding", "connection", "TE"])(
    "of a header that frames requests: %s",
    async (name) => {
      const text = `upstreams:\n  - {name: a, kind: openai, base_url: "http://127.0.0.1:1", headers: {${name}: x}}\n`;
      const why = "expected another header: the gateway itself writes this one";
      expect(await faultsOf(text)).toEqual([`2: upstreams[0].headers.${name}: ${why}`]);
    },
  );

  test("with the file and the line in front, one fault a line", async () => {
    await writeFile(written.file, "prot: 1\nhots: 2\n");
    expect(() => loadConfig(written.file, {})).toThrow(
      `${written.file}:1: prot: there is no such key; is port meant?\n${written.file}:2: hots: there is no such key; is host meant?`,
    );
  });

  test("of what is neither true nor false, and of what has no keys, in words of its own", async () => {
    const [flag, keys] = [
      "expected true or false, unquoted",
      "expected keys and values, as gateway.example.yaml has them",
    ];
    expect(await faultsOf("embedded_models: yes\n")).toEqual([`1: embedded_models: ${flag}`]);
    expect(await faultsOf('metrics:\n  enabled: "true"\n')).toEqual([`2: metrics.enabled: ${flag}`]);
    expect(await faultsOf("- port: 1\n")).toEqual([`1: ${keys}`]);
    expect(await faultsOf("port\n")).toEqual([`1: ${keys}`]);
    expect(await faultsOf("cache: 5\nbreaker: [3]\n")).toEqual([`1: cache: ${keys}`, `2: breaker: ${keys}`]);
    const telemetry = '{ endpoint: "http://127.0.0.1:1", headers: [a] }';
    expect(await faultsOf(`telemetry: ${telemetry}\n`)).toEqual([`1: telemetry.headers: ${keys}`]);
    expect(await faultsOf("")).toEqual([]);
  });

  test("of a key that is given twice, beside the rest", async () => {
    expect(await faultsOf("port: 1\nport: 2\nhost: 3\n")).toEqual([
      "2: Map keys must be unique",
      "3: host: expected a text: put it in quotes",
    ]);
  });

  test("of an alias that two models have, and of one that a model has twice", async () => {
    const text = `
upstreams: [{name: a, kind: openai, base_url: "http://127.0.0.1:1"}]
models:
  - {id: one, aliases: [x, x], family: f, kind: chat, targets: [{upstream: a, model: m}]}
  - id: two
    aliases:
      - y
      - one
    family: f
    kind: chat
    targets: [{upstream: a, model: m}]
`;
    expect(await faultsOf(text)).toEqual([
      '4: models[0].aliases[1]: a second model "x"',
      '8: models[1].aliases[1]: a second model "one"',
    ]);
  });

  for (const [name, text, line] of [
    ["a bracket that is never closed", "port: 1\nupstreams: [\nmodels: []\n", 3],
    ["a quote that is never closed", 'host: "a\nport: 1\n', 3],
    ["a tab as indentation", "upstreams:\n\t- name: a\n", 2],
    ["two documents", "port: 1\n---\nport: 2\n", 2],
    ["an anchor that does not exist", "port: 1\nhost: *nowhere\n", 2],
    ["an anchor that comes later", "host: *later\nmodels: &later []\n", 1],
    ["a tag that means nothing", "port: 1\nhost: !secret x\n", 2],
  ] as const) {
    test(`of a text that is no YAML: ${name}`, async () => {
      const faults = await faultsOf(text);
      expect(faults.length).toBeGreaterThan(0);
      expect(faults.join("\n")).toMatch(new RegExp(`^${line}: `, "m"));
    });
  }

  const many = (count: number, of: (i: number) => string) => Array.from({ length: count }, (_, i) => of(i)).join("");

  test.each([
    ["a list within itself", "tiers: &a\n  - *a\n", /^2: an alias that stands within/],
    ["a map within a list within itself", "port: 1\nmodels: &a\n  - { id: [*a] }\n", /^3: an alias that stands within/],
    ["all of it within itself", "&a\nmodels: *a\n", /^2: an alias that stands within/],
    [
      "a list of lists of lists",
      many(8, (i) => `${"abcdefghi"[i + 1]}: &b${i + 1} [${many(9, () => `*b${i},`)}]\n`).replace(
        /^/,
        "a: &b0 [x, x, x, x, x, x, x, x, x]\n",
      ),
      /^\d: aliases that stand for too much/,
    ],
    [
      "a long list ninety times",
      `a: &a [${many(2_000, () => "x,")}]\nb: [${many(90, () => "*a,")}]\n`,
      /^2: aliases that stand/,
    ],
    [
      "thousands of names",
      many(4_000, (i) => `k${i}: &k${i} 1\n`) + many(4_000, (i) => `l${i}: *k${i}\n`),
      /^5001: aliases that/,
    ],
    [
      "tens of thousands of keys, and one of them again",
      `${many(30_000, (i) => `k${i}: 1\n`)}k7: 1\n`,
      /^30001: .*Map keys must be unique/,
    ],
    ["lists in lists", `models: ${"[".repeat(200)}${"]".repeat(200)}\n`, /^1: values that are nested too deeply$/],
    ["lists in lists beyond any stack", `models: ${"[".repeat(20_000)}\n`, /^1: values that are nested too deeply$/],
  ])("of a text that is more than it says: %s", async (_, text, fault) => {
    expect((await faultsOf(text)).filter((one) => !fault.test(one)).join("\n")).not.toMatch(/call stack/i);
    expect((await faultsOf(text)).join("\n")).toMatch(new RegExp(fault.source, "m"));
  });

  test("of nothing where one value is named by two hundred aliases", async () => {
    const one = (i: number) =>
      `  - {id: m${i}, family: f, kind: chat, targets: ${i === 0 ? "&t " : "*t"}${i === 0 ? "[{upstream: a, model: m}]" : ""}}\n`;
    const text = `upstreams: [{name: a, kind: openai, base_url: "http://127.0.0.1:1"}]\nmodels:\n${many(201, one)}`;
    expect(await faultsOf(text)).toEqual([]);
  });

  for (const [name, text] of [
    ["a list", "- a\n- b\n"],
    ["a word", "hello\n"],
    ["a list of words for upstreams", "upstreams: [a, b]\nmodels: {a: b}\n"],
    ["nothing where something must be", "upstreams:\nmodels:\n"],
    ["a number for a model", "models: [1, null, {id: 5, aliases: 7, targets: x}]\n"],
  ] as const) {
    test(`of a file that holds ${name}`, async () => {
      expect((await faultsOf(text)).every((fault) => /^\d+: /.test(fault))).toBe(true);
      expect(await faultsOf(text)).not.toEqual([]);
    });
  }

  test("of a file that is not there, and of a folder in its place", () => {
    expect(() => loadConfig("nowhere.yaml", {})).toThrow("nowhere.yaml: the file cannot be read (ENOENT)");
    expect(() => loadConfig(written.folder, {})).toThrow("the file cannot be read (EISDIR)");
  });

  test("of an upstream that would hide the embedded models", async () => {
    const text = 'upstreams: [{name: embedded, kind: openai, base_url: "http://127.0.0.1:1"}]';
    const why =
      '"embedded" stands for the embedded models, which are served under their own names alone. Choose another name or upstream';
    expect(await faultsOf(text)).toEqual([`1: upstreams[0].name: ${why}`]);
    const alias = "models: [{id: a, family: a, kind: chat, targets: [{upstream: embedded, model: embedded-chat}]}]";
    expect(await faultsOf(alias)).toEqual([`1: models[0].targets[0].upstream: ${why}`]);
  });

  test("of an address whose query or user would be lost", async () => {
    for (const address of ["http://a/v1?version=2", "http://user:word@a/v1", "http://a/v1#x", "ftp://a", "a/v1", ""]) {
      const faults = await faultsOf(`upstreams: [{name: a, kind: openai, base_url: "${address}"}]`);
      expect(faults, address).toHaveLength(1);
      expect(faults[0], address).toMatch(/^1: upstreams\[0\].base_url: expected an /);
    }
  });

  test("of a port and a log level in the environment, without a file, too", () => {
    for (const PORT of ["http", "-1", "65536", "1.5", " ", "0x50", "1e3"]) {
      expect(
        faultsIn(() => loadConfig(undefined, { PORT })),
        PORT,
      ).toEqual(["PORT: expected a whole number from 0 to 65535"]);
    }
    expect(faultsIn(() => loadConfig(undefined, { LOG_LEVEL: "trace" }))).toHaveLength(1);
    expect(faultsIn(() => loadConfig(undefined, { OPENAI_BASE_URL: "localhost:1234" }))).toEqual([
      "OPENAI_BASE_URL: expected an http(s) address",
    ]);
  });

  test("of a secret's file that cannot be read, without a word of what was meant to be its path", async () => {
    const text = `operator_key: "\${KEY}"\n`;
    const missing =
      "_FILE: the file that it points to cannot be read (ENOENT): there is no such file or folder. Correct the path";
    expect(await faultsOf(text, { KEY_FILE: "sk-no-path" })).toEqual([`1: KEY${missing}`]);
    expect(() => loadConfig(undefined, { XAI_API_KEY_FILE: "sk-no-path" })).toThrow(
      `environment: XAI_API_KEY${missing}`,
    );
  });

  test("of a header of traces that could never be sent, in the file and in the environment", async () => {
    const text = 'telemetry: {endpoint: "http://127.0.0.1:4318", headers: {"two words": a, x-fine: b}}';
    expect(await faultsOf(text)).toEqual(["1: telemetry.headers.two words: expected the name of a header"]);
    for (const headers of ["secret", "two words=a", "=a", "x-fine=b,secret"]) {
      const environment = {
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://127.0.0.1:4318",
        OTEL_EXPORTER_OTLP_HEADERS: headers,
      };
      expect(
        faultsIn(() => loadConfig(undefined, environment)),
        headers,
      ).toEqual(["OTEL_EXPORTER_OTLP_HEADERS: expected name=value,name=value"]);
    }
  });

  test("without any secret in the words", async () => {
    const secret = "SECRET-3f9a";
    const $ = (name: string) => `\${${name}}`;
    const texts = [
      `upstreams: [{name: "${$("S")} !", kind: "${$("S")}", base_url: "${$("S")}", api_key: ["${$("S")}"]}]`,
      `upstreams: [{name: "${$("S")}", kind: openai, base_url: "http://a"}, {name: "${$("S")}", kind: openai, base_url: "http://${$("S")}@a"}]`,
      `models: [{id: "${$("S")}", family: f, kind: chat, aliases: ["${$("S")}"], targets: [{upstream: "${$("S")}", model: m}]}]`,
      `models: [{id: "${$("S")}", family: f, kind: chat, "${$("S")}": 1}]`,
      `log_level: "${$("S")}"\nport: "${$("S")}"`,
      // A secret that stands in the file itself, where the YAML around it is broken.
      `upstreams: []\n  api_key: ${secret}`,
      `- a\n${secret}: b`,
      `a: }${secret}`,
      `api_key: "${secret}`,
      `api_key: @${secret}`,
    ];
    for (const text of texts) {
      const faults = await faultsOf(text, { S: secret });
      expect(faults, text).not.toEqual([]);
      expect(faults.join("\n"), text).not.toContain(secret);
    }
    const environment = { OPENAI_BASE_URL: secret, OPENAI_API_KEY: `${secret}\nx`, PORT: secret, LOG_LEVEL: secret };
    const faults = faultsIn(() => loadConfig(undefined, environment));
    expect(faults).toHaveLength(4);
    expect(faults.join("\n")).not.toContain(secret);
  });
});

describe("without a file", () => {
  test("serves the embedded models and nothing else", () => {
    expect(loadConfig(undefined, {})).toMatchObject({ embeddedModels: true, upstreams: [], models: [] });
  });

  test("serves OpenAI's models of the catalogue for OPENAI_API_KEY", () => {
    const config = loadConfig(undefined, { OPENAI_API_KEY: "k" });
    expect(config.embeddedModels).toBe(true);
    expect(config.upstreams).toMatchObject([
      { name: "openai", kind: "openai", base_url: "https://api.openai.com/v1", api_key: "k" },
    ]);
    expect(config.upstreams[0]?.discover).toBeUndefined();
    expect(config.upstreams[0]?.profile).toMatchObject({ output_bound: "max_completion_tokens", developer: "kept" });
    expect(config.models.every(({ vendor }) => vendor === "openai")).toBe(true);
    expect(idsAt(config, "openai")).toContain("text-embedding-3-small");
    expect(idsAt(config, "openai").length).toBe(config.catalogue.filter(({ vendor }) => vendor === "openai").length);
  });

  test("needs no key for a server at OPENAI_BASE_URL, and asks it what it serves", () => {
    const [upstream] = loadConfig(undefined, { OPENAI_BASE_URL: "http://127.0.0.1:11434/v1/" }).upstreams;
    expect(upstream).toMatchObject({ name: "openai", base_url: "http://127.0.0.1:11434/v1", discover: true });
    expect(upstream?.api_key).toBeUndefined();
  });

  test("reads the older name of that address, where the newer is not set", () => {
    const older = { OPENAI_API_BASE: "http://127.0.0.1:1/v1" };
    const base = (more: object) => loadConfig(undefined, { ...older, ...more }).upstreams[0]?.base_url;
    expect(base({})).toBe("http://127.0.0.1:1/v1");
    expect(base({ OPENAI_BASE_URL: "http://127.0.0.1:2/v1" })).toBe("http://127.0.0.1:2/v1");
  });

  test.each([
    ["127.0.0.1", "http://127.0.0.1:11434/v1"],
    ["127.0.0.1:11500", "http://127.0.0.1:11500/v1"],
    ["0.0.0.0", "http://127.0.0.1:11434/v1"],
    [":11500", "http://127.0.0.1:11500/v1"],
    ["0.0.0.0:11500", "http://127.0.0.1:11500/v1"],
    ["::1", "http://[::1]:11434/v1"],
    ["[::]:11500", "http://[::1]:11500/v1"],
    ["gpu.local/ollama/", "http://gpu.local:11434/ollama/v1"],
    ["http://gpu.local", "http://gpu.local/v1"],
    ["http://gpu.local:11434/v1", "http://gpu.local:11434/v1"],
    ["https://ollama.com", "https://ollama.com/v1"],
    ["ollama.com", "https://ollama.com/v1"],
    ["Ollama.com/", "https://ollama.com/v1"],
    ["my-ollama.com", "http://my-ollama.com:11434/v1"],
  ])("reads OLLAMA_HOST %s as Ollama's tools read it: %s", (address, base_url) => {
    const { upstreams } = loadConfig(undefined, { OLLAMA_HOST: address });
    expect(upstreams).toMatchObject([{ name: "ollama", base_url, discover: true, profile: { thoughts: "reasoning" } }]);
    expect(upstreams[0]?.api_key).toBeUndefined();
  });

  test("serves Ollama's own service where only its key is set, and a local server where that is", () => {
    const key = { OLLAMA_API_KEY: "k" };
    const [cloud] = loadConfig(undefined, key).upstreams;
    expect(cloud).toMatchObject({ name: "ollama", base_url: "https://ollama.com/v1", api_key: "k", discover: true });
    const [local] = loadConfig(undefined, { ...key, OLLAMA_HOST: "localhost" }).upstreams;
    expect(local).toMatchObject({ base_url: "http://localhost:11434/v1", api_key: "k", discover: true });
  });

  test("refuses what is no host in OLLAMA_HOST", () => {
    for (const OLLAMA_HOST of ["ftp://gpu.local", "a b", "user@gpu.local", "gpu.local:port"])
      expect(faultsIn(() => loadConfig(undefined, { OLLAMA_HOST }))).toHaveLength(1);
  });

  test("does not serve all that the vendor itself lists", () => {
    const [upstream] = loadConfig(undefined, {
      OPENAI_BASE_URL: "https://api.openai.com/v1/",
      OPENAI_API_KEY: "k",
    }).upstreams;
    expect(upstream?.discover).toBeUndefined();
  });

  test("serves Anthropic's for ANTHROPIC_API_KEY, at ANTHROPIC_BASE_URL with or without its /v1", () => {
    const base = (url?: string) =>
      loadConfig(undefined, { ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url }).upstreams[0]?.base_url;
    expect(base()).toBe("https://api.anthropic.com/v1");
    expect(base("http://127.0.0.1:1/anthropic/")).toBe("http://127.0.0.1:1/anthropic/v1");
    expect(base("http://127.0.0.1:1/v1")).toBe("http://127.0.0.1:1/v1");
    const { models } = loadConfig(undefined, { ANTHROPIC_API_KEY: "k" });
    expect(new Set(models.map(({ vendor }) => vendor))).toEqual(new Set(["anthropic"]));
  });

  test("serves every vendor whose key is set, and takes an empty variable as not set", async () => {
    const made = new Set(loadConfig(undefined, {}).catalogue.map(({ vendor }) => vendor));
    for (const { name, kind, key_variable } of (await vendors()).filter((vendor) => made.has(vendor.name))) {
      const config = loadConfig(undefined, { [key_variable]: " key\n", OPENAI_BASE_URL: "" });
      expect(config.upstreams, name).toMatchObject([{ name, kind, api_key: "key" }]);
      expect(idsAt(config, name).length, name).toBeGreaterThan(0);
      expect(loadConfig(undefined, { [key_variable]: "" }).upstreams).toEqual([]);
    }
    const two = loadConfig(undefined, { OPENAI_API_KEY: "a", XAI_API_KEY: "b" });
    expect(two.upstreams.map(({ name }) => name)).toEqual(["openai", "xai"]);
  });

  test("takes another name of a key, or a bearer's token, where the usual key is not set", () => {
    const keysBy = (environment: Record<string, string>) =>
      loadConfig(undefined, environment).upstreams.map(({ name, api_key, credential }) => [name, api_key, credential]);
    expect(keysBy({ GOOGLE_API_KEY: " k\n" })).toEqual([["google", "k", undefined]]);
    expect(keysBy({ GOOGLE_API_KEY: "other", GEMINI_API_KEY: "k" })).toEqual([["google", "k", undefined]]);
    expect(keysBy({ ANTHROPIC_AUTH_TOKEN: "t" })).toEqual([["anthropic", "Bearer t", "authorization"]]);
    expect(keysBy({ ANTHROPIC_AUTH_TOKEN: "t", ANTHROPIC_API_KEY: "k" })).toEqual([["anthropic", "k", undefined]]);
    expect(() => keysBy({ ANTHROPIC_AUTH_TOKEN: "Bearer t" })).toThrow(/ANTHROPIC_AUTH_TOKEN.*alone/);
  });

  test("with a file, serves only what the file names", async () => {
    expect(await load("port: 1", { OPENAI_API_KEY: "k" })).toMatchObject({ upstreams: [], models: [] });
  });
});

describe("the profile of an upstream", () => {
  const at = (more: string) =>
    `upstreams:\n  - name: near\n    kind: openai\n    base_url: http://127.0.0.1:1\n${more}`;

  test("is that of the vendor that it names, or whose name or address it has; its own words come first", async () => {
    const profileAt = async (more: string) => (await load(at(more))).upstreams[0]?.profile;
    expect(await profileAt("")).toBeUndefined();
    expect(await profileAt("    vendor: mistral\n")).toMatchObject({ include_usage: false, system: "first" });
    const own = "    vendor: mistral\n    profile: { system: anywhere, models: [{ match: [x], efforts: [] }] }\n";
    expect(await profileAt(own)).toMatchObject({ include_usage: false, system: "anywhere" });
    expect((await profileAt(own))?.models?.at(-1)).toEqual({ match: ["x"], efforts: [] });
    const openai = await profileAt("    vendor: openai\n    profile: { responses: never, efforts: [low] }\n");
    // Also where the vendor's says something else of the model.
    expect(createProfile(openai ?? {}).of("gpt-5.4").stated).toMatchObject({ responses: "never", efforts: ["low"] });
    const named = await load("upstreams: [{name: zai, kind: openai, base_url: http://127.0.0.1:1}]");
    expect(named.upstreams[0]?.profile).toMatchObject({ effort_key: "thinking.effort" });
    const addressed = await load("upstreams: [{name: other, kind: openai, base_url: https://api.x.ai/v1}]");
    expect(addressed.upstreams[0]?.profile).toMatchObject({ thoughts: "none" });
    // The vendor's has the path that it needs.
    expect(await profileAt("    vendor: openai\n    profile: { responses: always }\n")).toMatchObject({
      responses: "always",
    });
  });

  test("puts no effort in the place of another that the model does not take either", async () => {
    const profile = createProfile((await load(at("    vendor: openai\n"))).upstreams[0]?.profile ?? {});
    const fitted = (model: string, effort: string) =>
      fitEffort({ reasoning_effort: effort }, profile.of(model).stated).changes;
    expect(fitted("gpt-5.1", "xhigh")).toEqual({ reasoning_effort: "high" });
    // The rule for all of its kind has `none: low`, and the one for this model has no efforts.
    expect(fitted("gpt-5-chat-latest", "none")).toEqual({ reasoning_effort: undefined });
  });

  test("is refused where it contradicts itself, names nothing, or has no such key", async () => {
    const profile = (text: string) => faultsOf(at(`    profile: ${text}\n`));
    expect(await profile("{ efforts: [low], efforts_instead: { high: medium } }")).toEqual([
      "5: upstreams[0].profile.efforts_instead.high: expected one of efforts (low), got medium",
    ]);
    expect(await profile("{ models: [{ match: [a], efforts: [], efforts_instead: { high: low } }] }")).toEqual([
      "5: upstreams[0].profile.models[0].efforts_instead.high: expected one of efforts (none at all), got low",
    ]);
    expect(await profile("{ efforts: [low], effort_default: high }")).toEqual([
      "5: upstreams[0].profile.effort_default: expected one of efforts (low), got high",
    ]);
    expect(await profile("{ efforts: [], effort_default: none }")).toEqual([]);
    const indispensable =
      "no call can be without this key: `model`, `messages`, `input` and what `output_bound` names cannot be refused";
    expect(await profile("{ refuses: [top_k, model] }")).toEqual([
      `5: upstreams[0].profile.refuses[1]: ${indispensable}`,
    ]);
    expect(
      await profile("{ output_bound: max_tokens, models: [{ match: [a], refuses_reasoning: [max_tokens] }] }"),
    ).toEqual([`5: upstreams[0].profile.models[0].refuses_reasoning[0]: ${indispensable}`]);
    expect(await profile("{ output_bound: max_tokens, refuses: [max_completion_tokens] }")).toEqual([]);
    const words = "needs operations.responses, the path that such calls go to";
    expect(await profile("{ responses: always }")).toEqual([`5: upstreams[0].profile.responses: "always" ${words}`]);
    expect(await profile("{ operations: { chat: /c }, responses: tools }")).toEqual([
      `5: upstreams[0].profile.responses: "tools" ${words}`,
    ]);
    expect(
      await profile(
        "\n      models:\n        - { match: [a], efforts: [] }\n        - { match: [b], responses: always }",
      ),
    ).toEqual([`8: upstreams[0].profile.models[1].responses: "always" ${words}`]);
    expect(await profile("{ responses: sometimes }")).toHaveLength(1);
    expect(await profile("{ operations: {} }")).toHaveLength(1);
    expect(await profile("{ operations: { chat: chat } }")).toHaveLength(1);
    expect(await profile("{ system: last }")).toHaveLength(1);
    expect(await profile("{ max: 1 }")).toEqual(["5: upstreams[0].profile.max: there is no such key"]);
    expect(await profile("{ eforts: [] }")).toEqual([
      "5: upstreams[0].profile.eforts: there is no such key; is efforts meant?",
    ]);
    expect(await profile("{ models: [{ match: [] }] }")).toHaveLength(1);
    expect((await faultsOf(at("    vendor: nobody\n")))[0]).toMatch(
      /^5: upstreams\[0\]\.vendor: there is no vendor "nobody"; there are alibaba, /,
    );
    expect(await faultsOf(at("    api_key: a\n    api_keys: [b]\n"))).toEqual([
      "6: upstreams[0].api_keys: expected either api_key or api_keys, not both",
    ]);
    expect(await faultsOf(at('    api_keys: [b, " "]\n'))).toEqual([
      "5: upstreams[0].api_keys[1]: expected at least 1 character",
    ]);
  });

  test("is refused where its server has nothing for a model, or another dialect", async () => {
    const models = (more: string) =>
      `models:\n  - { id: m, family: f, ${more}, targets: [{ upstream: near, model: x }] }\n`;
    const serving = (profile: string, model: string) => faultsOf(at(`    profile: ${profile}\n${models(model)}`));
    const none = (kind: string) => [
      `7: models[0].targets[0].upstream: the profile of "near" has no path in \`operations\` for models of kind ${kind}`,
    ];
    expect(await serving("{ operations: { chat: /c } }", "kind: embedding")).toEqual(none("embedding"));
    expect(await serving("{ operations: { chat: /c } }", "kind: speech")).toEqual(none("speech"));
    expect(await serving("{ operations: { embeddings: /e } }", "kind: chat")).toEqual(none("chat"));
    expect(await serving("{ operations: { completions: /c } }", "kind: chat")).toEqual(none("chat"));
    expect(await serving("{ operations: { completions: /c } }", "kind: chat, completions: native")).toEqual([]);
    expect(await serving("{ operations: { responses: /r } }", "kind: chat")).toEqual([]);
    expect(await serving("{ operations: { responses: /r }, responses: never }", "kind: chat")).toEqual(none("chat"));
    expect(await serving("{ responses: never }", "kind: chat")).toEqual([]);
    const other = "upstreams:\n  - { name: a, kind: anthropic, base_url: http://x, profile: { system: first } }\n";
    expect(await faultsOf(other)).toEqual([
      "2: upstreams[0].profile: only upstreams of kind openai have one; leave it out",
    ]);
  });
});

describe("the catalogue's prices, which are in dollars", () => {
  const priceOf = ({ models }: Config) => models.find(({ id }) => id === "gpt-4.1")?.price;
  const at = (more: string) => load(`upstreams: [{name: openai, kind: openai, base_url: http://127.0.0.1:1}]\n${more}`);

  test("are what a dollar is in units, and never a dollar for a yen", async () => {
    expect(priceOf(await at(""))).toMatchObject({ input: 310_000_000, output: 1_240_000_000, cache_read: 77_500_000 });
    const yen = await at('catalogue_prices: {dollar: "150.5", markup: "1.1"}');
    expect(priceOf(yen)).toMatchObject({ input: 331_100_000, output: 1_324_400_000 });
    expect(yen.cataloguePrices).toEqual({ dollar: 150_500_000, markup: 1_100_000, isAssumed: false });
    const dollars = await at("unit: {code: USD, symbol: $}");
    expect([priceOf(dollars)?.input, dollars.cataloguePrices.isAssumed]).toEqual([2_000_000, false]);
    const others = await at("unit: {code: CREDIT, symbol: c}");
    expect([priceOf(others)?.input, others.cataloguePrices.isAssumed]).toEqual([2_000_000, true]);
  });

  test("are rounded up to a millionth", async () => {
    const third = await at('catalogue_prices: {dollar: "0.333333", markup: "0.000001"}');
    expect(priceOf(third)).toMatchObject({ input: 1, output: 3, cache_read: 1 });
  });

  test("leave alone what gateway.yaml prices itself", async () => {
    const own = 'models: [{id: gpt-4.1, family: f, kind: chat, vendor: openai, price: {input: "2", output: "3"}}]';
    expect(priceOf(await at(own))).toEqual({ input: 2_000_000, output: 3_000_000 });
  });

  test("have no factor that is a percentage or an amount", async () => {
    const most = 'expected at most 10: a factor multiplies prices, so "1.10" makes them a tenth higher';
    const own = (regional: string) =>
      `upstreams: [{name: openai, kind: openai, base_url: "http://127.0.0.1:1", api_key: k}]
models: [{id: m, family: f, kind: chat, vendor: openai, price: {input: "2", output: "3", regional: "${regional}"}}]`;
    expect(await faultsOf('catalogue_prices: {markup: "110"}')).toEqual([`1: catalogue_prices.markup: ${most}`]);
    for (const wrong of ["1000000", "110", "10.000001"])
      expect(await faultsOf(own(wrong))).toEqual([`2: models[0].price.regional: ${most}`]);
    expect(await faultsOf(own("10"))).toEqual([]);
  });

  test("have no rate of nothing", async () => {
    expect(await faultsOf('catalogue_prices: {dollar: "0"}')).toEqual([
      "1: catalogue_prices.dollar: expected more than 0: a factor of 0 would make all of it free",
    ]);
  });
});

async function vendors() {
  return vendorsSchema.parse(parseDocument(await readFile(join(root, "catalog/vendors.yaml"), "utf8")).toJS()).vendors;
}

describe("the catalogue", () => {
  const { catalogue } = loadConfig(undefined, {});

  test("has at least 40 models, of vendors that are all known", async () => {
    expect(catalogue.length).toBeGreaterThanOrEqual(40);
    const known = new Set((await vendors()).map(({ name }) => name));
    for (const { id, vendor } of catalogue) expect(known, id).toContain(vendor);
  });

  test("tells of each what a call needs to know: context, output bound, price", () => {
    for (const model of catalogue) {
      const { id, kind, price } = model;
      expect(model.created, id).toMatch(/^20\d\d-\d\d-\d\d$/);
      if (kind === "chat") {
        expect(model.context_window, id).toBeGreaterThan(0);
        expect(model.max_output_tokens, id).toBeLessThanOrEqual(model.context_window as number);
        expect(price?.input, id).toBeGreaterThan(0);
        expect(price?.output, id).toBeGreaterThanOrEqual(price?.input as number);
        if (price?.cache_read !== undefined) expect(price.cache_read, id).toBeLessThan(price.input as number);
      }
      if (kind === "embedding") expect([model.dimensions, price?.input].every(Number), id).toBe(true);
      if (kind === "speech") expect(price?.characters, id).toBeGreaterThan(0);
    }
  });

  test("has a price in each mode and band for what has one: a missing one would be that of a cheaper kind", () => {
    const kinds = ["cache_read", "cache_write", "cache_write_hour"] as const;
    for (const { id, price } of catalogue) {
      const modes = ([undefined, "priority", "ultrafast", "flex", "batch", "fast"] as const).flatMap((name) => {
        const card = name === undefined ? price : price?.[name];
        return card ? [card, ...(card.long ?? [])].map((rates) => [name, rates] as const) : [];
      });
      const priced = kinds.filter((kind) => price?.[kind] !== undefined);
      for (const [name, rates] of modes)
        expect(
          kinds.filter((kind) => rates[kind] !== undefined),
          `${id} ${name}`,
        ).toEqual(priced);
    }
  });

  test("gives no name twice", () => {
    const names = catalogue.flatMap(({ id, aliases }) => [id, ...aliases]);
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
  });

  test("names no target: where a model runs is the operator's to say", () => {
    expect(catalogue.filter(({ targets }) => targets.length > 0)).toEqual([]);
  });
});

describe("an upstream that is asked what it serves", () => {
  const servers: Server[] = [];
  afterAll(() => {
    for (const server of servers) server.close().closeAllConnections();
  });

  async function serverOf(listener: RequestListener): Promise<string> {
    const server = createServer(listener).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    return `http://127.0.0.1:${(server.address() as { port: number }).port}/v1`;
  }

  /** A server with this list of models. */
  function listing(...ids: unknown[]): Promise<string> {
    return serverOf(
      (_, res) => void res.end(JSON.stringify({ object: "list", data: ids.map((id) => ({ id, object: "model" })) })),
    );
  }

  /** ask returns the configuration after discovery, and the log lines. */
  async function ask(config: Config, timeout?: number) {
    const lines: string[] = [];
    const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
    const discovered = await discoverModels(config, log, timeout);
    return { discovered, logged: lines.map((line) => JSON.parse(line) as { level: number; cause?: string }) };
  }

  test("serves what it lists: known models as the catalogue has them, others as chat without a price", async () => {
    const asked: [string | undefined, string | undefined][] = [];
    const base = await serverOf((req, res) => {
      asked.push([req.url, req.headers.authorization]);
      res.end(JSON.stringify({ data: [{ id: "llama3.2:3b" }, { id: "gpt-5.1" }, { id: "org/Some-Model" }] }));
    });
    const { discovered, logged } = await ask(
      loadConfig(undefined, { OPENAI_BASE_URL: base, OPENAI_API_KEY: "the-key" }),
    );
    expect(asked).toEqual([["/v1/models", "Bearer the-key"]]);
    expect(discovered.models.map(({ id }) => id)).toEqual(["gpt-5.1", "llama3.2:3b", "org/Some-Model"]);
    expect(discovered.models[0]).toMatchObject({ family: "gpt-5", price: { input: 193_750_000 } });
    expect(discovered.models[1]).toEqual({
      id: "llama3.2:3b",
      aliases: [],
      family: "openai-compatible",
      kind: "chat",
      targets: [{ upstream: "openai", model: "llama3.2:3b", priority: 0, weight: 1 }],
    });
    expect(logged).toMatchObject([{ level: 30, upstream: "openai", models: 3 }]);
    expect(JSON.stringify(logged)).not.toContain("the-key");
  });

  test("needs no key", async () => {
    const asked: unknown[] = [];
    const base = await serverOf((req, res) => {
      asked.push(req.headers.authorization);
      res.end('{"data":[]}');
    });
    const { discovered } = await ask(loadConfig(undefined, { OPENAI_BASE_URL: base }));
    expect(asked).toEqual([undefined]);
    expect(discovered.models).toEqual([]);
  });

  test("serves another vendor's models that it lists, unless that vendor is an upstream itself", async () => {
    const base = await listing("claude-opus-5", "grok-4.6");
    const { discovered } = await ask(loadConfig(undefined, { OPENAI_BASE_URL: base, XAI_API_KEY: "k" }));
    expect(idsAt(discovered, "openai")).toEqual(["claude-opus-5"]);
    expect(idsAt(discovered, "xai")).toEqual(["grok-4.5", "grok-4.6", "grok-4.7"]);
    expect(discovered.models.find(({ id }) => id === "claude-opus-5")?.family).toBe("claude-opus");
  });

  test("serves a model under the name that it has there, where that is an alias", async () => {
    const { discovered } = await ask(loadConfig(undefined, { OPENAI_BASE_URL: await listing("deepseek-reasoner") }));
    expect(discovered.models).toMatchObject([
      { id: "deepseek-flash", targets: [{ upstream: "openai", model: "deepseek-reasoner" }] },
    ]);
  });

  test("takes each model for the kind that the list tells, where it is one that its upstream can serve", async () => {
    const lists = (...data: object[]) => serverOf((_, res) => void res.end(JSON.stringify({ data })));
    const one = await lists(
      { id: "vectors", kind: "embedding" },
      { id: "voice", kind: "speech" },
      { id: "talk", kind: "chat" },
      { id: "odd", kind: "video" },
      { id: "odder", kind: 7 },
      { id: "gpt-5.1", kind: "speech" },
    );
    const two = await lists(
      { id: "vectors", kind: "chat" },
      { id: "talk", kind: "chat" },
      { id: "noise", kind: "speech" },
    );
    const { discovered } = await ask(
      await load(`
upstreams:
  - {name: one, kind: openai, base_url: "${one}", discover: true}
  - {name: two, kind: anthropic, base_url: "${two}", discover: true}
`),
    );
    const told = discovered.models.map(({ id, kind, targets }) => [id, kind, targets.map((at) => at.upstream).join()]);
    expect(told).toEqual([
      ["gpt-5.1", "chat", "one"],
      ["vectors", "embedding", "one"],
      ["voice", "speech", "one"],
      ["talk", "chat", "one,two"],
      ["odd", "chat", "one"],
      ["odder", "chat", "one"],
    ]);
  });

  test("leaves out what is no name of a model, and the simulators that the gateway has itself", async () => {
    const base = await listing("good", "", "has a space", 5, null, { a: 1 }, "x".repeat(201), "good", "embedded-chat");
    const { discovered } = await ask(loadConfig(undefined, { OPENAI_BASE_URL: base }));
    expect(discovered.models.map(({ id }) => id)).toEqual(["good"]);
  });

  test("may be any upstream of the file, and several that list the same share it", async () => {
    const [one, two] = [await listing("shared", "only-one", "mine"), await listing("shared")];
    const config = await load(`
upstreams:
  - {name: one, kind: openai, base_url: "${one}", discover: true}
  - {name: two, kind: openai, base_url: "${two}", discover: true}
  - {name: three, kind: openai, base_url: "http://127.0.0.1:1/v1"}
models:
  - {id: mine, family: f, kind: chat, targets: [{upstream: three, model: m}]}
  - {id: unlisted, family: f, kind: chat, targets: [{upstream: one, model: m}]}
`);
    const { discovered } = await ask(config);
    const where = (id: string) =>
      discovered.models.find((model: ModelConfig) => model.id === id)?.targets.map((at) => at.upstream);
    expect(where("shared")).toEqual(["one", "two"]);
    expect(where("only-one")).toEqual(["one"]);
    // What the file itself says stays.
    expect([where("mine"), where("unlisted")]).toEqual([["three"], ["one"]]);
  });

  test("serves no model of the catalogue from an upstream that serves none of its kind, listed or not", async () => {
    const base = await listing("text-embedding-3-small", "gpt-5.1");
    const upstream = (discover: boolean) => `
upstreams:
  - {name: openai, kind: anthropic, base_url: "${base}", discover: ${discover}}
`;
    const kindsOf = ({ models }: Config) => new Set(models.map(({ kind }) => kind));
    const config = await load(upstream(false));
    expect(idsAt(config, "openai")).toContain("gpt-5.1");
    expect(kindsOf(config)).toEqual(new Set(["chat"]));
    const { discovered } = await ask(await load(upstream(true)));
    expect(discovered.models.map(({ id }) => id)).toEqual(["gpt-5.1"]);
  });

  const failures: Record<string, readonly [RequestListener, RegExp]> = {
    "answers 404": [(_, res) => void res.writeHead(404).end("not here SECRET"), /status 404/],
    "sends elsewhere": [(_, res) => void res.writeHead(302, { location: "/models" }).end(), /status 302/],
    "answers with garbage": [(_, res) => void res.end("<html>SECRET"), /not JSON/],
    "answers with JSON that is no list": [(_, res) => void res.end('{"data":null}'), /no list/],
    "answers null": [(_, res) => void res.end("null"), /no list/],
    "never stops sending": [
      (_, res) => {
        const endless = new Readable({ read: () => void endless.push("[".repeat(65536)) });
        pipeline(endless, res, () => {});
      },
      /larger than/,
    ],
  };
  for (const [name, [listener, cause]] of Object.entries(failures)) {
    test(`keeps the catalogue's models when it ${name}, and says so in one line`, async () => {
      const config = loadConfig(undefined, { OPENAI_BASE_URL: await serverOf(listener) });
      const { discovered, logged } = await ask(config);
      expect(discovered.models).toEqual(config.models);
      expect(idsAt(discovered, "openai")).toContain("gpt-5.1");
      expect(logged).toMatchObject([{ level: 40, upstream: "openai", cause: expect.stringMatching(cause) }]);
      expect(JSON.stringify(logged)).not.toContain("SECRET");
    });
  }

  const absences: Record<string, readonly [RequestListener, RegExp]> = {
    "never answers": [() => {}, /in time/],
    "begins and never ends": [(_, res) => void res.write('{"data":['), /in time/],
    "breaks off": [(_, res) => void res.write('{"data":[', () => res.destroy()), /./],
    "has too much to do": [(_, res) => void res.writeHead(503).end(), /status 503/],
  };
  for (const [name, [listener, cause]] of Object.entries(absences)) {
    test(`is not served as long as it ${name}, and that is said in one line`, async () => {
      const { discovered, logged } = await ask(
        loadConfig(undefined, { OPENAI_BASE_URL: await serverOf(listener) }),
        cause.test("in time") ? 100 : undefined,
      );
      expect(discovered.models).toEqual([]);
      expect(logged).toMatchObject([{ level: 40, upstream: "openai", cause: expect.stringMatching(cause) }]);
    });
  }

  test("is not served as long as nobody is there", async () => {
    const { discovered, logged } = await ask(loadConfig(undefined, { OPENAI_BASE_URL: "http://127.0.0.1:1/v1" }));
    expect(discovered.models).toEqual([]);
    const remedy = expect.stringContaining("runs");
    expect(logged).toMatchObject([{ level: 40, cause: expect.stringContaining("ECONNREFUSED"), remedy }]);
  });

  test("that wants a key is told apart from one at a wrong address", async () => {
    for (const [status, remedy] of [
      [401, /OPENAI_API_KEY/],
      [404, /`\/v1`/],
    ] as const) {
      const base = await serverOf((_, res) => void res.writeHead(status).end());
      const { logged } = await ask(loadConfig(undefined, { OPENAI_BASE_URL: base }));
      expect(logged).toMatchObject([{ remedy: expect.stringMatching(remedy) }]);
    }
  });

  test("does not keep the others waiting, and takes from those that answer", async () => {
    const [good, bad] = [await listing("good"), await serverOf(() => {})];
    const config = await load(`
upstreams:
  - {name: bad, kind: openai, base_url: "${bad}", discover: true}
  - {name: good, kind: openai, base_url: "${good}", discover: true}
`);
    const { discovered, logged } = await ask(config, 200);
    expect(discovered.models.map(({ id }) => id)).toEqual(["good"]);
    expect(logged.map(({ level }) => level).sort()).toEqual([30, 40]);
  });

  test("is left alone where nothing is to be discovered", async () => {
    const config = loadConfig(undefined, { OPENAI_API_KEY: "k" });
    expect((await ask(config)).discovered).toBe(config);
  });
});

describe("money", () => {
  test("has tiers, a unit and an operator as the file says", async () => {
    const config = await load(
      `tiers:
  - { name: Small, recharge: "0", requests_per_minute: 5, tokens_per_minute: 1000 }
  - { name: Large, recharge: "0.000001", requests_per_minute: 50 }
unit: { code: EUR, symbol: "€" }
durability: power
operator_key: "\${KEY}"
max_keys_per_account: 7
`,
      { KEY: "k".repeat(32) },
    );
    expect(config.tiers).toEqual([
      { name: "Small", recharge: 0, requestsPerMinute: 5, tokensPerMinute: 1000 },
      { name: "Large", recharge: 1, requestsPerMinute: 50, tokensPerMinute: undefined },
    ]);
    expect(config).toMatchObject({ unit: { code: "EUR", symbol: "€" }, durability: "power", maxKeysPerAccount: 7 });
    expect(config.operatorKey).toBe("k".repeat(32));
  });

  test("that makes no sense is told with its lines, and without the operator's key", async () => {
    const faults = await faultsOf(`tiers:
  - { name: A, recharge: "1", requests_per_minute: 60 }
  - { name: B, recharge: "5", requests_per_minute: 60 }
  - { name: A, recharge: "5", requests_per_minute: 60 }
unit: { code: yen, symbol: "¥" }
durability: maybe
operator_key: short-secret
max_keys_per_account: 0
`);
    expect(faults.map((fault) => fault.split(": ").slice(0, 2).join(": "))).toEqual([
      "2: tiers[0].recharge",
      "4: tiers[2].recharge",
      "4: tiers[2].name",
      "5: unit.code",
      "6: durability",
      "7: operator_key",
      "8: max_keys_per_account",
    ]);
    expect(faults.join()).not.toContain("short-secret");
    expect(await faultsOf("tiers: []\n")).toEqual(["1: tiers: expected at least 1 entry"]);
    expect(await faultsOf("tiers: [{name: A, recharge: 0, requests_per_minute: 0}]\n")).toHaveLength(2);
  });
});
