/**
 * The package `@model-gateway/client`, packed and installed into an empty folder, does for a team what its README says: in this
 * Node, in the oldest that it supports, and in a browser; by Connect and by gRPC.
 */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { constants, createServer as createHttp2Server, type ServerHttp2Session } from "node:http2";
import { type AddressInfo, connect, createServer as createTcpServer } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { build, type Rolldown } from "vite";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import packageJson from "../../clients/typescript/package.json" with { type: "json" };
import { access } from "../../gen/modelgateway/v1/access_pb.ts";
import { AccountService } from "../../gen/modelgateway/v1/accounts_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../gen/modelgateway/v1/keys_pb.ts";
import { OperatorService } from "../../gen/modelgateway/v1/operator_pb.ts";
import { SessionService } from "../../gen/modelgateway/v1/sessions_pb.ts";
import { UsageService } from "../../gen/modelgateway/v1/usage_pb.ts";
import project from "../../package.json" with { type: "json" };
import { withReplays } from "../../src/services/inference/replayed-calls.ts";
import {
  compile,
  installPackedClient,
  oldestNode,
  type PackedClient,
  type Program,
  startProgram,
} from "../support/clients/packed-client.ts";
import { chromiumPath, closeWindows, sharedBrowser, visit } from "../support/dashboard/browser.ts";
import { pricedModels } from "../support/dashboard/furnished.ts";
import { eventually } from "../support/eventually.ts";
import { startTestGateway, type TestGateway, upstreamAt } from "../support/gateway.ts";
import { root, textOf } from "../support/pages.ts";
import type { ScriptedExchange, ScriptedUpstream } from "../support/scripted-upstream.ts";
import { startScriptedUpstream } from "../support/scripted-upstream.ts";

const operatorKey = "operator-key-of-the-packed-client-0123456789";

let packed: PackedClient;
let page: PageServer;
let upstream: ScriptedUpstream;
let gateway: TestGateway;
let proxy: CuttingProxy;

beforeAll(async () => {
  packed = installPackedClient();
  compile(packed, "node");
  compile(packed, "page");
  page = await servePage();
  upstream = await startScriptedUpstream();
  const { upstreams = [], models = [] } = upstreamAt(upstream.baseUrl);
  const odd = models.map((model) => ({ ...model, id: "odd-chat", price: { input: 1, output: 1 } }));
  const config = { upstreams, models: [...pricedModels, ...odd], corsOrigins: [page.origin], disconnectDrainMs: 100 };
  gateway = await startTestGateway({ ...config, operatorKey }, { admin: true });
  proxy = await startCuttingProxy(gateway.port);
});

afterAll(async () => {
  proxy?.close();
  await gateway?.close();
  await upstream?.close();
  page?.close();
  packed?.remove();
});

/** A server of pages of another origin than the gateway's, as a team's own application is. */
interface PageServer {
  readonly origin: string;
  script: string;
  close(): void;
}

