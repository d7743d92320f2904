/**
 * The examples in Python and Go do what their READMEs say, against a gateway; Python with the package that teams install. Each
 * is skipped where the machine lacks its language.
 */
import { execFile, execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import project from "../../package.json" with { type: "json" };
import { pricedModels } from "../support/dashboard/furnished.ts";
import { eventually } from "../support/eventually.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { root, textOf } from "../support/pages.ts";

const run = promisify(execFile);

let gateway: TestGateway;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "examples-"));
  gateway = await startTestGateway({ models: [...pricedModels] });
});

afterAll(async () => {
  await gateway?.close();
  rmSync(folder, { recursive: true });
});

const environment = () => ({
  ...process.env,
  PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
  GATEWAY_URL: gateway.rootUrl,
  GATEWAY_API_KEY: gateway.apiKey,
});

function succeeds(command: string, args: readonly string[], cwd = root): boolean {
  try {
    execFileSync(command, args, { cwd, stdio: "ignore", timeout: 120_000 });
    return true;
  } catch {
    return false;
  }
}

/** What an example prints, in whichever language. */
const printed = (language: string) =>
  new RegExp(
    [
      "^models: (?=.*embedded-chat).*",
      `answer: hello from ${language}, at a cost of 0\\.0000\\d+`,
      "stream: one two three",
      "refused: INVALID_VALUE of temperature: .*'temperature'.*\n$",
    ].join("\n"),
  );

/** What the package is generated, built, checked and run with. */
const needed = `
import grpc_status, grpc_tools, mypy, setuptools, wheel
from importlib.metadata import version
version("types-protobuf")
`;
const hasPython = succeeds("python3", ["-c", needed]);

