/**
 * The Helm chart: what it renders is valid for Kubernetes and says what the gateway needs, and values that cannot work are refused
 * before anything is installed.
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse, parseAllDocuments, stringify } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { loadConfig } from "../../src/config/config.ts";
import { withConfig } from "../../tools/chart-schema.ts";
import { root, temporaryFolder } from "../support/command.ts";
import { has, run } from "./tools.ts";

const chart = join(root, "deploy/helm/model-gateway");
const read = (path: string) => readFileSync(join(chart, path), "utf8");
let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
});

afterAll(() => folder.remove());

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, whose shape kubernetes-validate checks.
type Rendered = any;

const reference = `\${KEY}`;
const upstream = { name: "a", kind: "openai", base_url: "https://a.example/v1" };

/** Everything that the chart can be told, at once. */
const everything = {
  config: { drain_seconds: 100, operator_key: `\${OPERATOR_KEY}`, embedded_models: true, max_body_bytes: 16_777_216 },
  secrets: { values: { OPERATOR_KEY: "operator-key-of-the-chart-test-0123456789" } },
  extraEnv: [{ name: "OTEL_EXPORTER_OTLP_ENDPOINT", value: "http://collector:4318" }],
  metrics: {
    serviceMonitor: { enabled: true, labels: { release: "prometheus" } },
    ...{ prometheusRule: { enabled: true }, dashboard: { enabled: true } },
  },
  service: { type: "NodePort", nodePort: 30080, appProtocol: "kubernetes.io/h2c", annotations: { a: "b" } },
  ingress: {
    ...{ enabled: true, className: "nginx", hosts: [{ host: "gateway.example.com" }] },
    ...{
      tls: [{ secretName: "tls", hosts: ["gateway.example.com"] }],
      annotations: { "nginx.org/proxy-read-timeout": "9s" },
    },
  },
  httpRoute: { enabled: true, parentRefs: [{ name: "public" }], hostnames: ["gateway.example.com"] },
  networkPolicy: { enabled: true, from: [{ namespaceSelector: {} }], metricsFrom: [{ podSelector: {} }] },
  podDisruptionBudget: { enabled: true },
  backup: { enabled: true, keep: 2 },
  imagePullSecrets: [{ name: "registry" }],
  priorityClassName: "high",
  nodeSelector: { disk: "ssd" },
  tolerations: [{ key: "gateway", operator: "Exists" }],
  affinity: { podAntiAffinity: {} },
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: "zone",
      whenUnsatisfiable: "ScheduleAnyway",
      labelSelector: { matchLabels: { a: "b" } },
    },
  ],
  extraContainers: [{ name: "other", image: "other:1" }],
  extraInitContainers: [{ name: "first", image: "first:1" }],
  extraVolumes: [{ name: "more", emptyDir: {} }],
  extraVolumeMounts: [{ name: "more", mountPath: "/more" }],
};

/** The same for a fleet. */
const fleet = {
  ...everything,
  replicaCount: 3,
  database: { existingSecret: "postgres-app", existingSecretKey: "uri", networkPolicyTo: [{ podSelector: {} }] },
  redis: { url: "redis://:password-of-redis@valkey:6379" },
  backup: { enabled: false },
  podDisruptionBudget: {},
  topologySpreadConstraints: [],
};

function template(values: object, at = chart) {
  const file = join(folder.path, "values.yaml");
  writeFileSync(file, stringify(values));
  return run("helm", ["template", "test", at, "--namespace", "here", "--values", file]);
}

/** Renders the chart, and returns its objects by `Kind` or `Kind/name`. */
function rendered(values: object = {}): Map<string, Rendered> {
  const { code, stdout, stderr } = template(values);
  if (code !== 0) throw new Error(stderr);
  const objects = parseAllDocuments(stdout).flatMap((document) => (document.contents ? [document.toJS()] : []));
  return new Map(objects.flatMap((one) => [one.kind, `${one.kind}/${one.metadata.name}`].map((key) => [key, one])));
}

/** Returns what Helm says of values that it refuses. */
function refusal(values: object): string {
  const { code, stdout, stderr } = template(values);
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).not.toMatch(/\/\/a:b@/);
  return stderr.replace(/^level=.*\n/gm, "");
}

