/**
 * Writes what is made of the protos beside the generated code: `gen/openapi.json`.
 *
 *   node packaging/openapi/main.ts [FOLDER]
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { documentOf } from "./document.ts";
import { readImage } from "./image.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(process.argv[2] ?? root, "gen");

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const document = documentOf(readImage(root), version);
write("openapi.json", `${JSON.stringify(document, null, 1)}\n`);

function write(path: string, text: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
