/**
 * Writes what is made from the schema of gateway.yaml: the example file, its reference, and the JSON schema for editors; and the list
 * of metrics.
 *
 *   node site/reference/main.ts [FOLDER]     the project's own folder, unless another is named
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { exampleFile } from "./example-file.ts";
import { metricsPage } from "./metrics-page.ts";
import { settingsJsonSchema } from "./settings.ts";
import { settingsPage } from "./settings-page.ts";

/** Returns the files by their paths below the project. */
export async function referenceFiles(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ["gateway.example.yaml", exampleFile()],
    ["docs/configuration.md", settingsPage()],
    ["docs/metrics.md", await metricsPage()],
    ["gen/gateway.schema.json", `${JSON.stringify(settingsJsonSchema(), undefined, 2)}\n`],
  ]);
}

if (import.meta.main) {
  const folder = process.argv[2] ?? join(import.meta.dirname, "../..");
  for (const [path, text] of await referenceFiles()) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}
