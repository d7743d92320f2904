/**
 * `node tools/chart-schema.ts`: writes the schema of gateway.yaml into that of the Helm chart's values, as `config`, so that a
 * wrong configuration is refused before a pod starts. The rest of `values.schema.json` is kept by hand. With `--check` nothing is written,
 * and a schema that is not up to date ends it with code 1.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const chartPath = join(root, "deploy/helm/model-gateway/values.schema.json");

/** Keys of gateway.yaml for which the chart has values of its own: its ports, volumes and probes are made for them. */
const ofTheChart = ["host", "port", "data_dir", "log_level", "metrics"];

type Schema = { [key: string]: unknown };

/** Returns `values.schema.json` with the schema of gateway.yaml as `gen/gateway.schema.json` has it, and its definitions at the top. */
export function withConfig(text: string): string {
  const chart = JSON.parse(text) as { properties: Schema; $defs?: unknown };
  const { $defs, ...config } = configSchema();
  chart.properties.config = config;
  // References name a definition by its place from the top.
  chart.$defs = $defs;
  return `${JSON.stringify(chart, null, 2)}\n`;
}

function configSchema(): Schema {
  const { $schema, ...written } = JSON.parse(readFileSync(join(root, "gen/gateway.schema.json"), "utf8")) as Schema;
  const schema = simpler(written) as Schema & { properties: Schema };
  for (const key of ofTheChart) delete schema.properties[key];
  return {
    description: "gateway.yaml. The chart has values of its own for addresses, ports, data, log and metrics.",
    ...schema,
  };
}

const ofTexts = ["type", "enum", "description", "default"];

/**
 * Leaves out what a text must look like: `${NAME}` stands for a text that only the gateway will see, and Helm's patterns are
 * not JavaScript's. The gateway checks it at its start.
 */
function simpler(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(simpler);
  if (typeof schema !== "object" || schema === null) return schema;
  const isText = (schema as Schema).type === "string";
  const kept = Object.entries(schema).filter(([key]) => (isText ? ofTexts.includes(key) : key !== "examples"));
  return Object.fromEntries(kept.map(([key, value]) => [key, simpler(value)]));
}

if (import.meta.main) {
  const before = readFileSync(chartPath, "utf8");
  const after = withConfig(before);
  if (!process.argv.includes("--check")) writeFileSync(chartPath, after);
  else if (after !== before) {
    console.error("deploy/helm/model-gateway/values.schema.json is not up to date. `npm run generate` writes it.");
    process.exitCode = 1;
  }
}
