/**
 * Writes the contract for everybody beside the generated code: `gen/openapi.json` of the protos, a collection of requests of its
 * examples, and `gen/llms.txt` of the pages.
 *
 *   node packaging/openapi/main.ts [FOLDER]
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { collectionOf } from "./collection.ts";
import { documentOf } from "./document.ts";
import { llmsTextOf } from "./llms.ts";
import { readImage } from "./protos/image.ts";

const root = join(import.meta.dirname, "../..");
const folder = join(process.argv[2] ?? root, "gen");

const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
const document = documentOf(readImage(root), version);
write("openapi.json", `${JSON.stringify(document, null, 1)}\n`);
write("collection/model-gateway.postman_collection.json", `${JSON.stringify(collectionOf(document), null, 1)}\n`);
write("llms.txt", `${llmsTextOf(root, document)}\n`);

function write(path: string, text: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
