/** The Kustomize base and its overlays: they build, are valid for Kubernetes, and say what the Helm chart says. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import packageJson from "../../package.json" with { type: "json" };
import { loadConfig } from "../../src/config/config.ts";
import { root, temporaryFolder } from "../support/command.ts";
import { has, run } from "./tools.ts";

let folder: Awaited<ReturnType<typeof temporaryFolder>>;

beforeAll(async () => {
  folder = await temporaryFolder();
});

afterAll(() => folder.remove());

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes, whose shape kubernetes-validate checks.
type Built = any;

function objectsIn(text: string): Built[] {
  return parseAllDocuments(text).flatMap((document) => (document.contents ? [document.toJS()] : []));
}

function build(path: string): Built[] {
  const { code, stdout, stderr } = run("kubectl", ["kustomize", join(root, "deploy/kustomize", path)]);
  // What it warns of, as of fields that will go, is on standard error.
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return objectsIn(stdout);
}

const workloadOf = (objects: readonly Built[]) =>
  objects.find(({ kind }) => kind === "StatefulSet" || kind === "Deployment");
const podOf = (objects: readonly Built[]) => workloadOf(objects).spec.template.spec;

describe.skipIf(!has("kubectl"))("kustomize", () => {
  test("builds the base, with the image of this version", () => {
    const objects = build("base");
    expect(objects.map(({ kind }) => kind).sort()).toEqual([
      ...["PersistentVolumeClaim", "Service", "Service", "ServiceAccount", "StatefulSet"],
    ]);
    expect(podOf(objects).containers[0].image).toBe(`model-gateway:${packageJson.version}`);
    for (const { spec } of objects.filter(({ kind }) => kind === "Service")) {
      expect(spec.selector).toEqual({ "app.kubernetes.io/name": "model-gateway" });
    }
  });

  test("builds the overlay, whose pod has its configuration and secrets, under names that change with them", () => {
    const objects = build("overlays/example");
    expect(podOf(objects).containers[0].image).toBe(`registry.example.com/model-gateway:${packageJson.version}`);
    const named = (kind: string) => objects.find((one) => one.kind === kind).metadata.name;
    const [gateway] = podOf(objects).containers;
    expect(named("ConfigMap")).toMatch(/^model-gateway-\w{10}$/);
    expect(podOf(objects).volumes).toContainEqual({ name: "configuration", configMap: { name: named("ConfigMap") } });
    expect(gateway.envFrom).toEqual([{ secretRef: { name: named("Secret"), optional: true } }]);
    expect(gateway.env).toContainEqual({ name: "PORT", value: "8080" });
    expect(gateway.env).toContainEqual({ name: "GATEWAY_CONFIG", value: "/etc/model-gateway/gateway.yaml" });
    expect(gateway.volumeMounts).toHaveLength(3);
    expect(objects.every(({ metadata }) => metadata.namespace === "model-gateway")).toBe(true);
    const file = join(folder.path, "gateway.yaml");
    writeFileSync(file, objects.find(({ kind }) => kind === "ConfigMap").data["gateway.yaml"]);
    const secrets = Object.entries(objects.find(({ kind }) => kind === "Secret").data as Record<string, string>);
    const environment = Object.fromEntries(secrets.map(([name, value]) => [name, atob(value)]));
    expect(loadConfig(file, environment).upstreams).toMatchObject([{ name: "openai", api_key: "replace-this-key" }]);
  });

  test("builds the fleet, whose pods have no database of their own and are found by all that is around them", () => {
    const objects = build("overlays/fleet");
    expect(objects.map(({ kind }) => kind).sort()).toEqual([
      ...["ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Ingress", "NetworkPolicy", "PodDisruptionBudget"],
      ...["Secret", "Service", "Service", "ServiceAccount"],
    ]);
    const named = (kind: string) => objects.find((one) => one.kind === kind);
    const { metadata, spec } = workloadOf(objects);
    expect(spec).not.toHaveProperty("serviceName");
    expect(spec).not.toHaveProperty("replicas");
    expect(named("HorizontalPodAutoscaler").spec.scaleTargetRef).toMatchObject({
      kind: "Deployment",
      name: metadata.name,
    });
    const { labels } = spec.template.metadata;
    const selectors = [named("PodDisruptionBudget").spec.selector, ...podOf(objects).topologySpreadConstraints];
    for (const one of selectors) expect(labels).toMatchObject((one.labelSelector ?? one).matchLabels);
    expect(podOf(objects).volumes).toContainEqual({ name: "data", emptyDir: { sizeLimit: "1Gi" } });
    const secret = named("Secret");
    expect(podOf(objects).containers[0].envFrom).toEqual([{ secretRef: { name: secret.metadata.name } }]);
    const environment = Object.fromEntries(
      Object.entries(secret.data as Record<string, string>).map(([name, value]) => [name, atob(value)]),
    );
    const file = join(folder.path, "fleet.yaml");
    writeFileSync(file, named("ConfigMap").data["gateway.yaml"]);
    expect(loadConfig(file, environment).redis?.url).toBe(environment.REDIS_URL);
    const ports = [environment.DATABASE_URL, environment.REDIS_URL].map((url) => Number(new URL(url as string).port));
    const allowed = named("NetworkPolicy").spec.egress.flatMap(({ ports }: Built) =>
      ports.map(({ port }: Built) => port),
    );
    expect(allowed).toEqual(expect.arrayContaining(ports));
  });

  test.skipIf(!has("kubernetes-validate"))("makes what is valid for Kubernetes, with no field too many", () => {
    for (const path of ["base", "overlays/example", "overlays/fleet"]) {
      const objects = build(path);
      const file = join(folder.path, "built.yaml");
      writeFileSync(file, objects.map((one) => stringify(one, { version: "1.1" })).join("---\n"));
      const { code, stdout, stderr } = run("kubernetes-validate", ["--strict", file]);
      expect(code, stdout + stderr).toBe(0);
      expect((stdout + stderr).match(/ passed for resource /g)?.length).toBe(objects.length);
    }
  });

  test.skipIf(!has("helm"))("has the same pod as the Helm chart", () => {
    const chart = join(root, "deploy/helm/model-gateway");
    const args = ["template", "model-gateway", chart, "--set", "secrets.existingSecret=model-gateway"];
    const byHelm = podOf(objectsIn(run("helm", args).stdout));
    const built = podOf(build("base"));
    built.containers[0].envFrom = [{ secretRef: { name: "model-gateway" } }];
    expect(built).toEqual(byHelm);
    const ofFleet = ["template", "model-gateway", chart, "--set", "secrets.existingSecret=model-gateway"];
    const addresses = ["--set", "database.existingSecret=a", "--set", "config.docs=true"];
    const fleetByHelm = podOf(objectsIn(run("helm", [...ofFleet, ...addresses]).stdout));
    const fleet = podOf(build("overlays/fleet"));
    const sorted = ({ containers: [one], volumes, topologySpreadConstraints: _, ...rest }: Built) => ({
      ...{ ...rest, volumes: volumes.map(({ name }: Built) => name.slice(0, 6)).sort() },
      // The image, the release's label and where addresses come from differ.
      container: {
        ...{ ...one, image: "", envFrom: "", env: one.env.filter(({ name }: Built) => name !== "DATABASE_URL").length },
        volumeMounts: one.volumeMounts.map(({ mountPath }: Built) => mountPath).sort(),
      },
    });
    expect(sorted(fleet)).toEqual(sorted(fleetByHelm));
  });
});