async function servePage(): Promise<PageServer> {
  const server = createServer((req, res) => {
    if (req.url === "/script.js") return res.writeHead(200, { "content-type": "text/javascript" }).end(served.script);
    return res.writeHead(200, { "content-type": "text/html" }).end('<script type="module" src="/script.js"></script>');
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const served = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    script: "",
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return served;
}

/** Returns a port at which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createTcpServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await once(server.close(), "close");
  return port;
}

/** Passes bytes on to the gateway and back. Armed, it breaks the connection that an answer begins to come by. */
interface CuttingProxy {
  readonly port: number;
  arm(): void;
  close(): void;
}

async function startCuttingProxy(port: number): Promise<CuttingProxy> {
  let isArmed = false;
  const server = createTcpServer((near) => {
    const far = connect(port, "127.0.0.1");
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) socket.setNoDelay().on("error", end).on("close", end);
    near.on("data", (bytes) => far.write(bytes));
    far.on("data", (bytes: Buffer) => {
      if (!isArmed) return void near.write(bytes);
      isArmed = false;
      near.write(bytes.subarray(0, 12), end);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    arm: () => {
      isArmed = true;
    },
    close: () => void server.close(),
  };
}

const bundle = async (input: string): Promise<string> => {
  const result = await build({
    root: packed.folder,
    configFile: false,
    logLevel: "error",
    build: { write: false, target: "es2022", minify: true, rolldownOptions: { input: join(packed.folder, input) } },
  });
  const [{ output }] = [result].flat() as [Rolldown.RolldownOutput];
  return output[0].code;
};

describe("the package", () => {
  test("has the version of the gateway, its licence, and compiled files alone", () => {
    expect(packageJson.version).toBe(project.version);
    const files = readdirSync(packed.installed, { recursive: true, encoding: "utf8" });
    expect(files).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json", "dist"]));
    const strange = files.filter((path) => /\.ts$/.test(path) && !path.endsWith(".d.ts"));
    expect(strange).toEqual([]);
    const declarations = files.filter((path) => path.endsWith(".d.ts"));
    expect(declarations.length).toBeGreaterThan(20);
    const odd = declarations.filter((path) =>
      /from "\.[^"]*\.ts"/.test(readFileSync(join(packed.installed, path), "utf8")),
    );
    expect(odd).toEqual([]);
  });

  test("has a README of at most 6,000 bytes", () => {
    expect(statSync(join(root, "clients/typescript/README.md")).size).toBeLessThanOrEqual(6_000);
  });

  test("does what its README shows", async () => {
    const readme = textOf("clients/typescript/README.md");
    const code = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(([, block]) => block).join("");
    expect(code).toContain("refusalOf");
    const here = code.replaceAll("https://gateway.example", gateway.rootUrl).replaceAll("some-chat", "embedded-chat");
    const options = { cwd: packed.folder, env: { ...process.env, GATEWAY_API_KEY: gateway.apiKey } };
    const args = ["--input-type=module-typescript", "-e", here];
    const { stdout } = await promisify(execFile)(process.execPath, args, options);
    expect(stdout.match(/embedded simulator/g)).toHaveLength(2);
  });

  test("loads into a page what the README says, and of the services only those that are used", async () => {
    const sizes = new Map<string, number>();
    for (const service of ["inference", "usage"]) {
      const code = await bundle(`page/size-${service}.js`);
      expect(code.includes("SetUpRequest")).toBe(false);
      sizes.set(service, gzipSync(code, { level: 9 }).length / 1000);
    }
    const told = /(\d+) kB with `InferenceService`, (\d+) kB with `UsageService`/.exec(
      textOf("clients/typescript/README.md"),
    );
    const inTheReadme = told?.slice(1).map(Number) ?? [];
    for (const [i, size] of [...sizes.values()].entries())
      expect(Math.abs(size - Number(inTheReadme[i]))).toBeLessThan(1);
    expect(sizes.get("inference")).toBeLessThan(58);
    expect(sizes.get("usage")).toBeLessThan(42);
  });
});

describe("what is repeated", () => {
  interface Rules {
    isRepeatable(method: DescMethod, headers: Headers): boolean;
    isMadeOnce(method: DescMethod): boolean;
  }
  const services = [InferenceService, KeyService, AccountService, UsageService, OperatorService, SessionService];
  const methods = services.flatMap((service): readonly DescMethod[] => service.methods);
  const rules = (): Promise<Rules> => import(join(packed.installed, "dist/src/retry.js"));

  test("without a key is what neither costs nor changes anything", async () => {
    const { isRepeatable } = await rules();
    const reads = methods.filter((method) => isRepeatable(method, new Headers()));
    const changing = methods.filter((method) => getOption(method, access).audit !== undefined);
    expect(reads.filter((method) => changing.includes(method))).toEqual([]);
    const others = methods.filter((method) => !reads.includes(method) && !changing.includes(method));
    const charged = [...calls, "CreateResponseCompaction"];
    const unaudited = ["CancelResponse", "DeleteResponse", "BeginSecondFactor"];
    expect(others.map(({ name }) => name).sort()).toEqual([...charged, ...unaudited].sort());
  });

  test("with a key is what the gateway makes once", async () => {
    const { isMadeOnce } = await rules();
    expect(
      methods
        .filter(isMadeOnce)
        .map(({ name }) => name)
        .sort(),
    ).toEqual([...calls, ...creations].sort());
  });

  /** Model calls that are replayed, and RPCs that create, move money or replace a secret. */
  const replayed = withReplays({} as Parameters<typeof withReplays>[0], (_asked, _form, handler) => handler);
  const calls = InferenceService.methods.filter(({ localName }) => localName in replayed).map(({ name }) => name);
  const creations = [KeyService, AccountService, OperatorService]
    .flatMap((service): readonly DescMethod[] => service.methods)
    .map(({ name }) => name)
    .filter((name) => /^(?:Create|Record|Redeem|Rotate)/.test(name));
});

const chunk = (content: string) => ({ choices: [{ index: 0, delta: { role: "assistant", content } }] });
const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
const completion = {
  ...{ id: "1", object: "chat.completion", created: 1, model: "m", usage },
  choices: [{ index: 0, message: { role: "assistant", content: "at last" }, finish_reason: "stop" }],
};
const last = { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage };
const trouble = { error: { message: "not now", type: "server_error" } };

/** Refuses the first `times` requests with this status, and answers the others. */
function refusing(times: number, status: number, headers = {}): (exchange: ScriptedExchange) => void {
  let refused = 0;
  return (exchange) => {
    if (refused++ < times) return exchange.json(status, trouble, headers);
    if (exchange.asked.stream) return exchange.stream(chunk("at "), chunk("last"), last);
    return exchange.json(200, completion);
  };
}

function reasonsSince(mark: number): unknown[] {
  const lines = gateway.logged().slice(mark).split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line)).flatMap(({ rpc, reason }) => (rpc === undefined ? [] : [reason]));
}

interface Way {
  readonly name: string;
  /** Says why it cannot be tried here; false where it can. */
  readonly lacks: boolean;
  readonly start: () => Promise<Program> | Program;
  /** Whether the client learns that there was no connection at all. */
  readonly seesUnsent: boolean;
}

const ways: readonly Way[] = [
  {
    name: "Node over fetch",
    lacks: false,
    start: () => startProgram(packed, process.execPath, "Connect"),
    seesUnsent: true,
  },
  {
    name: "Node over gRPC",
    lacks: false,
    start: () => startProgram(packed, process.execPath, "gRPC"),
    seesUnsent: true,
  },
  {
    ...{ name: "Node 20 over fetch", lacks: oldestNode === undefined, seesUnsent: true },
    start: () => startProgram(packed, oldestNode as string, "Connect"),
  },
  { name: "Chromium, from another origin", lacks: chromiumPath === undefined, start: startPage, seesUnsent: false },
];

async function startPage(): Promise<Program> {
  page.script = await bundle("page/in-page.js");
  const { page: tab } = await visit(await sharedBrowser());
  await tab.goto(page.origin);
  await tab.waitForFunction("window.run");
  return {
    run: (name, target) => tab.evaluate(`window.run(${JSON.stringify(name)}, ${JSON.stringify(target)})`),
    close: closeWindows,
  };
}

for (const { name, lacks, start, seesUnsent } of ways) {
  describe.skipIf(lacks)(`a program in ${name}`, () => {
    let program: Program;

    beforeAll(async () => {
      program = await start();
    });
    afterAll(() => program?.close());
    beforeEach(() => {
      upstream.script = undefined;
      upstream.received.length = 0;
    });

    const run = (scenario: string, baseUrl = gateway.rootUrl) =>
      program.run(scenario, { baseUrl, apiKey: gateway.apiKey, operatorKey });
    const behindProxy = (scenario: string) => run(scenario, `http://127.0.0.1:${proxy.port}`);

    test("gets an answer with its cost", async () => {
      expect(await run("unary")).toEqual({ content: "hello", cost: expect.stringMatching(/^0\.0000\d+$/) });
    });

    test("gets a stream, and its cost at the end", async () => {
      expect(await run("streaming")).toEqual({ text: "one two three", cost: expect.stringMatching(/^0\.0000\d+$/) });
    });

    test("sends many long requests at once", async () => {
      expect(await run("longRequests")).toEqual(['"no error"']);
    });

    test("reaches every service", async () => {
      expect(await run("everyService")).toMatchObject({
        models: expect.arrayContaining(["embedded-chat", "odd-chat"]),
        lists: [true, true, true],
        account: "test",
        key: "test",
        session: { code: "PermissionDenied", reason: "PERMISSION_DENIED", status: 403, hasId: true },
      });
    });

    test("ends the call when it leaves a stream", async () => {
      const mark = gateway.logged().length;
      expect(await run("leaving")).toBe("left");
      await eventually(() => expect(reasonsSince(mark)).toEqual(["CANCELLED"]));
    });

    test("cancels calls, whole or streamed, and does not repeat them", async () => {
      const mark = gateway.logged().length;
      expect(await run("cancelling")).toEqual([{ code: "Canceled" }, { code: "Canceled" }, 2]);
      await eventually(() => expect(reasonsSince(mark)).toEqual(["CANCELLED", "CANCELLED"]));
    });

    test("keeps its deadlines, of all calls and of one", async () => {
      const late = { code: "DeadlineExceeded" };
      expect(await run("deadline")).toEqual([late, late, late, { text: "a b c" }, 4]);
    });

    test("reads the reason of a refusal, and repeats none that would be refused again", async () => {
      const invalid = {
        ...{ code: "InvalidArgument", reason: "INVALID_VALUE", isReason: true, status: 400, param: "temperature" },
        ...{ retryAfterMs: null, isFinal: false, hasId: true },
      };
      expect(await run("refusals")).toEqual([
        invalid,
        invalid,
        expect.objectContaining({ code: "NotFound", reason: "MODEL_NOT_FOUND", status: 404, param: "model" }),
        expect.objectContaining({ code: "Unauthenticated", reason: "INVALID_API_KEY", status: 401 }),
        3,
      ]);
    });

    test("repeats a refused call after the time that it is asked to wait", async () => {
      upstream.script = refusing(1, 429, { "retry-after": "1" });
      const { ms, ...rest } = (await run("retrying")) as { ms: number };
      expect(rest).toEqual({ content: "at last", attempts: 2 });
      expect(ms).toBeGreaterThanOrEqual(1000);
    });

    test("repeats a refused stream", async () => {
      upstream.script = refusing(1, 500);
      expect(await run("retryingStream")).toEqual({ text: "at last", attempts: 2 });
    });

    test("gives up after the attempts that it may make", async () => {
      upstream.script = refusing(9, 500);
      const refused = { code: "Unavailable", reason: "UPSTREAM_REFUSED", status: 502, retryAfterMs: null };
      expect(await run("givingUp")).toMatchObject([refused, 2, refused, 1]);
    });

    test("does not wait where its deadline would pass meanwhile", async () => {
      upstream.script = refusing(9, 429, { "retry-after": "60" });
      expect(await run("tooLate")).toMatchObject({ error: { retryAfterMs: 60_000 }, attempts: 1, isSoon: true });
    });

    test("does not repeat a stream that breaks after its first content", async () => {
      upstream.script = async (exchange) => {
        exchange.head(200, { "content-type": "text/event-stream" });
        await exchange.write(`data: ${JSON.stringify(chunk("at "))}\n\n`);
        exchange.destroy();
      };
      const error = expect.objectContaining({ code: "Unavailable", reason: "UPSTREAM_FAILED" });
      expect(await run("broken")).toEqual({ text: "at ", error, attempts: 1 });
      expect(upstream.received.length).toBe(1);
    });

    describe("whose connection breaks while it is answered", () => {
      beforeEach(() => {
        upstream.script = (exchange) => {
          if (upstream.received.length === 1) proxy.arm();
          exchange.json(200, completion);
        };
      });

      test("does not repeat what may have been charged", async () => {
        expect(await behindProxy("unsure")).toEqual({ error: { code: expect.any(String) }, attempts: 1 });
        expect(upstream.received.length).toBe(1);
      });

      test.each(["unsureWithKey", "unsureWithOwnKeys"])(
        "gets the answer, charged once, under a key: %s",
        async (scenario) => {
          expect(await behindProxy(scenario)).toEqual({ content: "at last", replayed: "true", attempts: 2 });
          expect(upstream.received.length).toBe(1);
        },
      );
    });

    test("repeats what was never sent, and what costs nothing", async () => {
      const seen = await run("unreachable", `http://127.0.0.1:${await closedPort()}`);
      expect(seen).toEqual({ isRefusal: false, charged: seesUnsent ? 3 : 1, free: 3 });
    });

    test("waits no longer than its deadline and its signal allow, for what it is", async () => {
      upstream.script = refusing(9, 429, { "retry-after": "60" });
      const [late, canceled] = [{ code: "DeadlineExceeded" }, { code: "Canceled" }];
      expect(await run("waiting")).toEqual([late, canceled, late, canceled, true]);
      expect(upstream.received.length).toBe(1);
    });

    const overHttp2 = name === "Node over gRPC" ? test : () => {};
    overHttp2("repeats what a server refuses unseen, as one does that drains", async () => {
      const server = createHttp2Server().listen(0, "127.0.0.1");
      const sessions = new Set<ServerHttp2Session>();
      server.on("session", (session) => sessions.add(session));
      server.on("stream", (stream) => stream.on("error", () => {}).close(constants.NGHTTP2_REFUSED_STREAM));
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      expect(await run("unseen", `http://127.0.0.1:${port}`)).toEqual({
        error: { code: expect.any(String) },
        attempts: 3,
      });
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, "close");
    });

    test("is told at once of an address and a key that cannot be right", async () => {
      expect(await run("misconfigured")).toEqual([
        `TypeError: The address of the gateway is needed without "/v1": ${gateway.rootUrl}`,
        "TypeError: The API key is empty. Leave it out, or read it from where it is kept.",
        ...Array(2).fill("TypeError: The API key has a space, a line break or a sign that no key has. Copy it anew."),
        "TypeError: A header of the call has a name or a value that HTTP does not allow.",
        "TypeError: timeoutMs: expected a number, 0 or more: NaN",
        "TypeError: attempts: expected a number, 0 or more: NaN",
      ]);
    });
  });
}