test("the chart is of the gateway's version", () => {
  const { version, appVersion } = parse(read("Chart.yaml"));
  expect({ version, appVersion }).toEqual({ version: packageJson.version, appVersion: packageJson.version });
});

test("the values' schema has gateway.yaml's own", () => {
  // `node tools/chart-schema.ts` renews it.
  expect(read("values.schema.json")).toBe(withConfig(read("values.schema.json")));
});

test("the README has every value with its default", () => {
  const leaves = (value: unknown, path: string): string[] => {
    const isOpen =
      typeof value === "object" && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
    if (!isOpen || /SecurityContext$|securityContext$|^resources|Probe$|labels$/.test(path)) return [path];
    return Object.entries(value).flatMap(([key, inner]) => leaves(inner, path === "" ? key : `${path}.${key}`));
  };
  const listed = [...read("README.md").matchAll(/^\| (`[^|]*`) \|/gm)].flatMap(([, names = ""]) =>
    [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
  );
  expect(listed.sort()).toEqual(leaves(parse(read("values.yaml")), "").sort());
});

describe.skipIf(!has("helm"))("helm", () => {
  test("finds nothing to improve", () => {
    expect(run("helm", ["lint", "--strict", chart])).toMatchObject({ code: 0 });
    const file = join(folder.path, "everything.yaml");
    writeFileSync(file, stringify(everything));
    expect(run("helm", ["lint", "--strict", "--values", file, chart])).toMatchObject({ code: 0 });
    writeFileSync(file, stringify(fleet));
    expect(run("helm", ["lint", "--strict", "--values", file, chart])).toMatchObject({ code: 0 });
  });

  test("packs the alerts and the dashboard with the chart", () => {
    const packed = run("helm", ["package", chart, "--destination", folder.path]);
    expect(packed.code, packed.stderr).toBe(0);
    const { stdout } = run("helm", ["template", join(folder.path, `model-gateway-${packageJson.version}.tgz`)]);
    expect(stdout).toContain("kind: StatefulSet");
    const objects = rendered(everything);
    const alerts = parse(readFileSync(join(root, "deploy/prometheus/alerts.yaml"), "utf8"));
    expect(objects.get("PrometheusRule").spec).toEqual(alerts);
    const dashboard = objects.get("ConfigMap/test-model-gateway-dashboard").data["model-gateway.json"];
    expect(JSON.parse(dashboard)).toEqual(
      JSON.parse(readFileSync(join(root, "deploy/grafana/model-gateway.json"), "utf8")),
    );
  });

  test("gives the gateway the configuration that was written, to the last number and text", async () => {
    const written = parse(readFileSync(join(root, "gateway.example.yaml"), "utf8"));
    const { host, port, data_dir, log_level, ...config } = written;
    const file = join(folder.path, "gateway.yaml");
    writeFileSync(file, rendered({ config }).get("ConfigMap").data["gateway.yaml"]);
    const keys = Object.fromEntries([...stringify(config).matchAll(/\$\{(\w+)\}/g)].map(([, name]) => [name, "sk-x"]));
    expect(parse(readFileSync(file, "utf8"))).toEqual(config);
    const loaded = loadConfig(file, { ...keys, HOST: host, PORT: `${port}`, DATA_DIR: data_dir });
    expect(loaded).toEqual(loadConfig(join(root, "gateway.example.yaml"), keys));
  });

  test("has one pod that may write nothing but its volumes, and no secret in plain sight", () => {
    const objects = rendered(everything);
    const { spec } = objects.get("StatefulSet");
    const pod = spec.template.spec;
    const [gateway] = pod.containers;
    expect(spec.replicas).toBe(1);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 65532, fsGroup: 65532 });
    expect(pod.securityContext.seccompProfile).toEqual({ type: "RuntimeDefault" });
    expect(gateway.securityContext).toEqual({
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ["ALL"] } },
    });
    expect(pod.automountServiceAccountToken).toBe(false);
    const users = { runAsUser: null, runAsGroup: null, fsGroup: null };
    const given = rendered({ podSecurityContext: users }).get("StatefulSet").spec.template.spec.securityContext;
    expect(Object.keys(given).sort()).toEqual(["fsGroupChangePolicy", "runAsNonRoot", "seccompProfile"]);
    expect(gateway.envFrom).toEqual([{ secretRef: { name: "test-model-gateway" } }]);
    const { secrets } = everything;
    expect(JSON.stringify(objects.get("StatefulSet"))).not.toContain(secrets.values.OPERATOR_KEY);
    expect(JSON.stringify(objects.get("ConfigMap"))).not.toContain(secrets.values.OPERATOR_KEY);
    expect(atob(objects.get("Secret").data.OPERATOR_KEY)).toBe(secrets.values.OPERATOR_KEY);
  });

  test("waits for streams: first the proxies, then the gateway's own time, then fifteen seconds", () => {
    const pod = (values: object) => rendered(values).get("StatefulSet").spec.template.spec;
    expect(pod({}).terminationGracePeriodSeconds).toBe(5 + 30 + 15);
    expect(pod({ config: { drain_seconds: 0 } }).terminationGracePeriodSeconds).toBe(5 + 0 + 15);
    expect(pod({ config: { stop_delay_seconds: 7 } }).terminationGracePeriodSeconds).toBe(5 + 7 + 30 + 15);
    expect(pod(everything).terminationGracePeriodSeconds).toBe(5 + 100 + 15);
    expect(pod({ terminationGracePeriodSeconds: 3600 }).terminationGracePeriodSeconds).toBe(3600);
    expect(pod({}).containers[0].lifecycle).toEqual({ preStop: { sleep: { seconds: 5 } } });
    const { metadata } = rendered(everything).get("Ingress");
    expect(metadata.annotations).toMatchObject({
      "nginx.ingress.kubernetes.io/proxy-read-timeout": "3600",
      "nginx.ingress.kubernetes.io/proxy-buffering": "off",
      "nginx.org/proxy-read-timeout": "9s",
    });
  });

  test("begins a new pod when the configuration or a secret changes, and only then", () => {
    const checksum = (values: object) =>
      rendered(values).get("StatefulSet").spec.template.metadata.annotations["checksum/config"];
    const changed = { ...everything, secrets: { values: { OPERATOR_KEY: "another" } } };
    expect(checksum(everything)).toBe(checksum({ ...everything, podDisruptionBudget: { enabled: false } }));
    expect(checksum(everything)).not.toBe(checksum(changed));
    expect(checksum(everything)).not.toBe(checksum({ ...everything, config: { drain_seconds: 1 } }));
    expect(checksum(everything)).not.toBe(checksum({ ...everything, redis: { url: "redis://other" } }));
  });

  test("has a fleet over Postgres and Redis, whose pods have no database of their own and no address in plain sight", () => {
    const objects = rendered(fleet);
    expect(objects.get("StatefulSet")).toBeUndefined();
    expect(objects.get("PersistentVolumeClaim")).toBeUndefined();
    const { spec } = objects.get("Deployment");
    expect(spec).toMatchObject({ replicas: 3, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } } });
    const pod = spec.template.spec;
    const from = (name: string, key: string) => ({ valueFrom: { secretKeyRef: { name, key } } });
    expect(pod.containers[0].env).toEqual(
      expect.arrayContaining([
        { name: "DATABASE_URL", ...from("postgres-app", "uri") },
        { name: "REDIS_URL", ...from("test-model-gateway-redis", "REDIS_URL") },
      ]),
    );
    expect(JSON.stringify(objects.get("Deployment"))).not.toContain("password-of-redis");
    expect(atob(objects.get("Secret/test-model-gateway-redis").data.REDIS_URL)).toBe(fleet.redis.url);
    expect(pod.volumes).toContainEqual({ name: "data", emptyDir: { sizeLimit: "1Gi" } });
    // The pod is the same but for what it shares.
    const alone = rendered(everything).get("StatefulSet").spec.template.spec;
    const { env, ...container } = pod.containers[0];
    expect(container).toEqual((({ env: _, ...rest }) => rest)(alone.containers[0]));
    const inConfig = { database: { url: `postgres://a:${reference}@b/c` } };
    expect(rendered({ config: inConfig, replicaCount: 2 }).has("Deployment")).toBe(true);
    expect(
      rendered({ extraEnv: [{ name: "DATABASE_URL_FILE", value: "/a" }], replicaCount: 2 }).has("Deployment"),
    ).toBe(true);
  });

  test("keeps a fleet's pods apart, and from being drained all at once", () => {
    const objects = rendered(fleet);
    const { metadata, spec } = objects.get("Deployment").spec.template;
    for (const { labelSelector } of spec.topologySpreadConstraints) {
      expect(metadata.labels).toMatchObject(labelSelector.matchLabels);
    }
    expect(spec.topologySpreadConstraints.map(({ topologyKey }: Rendered) => topologyKey)).toEqual([
      ...["topology.kubernetes.io/zone", "kubernetes.io/hostname"],
    ]);
    expect(objects.get("PodDisruptionBudget").spec.minAvailable).toBe(1);
    const has = (values: object, kind: string) => rendered({ ...fleet, ...values }).has(kind);
    expect(has({ replicaCount: 1 }, "PodDisruptionBudget")).toBe(false);
    expect(has({ podDisruptionBudget: { enabled: false } }, "PodDisruptionBudget")).toBe(false);
    expect(rendered({}).has("PodDisruptionBudget")).toBe(false);
    const own = [{ maxSkew: 2, topologyKey: "rack", whenUnsatisfiable: "DoNotSchedule" }];
    const given = rendered({ ...fleet, topologySpreadConstraints: own }).get("Deployment").spec.template.spec;
    expect(given.topologySpreadConstraints).toEqual(own);
  });

  test("lets a fleet grow and shrink, and reach its servers", () => {
    const objects = rendered({ ...fleet, autoscaling: { enabled: true } });
    const { scaleTargetRef, minReplicas, maxReplicas } = objects.get("HorizontalPodAutoscaler").spec;
    expect(scaleTargetRef).toEqual({ apiVersion: "apps/v1", kind: "Deployment", name: "test-model-gateway" });
    expect([minReplicas, maxReplicas]).toEqual([2, 10]);
    expect(objects.get("Deployment").spec.replicas).toBeUndefined();
    const { egress } = objects.get("NetworkPolicy").spec;
    expect(egress).toContainEqual({ ports: [{ port: 5432, protocol: "TCP" }], to: [{ podSelector: {} }] });
    expect(egress).toContainEqual({ ports: [{ port: 6379, protocol: "TCP" }] });
    const inConfig = { redis: { url: "redis://valkey:6379" } };
    const own = rendered({ ...everything, config: inConfig }).get("NetworkPolicy").spec.egress;
    expect(own).toContainEqual({ ports: [{ port: 6379, protocol: "TCP" }] });
    const alone = rendered(everything).get("NetworkPolicy").spec.egress;
    expect(JSON.stringify(alone)).not.toMatch(/5432|6379/);
  });

  test("gives each pod a volume for an outage's charges, where that is wanted", () => {
    const segments = { persistent: true, size: "2Gi", storageClassName: "fast" };
    const { spec } = rendered({ ...fleet, database: { url: "postgres://a/b", segments } }).get("StatefulSet");
    expect(spec).toMatchObject({ podManagementPolicy: "Parallel", replicas: 3 });
    const [claim] = spec.volumeClaimTemplates;
    expect(claim.metadata.name).toBe("data");
    expect(claim.spec).toEqual({
      ...{ accessModes: ["ReadWriteOnce"], storageClassName: "fast", resources: { requests: { storage: "2Gi" } } },
    });
    const pod = spec.template.spec;
    expect(pod.volumes.map(({ name }: Rendered) => name)).not.toContain("data");
    expect(pod.containers[0].volumeMounts).toContainEqual({ name: "data", mountPath: "/data" });
  });

  test("tells who installs it what a fleet lacks", () => {
    const notes = (values: object) => {
      const file = join(folder.path, "noted.yaml");
      writeFileSync(file, stringify(values));
      return run("helm", ["install", "test", chart, "--dry-run=client", "--values", file]).stdout;
    };
    expect(notes({ ...fleet, redis: {} })).toContain("Without Redis each pod has rates of its own");
    expect(notes(fleet)).not.toMatch(/Without Redis|WARNING/);
    expect(notes(fleet)).toContain("exec deployment/test-model-gateway");
  });

  test("backs up beside the gateway, and keeps as many files as were asked for", async () => {
    const { spec } = rendered(everything).get("CronJob").spec.jobTemplate.spec.template;
    const [affine] = spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution;
    const gateway = rendered(everything).get("StatefulSet").spec.template;
    expect(gateway.metadata.labels).toMatchObject(affine.labelSelector.matchLabels);
    expect(gateway.spec.volumes).toContainEqual(spec.volumes[0]);
    const [{ command, args }] = spec.containers;
    const at = await mkdtemp(join(folder.path, "backup-"));
    // What runs in the pod, with a gateway that writes what it is told.
    const bin = join(at, "bin");
    mkdirSync(bin);
    writeFileSync(join(bin, "model-gateway"), '#!/bin/sh\n[ "$1" = backup ] && echo data > "$2"\n', { mode: 0o755 });
    mkdirSync(join(at, "backup"));
    for (const name of ["gateway-20200101T000000Z.db", "gateway-20200102T000000Z.db", "other"]) {
      writeFileSync(join(at, "backup", name), "old");
    }
    const script = args[0].replaceAll("/backup", join(at, "backup"));
    const ran = run(command[0], [command[1], script], { env: { PATH: `${bin}:${process.env.PATH}` } });
    expect(ran).toEqual({ code: 0, stdout: "", stderr: "" });
    const left = readdirSync(join(at, "backup")).sort();
    expect(left).toEqual([
      "gateway-20200102T000000Z.db",
      expect.stringMatching(/^gateway-2\d{7}T\d{6}Z\.db$/),
      "other",
    ]);
  });

  test("makes no configuration, secret, claim or account where there is one already", () => {
    const objects = rendered({
      secrets: { existingSecret: "keys" },
      persistence: { existingClaim: "claim" },
      serviceAccount: { create: false, name: "account" },
      image: { digest: `sha256:${"0".repeat(64)}`, repository: "registry.example.com/gateway" },
      metrics: { enabled: false },
    });
    expect([...objects.keys()].filter((key) => !key.includes("/")).sort()).toEqual(["Pod", "Service", "StatefulSet"]);
    const pod = objects.get("StatefulSet").spec.template.spec;
    expect(pod.serviceAccountName).toBe("account");
    expect(pod.containers[0].image).toBe(`registry.example.com/gateway@sha256:${"0".repeat(64)}`);
    expect(pod.containers[0].envFrom).toEqual([{ secretRef: { name: "keys" } }]);
    expect(pod.volumes).toContainEqual({ name: "data", persistentVolumeClaim: { claimName: "claim" } });
    expect(pod.containers[0].env).toContainEqual({ name: "METRICS_PORT", value: "off" });
  });

  test.each<[string, object, RegExp]>([
    [
      "a second pod",
      { replicaCount: 2 },
      /replicaCount: 2 pods cannot share .*Set database\.existingSecret.*set it to 1/,
    ],
    ["an autoscaler", { autoscaling: { enabled: true } }, /autoscaling\.enabled: .*Set database\.existingSecret/],
    [
      "an autoscaler the wrong way round",
      { ...fleet, autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 3 } },
      /autoscaling\.minReplicas: it is more than maxReplicas/,
    ],
    [
      "another database",
      { database: { url: "mysql://a:b@c/d" } },
      /database\.url: it does not begin with postgres:\/\//,
    ],
    ["another Redis", { redis: { url: "valkey://a" } }, /redis\.url: it does not begin with redis:\/\//],
    [
      "two addresses of Postgres",
      { database: { url: "postgres://a:b@c/d", existingSecret: "c" } },
      /database: url and existingSecret are both set/,
    ],
    [
      "two addresses of Redis",
      { redis: { url: "redis://a", existingSecret: "c" } },
      /redis: url and existingSecret are both set/,
    ],
    ["a back-up of Postgres", { ...fleet, backup: { enabled: true } }, /backup\.enabled: all data is in Postgres/],
    [
      "Redis's password in plain text",
      { config: { redis: { url: "redis://:password@valkey:6379" } } },
      /config\.redis\.url: a secret/,
    ],
    [
      "Postgres's password in plain text",
      { config: { database: { url: "postgres://a:b@c/d" } } },
      /config\.database\.url: a secret/,
    ],
    [
      "Postgres's address beside the chart's own",
      { extraEnv: [{ name: "DATABASE_URL", value: "postgres://a/b" }] },
      /extraEnv: DATABASE_URL is set by the chart/,
    ],
    ["a value that there is none of", { image: { tga: "1" } }, /'\/image': additional properties 'tga' not allowed/],
    ["a text for a number", { service: { port: "http" } }, /'\/service\/port': got string, want integer/],
    ["a wrong gateway.yaml", { config: { drain_seconds: "x" } }, /'\/config\/drain_seconds': got string, want number/],
    ["a port in gateway.yaml", { config: { port: 80 } }, /'\/config': additional properties 'port' not allowed/],
    ["no time to stop", { terminationGracePeriodSeconds: 44 }, /44 is less than the 45 seconds/],
    ["secrets twice", { secrets: { existingSecret: "a", values: { B: "c" } } }, /secrets: existingSecret and values/],
    ["an ingress to nowhere", { ingress: { enabled: true } }, /ingress\.hosts: name at least one host/],
    ["a route of no gateway", { httpRoute: { enabled: true } }, /httpRoute\.parentRefs: name the Gateway/],
    [
      "no metrics to read",
      { metrics: { enabled: false, serviceMonitor: { enabled: true } } },
      /metrics\.serviceMonitor/,
    ],
    [
      "a back-up of nothing",
      { persistence: { enabled: false }, backup: { enabled: true } },
      /backup\.enabled: there is/,
    ],
    ["an operator's key in plain text", { config: { operator_key: "k".repeat(40) } }, /config\.operator_key: a secret/],
    [
      "an upstream's key in plain text",
      { config: { upstreams: [{ ...upstream, api_key: "sk-plain" }] } },
      /config\.upstreams\[0\]\.api_key: a secret/,
    ],
    [
      "one of several keys in plain text",
      { config: { upstreams: [{ ...upstream, api_keys: [reference, "sk-plain"] }] } },
      /config\.upstreams\[0\]\.api_keys: api_key: a secret/,
    ],
    [
      "a secret header in plain text",
      { config: { upstreams: [upstream, { ...upstream, headers: { "X-Auth": "plain", "x-version": "1" } }] } },
      /config\.upstreams\[1\]\.headers\.X-Auth: a secret/,
    ],
    ["another folder of the data", { extraEnv: [{ name: "DATA_DIR", value: "/x" }] }, /extraEnv: DATA_DIR is set by/],
    ["a port twice", { metrics: { port: 8080 } }, /metrics\.port: 8080 is the port of the gateway/],
    ["an empty secret", { secrets: { values: { KEY: "" } } }, /'\/secrets\/values\/KEY': minLength: got 0, want 1/],
  ])("refuses %s", (_, values, why) => {
    expect(refusal(values)).toMatch(why);
  });

  test("takes secrets of the environment, and headers that are none", () => {
    const headers = { authorization: `Bearer ${reference}`, "anthropic-version": "2023-06-01" };
    const config = { operator_key: reference, upstreams: [{ ...upstream, api_key: reference, headers }] };
    expect(template({ config }).code).toBe(0);
  });
});

