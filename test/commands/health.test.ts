/** `model-gateway health`: one line and an exit code, for the health checks of containers and supervisors. */
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { freePort } from "../../bench/free-port.ts";
import {
  bin,
  type Commands,
  modelGateway,
  run,
  startCommands,
  startServer,
  temporaryFolder,
} from "../support/command.ts";
import { timed } from "../support/run/running-time.ts";

let commands: Commands;
beforeAll(() => {
  commands = startCommands();
});
afterAll(() => commands.close());

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

/** Starts a server that answers as said, and returns its port and the paths that it was asked for. */
async function answering(status: number | undefined, body = "") {
  const paths: (string | undefined)[] = [];
  const server = createServer(({ url }, res) => {
    paths.push(url);
    if (status !== undefined) res.writeHead(status).end(body);
  });
  servers.push(server.listen(0, "127.0.0.1"));
  await once(server, "listening");
  return { PORT: String((server.address() as AddressInfo).port), paths };
}

test("a gateway that serves is ready, from its start to its end", async () => {
  const folder = await temporaryFolder();
  const { server, rootUrl } = await startServer([], { DATA_DIR: folder.path });
  const { port: PORT } = new URL(rootUrl);
  try {
    const ready = { code: 0, signal: null, stdout: `${rootUrl} is ready\n`, stderr: "" };
    expect(await modelGateway(["health"], { PORT })).toEqual(ready);
    for (const HOST of ["0.0.0.0", ""]) expect(await commands.run(["health"], { HOST, PORT })).toEqual(ready);
    expect(await commands.run(["health", "--url", rootUrl], { PORT: "1" })).toEqual(ready);
    await server.stop();
    const stderr = `${rootUrl} is not ready: nothing listens there\n`;
    expect(await modelGateway(["health"], { PORT })).toEqual({ code: 1, signal: null, stdout: "", stderr });
  } finally {
    await server.stop();
    await folder.remove();
  }
});

describe("what is not ready is told with the reason:", () => {
  test("a gateway that says why", async () => {
    const { PORT, paths } = await answering(503, "the database cannot be written: the disk is full, for 3 s\nmore");
    const stderr = `http://127.0.0.1:${PORT} is not ready: 503 the database cannot be written: the disk is full, for 3 s\n`;
    expect(await commands.run(["health"], { PORT })).toMatchObject({ code: 1, stdout: "", stderr });
    expect(paths).toEqual(["/readyz"]);
  });

  test("a server that is no gateway, behind a path", async () => {
    const { PORT, paths } = await answering(404);
    const url = `http://127.0.0.1:${PORT}/below/`;
    expect(await commands.run(["health", "--url", url], {})).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(": 404\n"),
    });
    expect(paths).toEqual(["/below/readyz"]);
  });

  test("one that does not answer in time", async () => {
    const { PORT } = await answering(undefined);
    const [{ code, stderr }, { runningMs }] = await timed(() => commands.run(["health", "--timeout", "0.2"], { PORT }));
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `http://127.0.0.1:${PORT} is not ready: no answer within 0.2 s\n`,
    });
    expect(runningMs).toBeLessThan(5000);
  });

  test("a host that there is not, and https where there is none", async () => {
    const absent = await commands.run(["health", "--url", "http://no-such-host.invalid"], {});
    expect(absent).toMatchObject({
      code: 1,
      stderr: "http://no-such-host.invalid is not ready: there is no such host\n",
    });
    const { PORT } = await answering(200);
    const { code, stderr } = await commands.run(["health", "--url", `https://127.0.0.1:${PORT}`], {});
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: `https://127.0.0.1:${PORT} is not ready: it does not speak TLS there\n`,
    });
  });
});

test("a mistake is told with exit code 2", async () => {
  const mistakes: readonly (readonly [args: readonly string[], env: Record<string, string>, words: string])[] = [
    [[], { PORT: "0" }, "PORT: expected a whole number from 1 to 65535"],
    [[], { PORT: "port" }, "PORT: expected a whole number from 1 to 65535"],
    [["--url", "127.0.0.1:8080"], {}, "--url: expected an address, as http://127.0.0.1:8080"],
    [["--timeout", "0"], {}, "--timeout: expected seconds, more than 0"],
    [["--timeout", "soon"], {}, "--timeout: expected seconds, more than 0"],
    [["--config", "x"], {}, "Unknown option '--config'"],
  ];
  for (const [args, env, words] of mistakes) {
    const { code, stdout, stderr } = await commands.run(["health", ...args], env);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^model-gateway: .*\n$/);
    expect(stderr).toContain(words);
  }
});

test("it loads no configuration, database or schema: it is for every few seconds", async () => {
  const PORT = String(await freePort());
  // From source, where each module is a file.
  const { stderr } = await run(process.execPath, [bin, "health"], { PORT, NODE_DEBUG: "esm" });
  expect(stderr).toContain("nothing listens there");
  expect(stderr).toContain("src/commands/line/read-options.ts");
  for (const heavy of ["/zod/", "/better-sqlite3/", "/yaml/", "src/config/config.ts"])
    expect(stderr).not.toContain(heavy);
});
