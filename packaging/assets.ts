/** Lists what is packed beside the programs: pages, catalogue, protos, WebAssembly, licences. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { parse } from "yaml";
import { builtInCatalogue } from "../src/config/catalogue/built-in.ts";
import { contractFiles } from "../src/doors/site/contract.ts";
import { borrowed, pathsBelow } from "../src/package/package-files.ts";
import { root } from "./bundle.ts";

/** Assets are the files to be packed, by the paths under which the gateway reads them. */
export type Assets = ReadonlyMap<string, Buffer>;

/** Folders that are packed whole. `dashboard/dist` and `site/dist` must have been built. */
const folders = ["dashboard/dist", "site/dist", "proto", "licenses"];
const files = [
  "package.json",
  "LICENSE",
  "gateway.example.yaml",
  "gen/gateway.schema.json",
  ...Object.values(contractFiles),
];

const { resolve } = createRequire(import.meta.url);

/** Reads all of them. Throws where a folder is missing or empty. */
export function readAssets(): Assets {
  const own = [...files, ...folders.flatMap(filesIn)];
  return new Map([
    ...own.map((path) => [path, readFileSync(join(root, path))] as const),
    ...readCatalogueAssets(),
    ...[...borrowed].map(([path, lender]) => [path, readFileSync(resolve(lender))] as const),
  ]);
}

/** Reads the catalogue, as it is checked now, and its models as they are written there, which an import shows: packed as JSON. */
export function readCatalogueAssets(): Assets {
  const written: unknown = parse(readFileSync(join(root, "catalog/models.yaml"), "utf8"));
  const packed = { "catalog/built-in.json": builtInCatalogue(), "catalog/models.json": written };
  return new Map(Object.entries(packed).map(([path, content]) => [path, Buffer.from(JSON.stringify(content))]));
}

function filesIn(folder: string): string[] {
  const paths = pathsBelow(join(root, folder)).map((path) => `${folder}/${path}`);
  if (paths.length === 0) throw new Error(`${folder} is empty: build it first`);
  return paths;
}
