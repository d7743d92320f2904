/** The image, as far as its Dockerfile says it. `npm run test:image` runs the steps. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { loadConfig } from "../../src/config/config.ts";
import { configOf, type Stage, stagesOf } from "../image/dockerfile.ts";
import { root } from "../support/command.ts";
import { has, run } from "./tools.ts";

const path = join(root, "deploy/docker/Dockerfile");
const stages = stagesOf(readFileSync(path, "utf8"));
const image = configOf(stages.at(-1) as Stage);

describe.skipIf(!has("hadolint"))("hadolint", () => {
  test("finds nothing wrong with the Dockerfile, and does find what is", () => {
    expect(run("hadolint", ["--no-color", path])).toEqual({ code: 0, stdout: "", stderr: "" });
    const bad = run("hadolint", ["--no-color", "-"], { input: "FROM debian\nRUN apt-get install curl\n" });
    expect(bad.code).not.toBe(0);
    expect(bad.stdout).toContain("DL3006");
  });
});

describe("the image", () => {
  test("runs the gateway itself as process 1, as a user by number, and is told to stop as the gateway is", () => {
    expect(image.entrypoint).toEqual(["model-gateway"]);
    expect(image.command).toEqual(["serve"]);
    // A name would have to be looked up: Kubernetes cannot see then that it is not root.
    expect(image.user).toBe("65532:65532");
    expect(image.stopSignal).toBe("SIGTERM");
    expect(image.healthcheck?.command).toEqual(["model-gateway", "health"]);
    expect(image.healthcheck?.flags.get("start-interval")).toBe("1s");
  });

  test("exposes the ports at which the gateway listens with its variables, and keeps its data in the volume", () => {
    const { host, port, metrics, dataDir } = loadConfig(undefined, Object.fromEntries(image.env));
    expect(image.ports).toEqual([port, metrics?.port]);
    expect([host, metrics?.host]).toEqual(["0.0.0.0", "0.0.0.0"]);
    expect(image.volumes).toEqual([dataDir]);
    expect(image.workdir).toBe(dataDir);
  });

  test("says what it is, in the annotations of the OCI", () => {
    expect(Object.fromEntries(image.labels)).toMatchObject({
      "org.opencontainers.image.title": packageJson.name,
      "org.opencontainers.image.licenses": packageJson.license,
      "org.opencontainers.image.version": packageJson.version,
    });
    const built = configOf(stages.at(-1) as Stage, { VERSION: "9.9.9", REVISION: "abc" });
    expect(built.labels.get("org.opencontainers.image.version")).toBe("9.9.9");
    expect(built.labels.get("org.opencontainers.image.revision")).toBe("abc");
  });

  test("has nothing of the building stage but the executable", () => {
    const [build, last] = stages;
    expect(build?.name).toBe("build");
    const copies = last?.instructions.filter(({ name }) => name === "COPY") ?? [];
    expect(copies.filter(({ flags }) => flags.has("from")).map(({ text }) => text)).toEqual([
      "/out/model-gateway /usr/local/bin/model-gateway",
    ]);
    expect(stages.flatMap(({ instructions }) => instructions.filter(({ name }) => name === "ADD"))).toEqual([]);
  });
});

test("a command that a shell would run is refused", () => {
  const [stage] = stagesOf("FROM debian:trixie-slim\nCMD model-gateway serve\n");
  expect(() => configOf(stage as Stage)).toThrow(/CMD model-gateway serve: write it as a list of words/);
});

test("what is secret or installed anew is no part of what the image is built of", () => {
  const ignored = readFileSync(join(root, ".dockerignore"), "utf8").split("\n");
  expect(ignored).toEqual(expect.arrayContaining([".git", "**/node_modules", "data", ".env", "gateway.yaml"]));
});