describe.skipIf(!hasPython)("Python", { timeout: 300_000 }, () => {
  let env: NodeJS.ProcessEnv;

  beforeAll(async () => {
    // A copy: building leaves files beside its sources.
    for (const part of ["proto", "third_party", "LICENSE", "clients/python"]) {
      cpSync(join(root, part), join(folder, "clone", part), { recursive: true });
    }
    const pip = ["-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"];
    const source = join(folder, "clone/clients/python");
    const wheel = [
      ...pip,
      "wheel",
      "--no-build-isolation",
      "--no-deps",
      "--no-index",
      "-w",
      join(folder, "dist"),
      source,
    ];
    await run("python3", wheel);
    const [name = ""] = readdirSync(join(folder, "dist"));
    const site = join(folder, "site");
    await run("python3", [...pip, "install", "--no-deps", "--no-index", "--target", site, join(folder, "dist", name)]);
    env = { ...environment(), PYTHONPATH: site };
  }, 300_000);

  test("builds a wheel of the gateway's version, with its licence and types, that names what it needs", () => {
    expect(readdirSync(join(folder, "dist"))).toEqual([`model_gateway-${project.version}-py3-none-any.whl`]);
    const info = join(folder, `site/model_gateway-${project.version}.dist-info`);
    const metadata = readFileSync(join(info, "METADATA"), "utf8");
    expect(metadata.match(/^Requires-Dist: .*$/gm)?.sort()).toEqual([
      expect.stringMatching(/^Requires-Dist: grpcio-status>=\d/),
      expect.stringMatching(/^Requires-Dist: grpcio>=\d/),
      expect.stringMatching(/^Requires-Dist: protobuf<\d+,>=\d/),
    ]);
    expect(readdirSync(join(info, "licenses"))).toEqual(["LICENSE"]);
    const files = readdirSync(join(folder, "site/model_gateway"), { recursive: true, encoding: "utf8" });
    expect(files).toEqual(expect.arrayContaining(["py.typed", "v1/chat_pb2.pyi", "v1/operator_pb2_grpc.py"]));
    expect(files.filter((path) => /buf|google/.test(path))).toEqual([]);
  });

  test("types messages and calls, at once and by asyncio", async () => {
    const mypy = async (file: string) => {
      const options = { env: { ...env, MYPYPATH: join(folder, "site") }, cwd: folder };
      return run("python3", ["-m", "mypy", "--strict", "--ignore-missing-imports", file], options).then(
        () => "",
        ({ stdout }) => stdout as string,
      );
    };
    expect(await mypy(join(root, "examples/python/chat.py"))).toBe("");
    const wrong = `
from typing import Any
from model_gateway.v1 import chat_pb2, inference_pb2_grpc, keys_pb2_grpc, models_pb2

async def call(inference: inference_pb2_grpc.InferenceServiceAsyncStub) -> str:
    return (await inference.ListModels(models_pb2.ListModelsRequest())).data[0].created

def call_wrongly(keys: keys_pb2_grpc.KeyServiceStub) -> None:
    keys.ListKeys(models_pb2.ListModelsRequest())
`;
    writeFileSync(join(folder, "wrong.py"), wrong);
    expect((await mypy("wrong.py")).match(/error: .*/g)).toEqual([
      expect.stringContaining('got "int", expected "str"'),
      expect.stringContaining('expected "ListKeysRequest"'),
    ]);
  });

  test("runs the example", async () => {
    const { stdout } = await run("python3", [join(root, "examples/python/chat.py")], { env, cwd: folder });
    expect(stdout).toMatch(printed("Python"));
  });

  test("does what the package's README shows", async () => {
    const [, code = ""] = /^```python\n([\s\S]*?)^```$/m.exec(textOf("clients/python/README.md")) ?? [];
    const here = code.replace("https://gateway.example", gateway.rootUrl).replace("some-chat", "embedded-chat");
    const { stdout } = await run("python3", ["-c", here], { env, cwd: folder });
    expect(stdout.match(/embedded simulator/g)).toHaveLength(2);
  });

  test("keeps keys, deadlines and reasons, at once and by asyncio", async () => {
    const mark = gateway.logged().length;
    const { stdout } = await run("python3", [join(root, "test/clients/packed/checks.py")], { env, cwd: folder });
    expect(JSON.parse(stdout)).toEqual({
      synchronous: {
        ...{ content: "in time", own: "test", deadline: "DEADLINE_EXCEEDED", stream_deadline: "DEADLINE_EXCEEDED" },
        refused: ["INVALID_VALUE", 400, "metadata.simulate_delay_ms", null, false],
        busy: ["UPSTREAM_REFUSED", 429, "", 1, false],
        other_key: ["INVALID_API_KEY", 401, "", null, true],
        keys_asked: 6,
      },
      left: "left",
      asynchronous: { streamed: "one two three", refused: ["UPSTREAM_REFUSED", 503, 1], late: "DEADLINE_EXCEEDED" },
      addresses: [
        "The address of the gateway is http://host:port or https://host, not '127.0.0.1:8080'.",
        'The address of the gateway is needed without "/v1".',
        "The API key is empty. Leave it out, or read it from where it is kept.",
        "The API key has a space, a line break or a sign that no key has. Copy it anew.",
      ],
    });
    // Two deadlines at once, one by asyncio, and the stream that was left.
    await eventually(() =>
      expect(
        gateway
          .logged()
          .slice(mark)
          .match(/"reason":"CANCELLED"/g),
      ).toHaveLength(4),
    );
  });
});

const hasGo = succeeds("go", ["mod", "download"], join(root, "examples/go"));

describe.skipIf(!hasGo)("Go", { timeout: 600_000 }, () => {
  let program: string;

  beforeAll(async () => {
    for (const part of ["buf.yaml", "proto", "third_party", "examples/go"]) {
      const filter = (path: string) => !path.endsWith("examples/go/gen");
      cpSync(join(root, part), join(folder, "clone", part), { recursive: true, filter });
    }
    const source = join(folder, "clone/examples/go");
    // Without their paths, packages are compiled once for the plugins and the program, wherever the copy is.
    const options = { env: { ...environment(), GOFLAGS: "-trimpath" }, cwd: source };
    await run("buf", ["generate"], options);
    program = join(folder, "chat");
    await run("go", ["build", "-o", program, "."], options);
    await run("go", ["vet", "."], options);
  }, 600_000);

  test.each([
    ["Connect", []],
    ["gRPC", ["-grpc"]],
  ])("runs the example over %s", async (_, args) => {
    const { stdout } = await run(program, args, { env: environment() });
    expect(stdout).toMatch(printed("Go"));
  });

  test("is formatted as gofmt has it", async () => {
    const source = join(folder, "clone/examples/go");
    expect((await run("gofmt", ["-l", "main.go"], { cwd: source })).stdout).toBe("");
  });
});
