/** The compose files: what an engine would run, as the Compose Specification's own reader takes them. */
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { loadConfig } from "../../src/config/config.ts";
import { configOf, type Stage, stagesOf } from "../image/dockerfile.ts";
import { root, temporaryFolder } from "../support/command.ts";
import { has, run } from "./tools.ts";

const folder = join(root, "deploy/compose");
const read = (name: string) => readFileSync(join(folder, name), "utf8");

// biome-ignore lint/suspicious/noExplicitAny: a file of Compose, whose shape compose-spec checks.
type Compose = any;

const names = ["compose", "compose.configured", "compose.observed", "compose.fleet", "compose.fleet.observed"];
const [alone, configured, observed, fleet, observedFleet] = names.map(
  (name): Compose => parse(read(`${name}.yaml`), { merge: true }),
);

/** Replaces variables as a shell does, from these alone. */
function withVariables(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$\{(\w+):[-?]([^}]*)\}/g, (_, name: string, otherwise: string) => variables[name] ?? otherwise);
}

describe.skipIf(!has("compose-spec"))("compose-spec", () => {
  let copy: Awaited<ReturnType<typeof temporaryFolder>>;

  // It replaces no variables itself.
  beforeAll(async () => {
    copy = await temporaryFolder();
    cpSync(join(root, "deploy"), join(copy.path, "deploy"), { recursive: true, verbatimSymlinks: true });
    for (const name of names) {
      const text = withVariables(read(`${name}.yaml`), { GRAFANA_PASSWORD: "a-password" });
      writeFileSync(join(copy.path, `deploy/compose/${name}.yaml`), text);
    }
  });

  afterAll(() => copy.remove());

  const load = (at: string, ...files: string[]) =>
    run("compose-spec", ["-format", "json", ...files.map((name) => join(at, name))], { cwd: at });
  const loaded = (...files: string[]): Compose => {
    const { code, stdout, stderr } = load(join(copy.path, "deploy/compose"), ...files);
    expect(code, stderr).toBe(0);
    return JSON.parse(stdout);
  };
  const environmentOf = ({ environment }: Compose) =>
    Array.isArray(environment)
      ? Object.fromEntries(environment.map((line: string) => [line.split("=", 1)[0], line.split("=")[1] ?? null]))
      : environment;

  test("reads the gateway alone, with the shell's keys", () => {
    const { services } = loaded("compose.yaml");
    expect(Object.keys(services)).toEqual(["gateway"]);
    // null: as the shell has it, and absent where it has none.
    expect(environmentOf(services.gateway)).toMatchObject({ OPENAI_API_KEY: null, LOG_LEVEL: "info" });
    expect(services.gateway.ports).toMatchObject([{ target: 8080, published: "8080", host_ip: "127.0.0.1" }]);
  });

  test("reads it with a configuration and secrets", () => {
    const { services } = loaded("compose.yaml", "compose.configured.yaml");
    expect(services.gateway.read_only).toBe(true);
    expect(services.gateway.secrets.map(({ source }: { source: string }) => source)).toEqual([
      ...["openai_api_key", "operator_key"],
    ]);
    const environment = environmentOf(services.gateway);
    expect(environment.OPENAI_API_KEY_FILE).toBe("/run/secrets/openai_api_key");
    expect(environment.LOG_LEVEL).toBe("info");
  });

  test("reads it with Prometheus and Grafana, and refuses that without a password", () => {
    expect(Object.keys(loaded("compose.observed.yaml").services).sort()).toEqual(["gateway", "grafana", "prometheus"]);
    const refused = load(folder, "compose.observed.yaml");
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toContain("GRAFANA_PASSWORD");
  });

  test("reads the fleet: gateways that differ in their volume alone, and nothing but the proxy published", () => {
    const { services } = loaded("compose.fleet.yaml");
    expect(Object.keys(services).sort()).toEqual(["gateway-1", "gateway-2", "postgres", "proxy", "valkey"]);
    const [one, other] = [services["gateway-1"], services["gateway-2"]];
    expect(one.volumes).toMatchObject([{ source: "gateway-1", target: "/data" }]);
    expect({ ...other, volumes: one.volumes }).toEqual(one);
    expect(one.depends_on).toMatchObject({ postgres: { condition: "service_healthy" } });
    const published = Object.entries(services as Record<string, Compose>).filter(([, { ports }]) => ports);
    expect(published.map(([name]) => name)).toEqual(["proxy"]);
  });

  test("reads the fleet with Prometheus, which asks each gateway, and Grafana", () => {
    const { services } = loaded("compose.fleet.observed.yaml");
    expect(Object.keys(services)).toEqual(expect.arrayContaining(["gateway-1", "gateway-2", "grafana", "prometheus"]));
    const mounted = services.prometheus.configs.map(({ source, target }: Compose) => [target, source]);
    expect(Object.fromEntries(mounted)).toEqual({
      "/etc/prometheus/prometheus.yaml": "fleet-prometheus.yaml",
      "/etc/prometheus/alerts.yaml": "alerts.yaml",
    });
    expect(load(folder, "compose.fleet.observed.yaml").stderr).toContain("GRAFANA_PASSWORD");
  });

  test("refuses what is no compose file", () => {
    expect(load(join(root, "deploy/prometheus"), "alerts.yaml").code).not.toBe(0);
  });
});