describe.skipIf(!has("helm", "kubernetes-validate"))("kubernetes-validate", () => {
  test.each(["1.30.0", "1.37.0"])(
    "finds every object valid for Kubernetes %s, and none with a field too many",
    (version) => {
      const foreign = ["HTTPRoute", "PrometheusRule", "ServiceMonitor"];
      for (const [text, kinds] of [
        [template({}).stdout, 6],
        [template(everything).stdout, 17],
        [template(fleet).stdout, 15],
        [template({ ...fleet, autoscaling: { enabled: true } }).stdout, 16],
        [template({ ...fleet, database: { url: "postgres://a/b", segments: { persistent: true } } }).stdout, 16],
      ] as const) {
        const file = join(folder.path, "rendered.yaml");
        const objects = parseAllDocuments(text).flatMap((document) => (document.contents ? [document.toJS()] : []));
        expect(objects).toHaveLength(kinds);
        writeFileSync(
          file,
          objects
            .filter(({ kind }) => !foreign.includes(kind))
            .map((one) => stringify(one, { version: "1.1" }))
            .join("---\n"),
        );
        const { code, stdout, stderr } = run("kubernetes-validate", ["--strict", "-k", version, file]);
        expect(code, stdout + stderr).toBe(0);
        expect(stdout + stderr).not.toMatch(/WARN|ERROR/);
        expect((stdout + stderr).match(/ passed for resource /g)?.length).toBe(
          objects.filter(({ kind }) => !foreign.includes(kind)).length,
        );
      }
    },
  );
});