const services: readonly [string, Compose][] = Object.entries({
  ...alone.services,
  ...observed.services,
  ...fleet.services,
});

test.each(services)(
  "%s may write nothing but its volumes, gains no privilege, and is checked and bounded",
  (name, one) => {
    expect(one.cap_add).toEqual(name === "proxy" ? ["NET_BIND_SERVICE"] : undefined);
    expect(one).toMatchObject({ read_only: true, cap_drop: ["ALL"], security_opt: ["no-new-privileges:true"] });
    expect(one.healthcheck.test[0]).toBe("CMD");
    expect(one.restart).toBe("unless-stopped");
    expect(one.mem_limit).toBeDefined();
    expect(one.image).toMatch(/:[\w.]*\d+\.\d+(?:\.\d+)?\}?$/);
    for (const port of one.ports ?? []) expect(port).toMatch(/^(?:127\.0\.0\.1|\$\{PUBLISH(?:_TLS)?:-127\.0\.0\.1)/);
  },
);

test("the gateway's service is what its image is for", () => {
  const stages = stagesOf(readFileSync(join(root, "deploy/docker/Dockerfile"), "utf8"));
  const image = configOf(stages.at(-1) as Stage);
  const { gateway } = alone.services;
  expect(join(folder, gateway.build.context)).toBe(root);
  expect(existsSync(join(folder, gateway.build.context, gateway.build.dockerfile))).toBe(true);
  expect(gateway.image).toContain(`model-gateway:${packageJson.version}`);
  expect(gateway.healthcheck.test).toEqual(["CMD", ...(image.healthcheck?.command ?? [])]);
  expect(gateway.volumes).toEqual([`data:${image.volumes[0]}`]);
  expect(gateway.ports[0]).toMatch(new RegExp(`:${image.ports[0]}$`));
  expect(Number.parseInt(gateway.stop_grace_period, 10) * 1000).toBeGreaterThanOrEqual(
    loadConfig(undefined, {}).drainMs + 10_000,
  );
});

test("the files that are mounted are there, and are what they are taken for", () => {
  const mounted = [configured, observed, fleet, observedFleet].flatMap(
    ({ configs }) => Object.values(configs) as { file: string }[],
  );
  expect(mounted.map(({ file }) => file).filter((file) => !existsSync(join(folder, file)))).toEqual([]);
  const keys = { OPENAI_API_KEY: "sk-a-key", OPERATOR_KEY: "operator-key-of-the-compose-test-0123456789" };
  expect(loadConfig(join(folder, "gateway.yaml"), keys).models.length).toBeGreaterThan(10);
  const fleetConfig = loadConfig(join(folder, "fleet/gateway.yaml"), keys);
  expect(fleetConfig.models).toEqual(loadConfig(join(folder, "gateway.yaml"), keys).models);
  expect(fleetConfig.trustedProxies).toContain("172.16.0.0/12");
  const shown = parse(readFileSync(join(root, "deploy/prometheus/prometheus.yaml"), "utf8"));
  for (const [file, targets] of [
    ["prometheus.yaml", ["gateway:9464"]],
    ["fleet/prometheus.yaml", ["gateway-1:9464", "gateway-2:9464"]],
  ] as const) {
    const own = parse(read(file));
    const [job] = own.scrape_configs;
    expect(job.static_configs).toEqual([{ targets }]);
    const [shownJob] = shown.scrape_configs;
    expect({ ...own, scrape_configs: [{ ...job, static_configs: shownJob.static_configs }] }).toEqual(shown);
  }
  expect(observed.services.prometheus.configs.map(({ source }: { source: string }) => source)).toContain("alerts.yaml");
});

test("secrets that lie beside the files are not committed, and no part of the image", () => {
  const [ignoredByGit, ignoredByDocker] = [".gitignore", ".dockerignore"].map((name) =>
    readFileSync(join(root, name), "utf8").split("\n"),
  );
  expect(ignoredByGit).toEqual(expect.arrayContaining(["deploy/compose/secrets/", "deploy/compose/gateway.env"]));
  expect(ignoredByDocker).toEqual(expect.arrayContaining(["deploy/compose/secrets", "**/gateway.env"]));
});
