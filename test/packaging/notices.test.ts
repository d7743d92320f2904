/** What is bundled is named, with its licence, in the notices and in the bill of materials. */
import { expect, test } from "vitest";
import { readAssets, readCatalogueAssets } from "../../packaging/assets.ts";
import { noticesOf, packagesOf } from "../../packaging/notices.ts";
import { ownManifest } from "../../packaging/npm-package.ts";
import { bundlePrograms } from "../../packaging/programs.ts";
import { billOf } from "../../packaging/sbom.ts";
import { builtInCatalogue } from "../../src/config/catalogue/built-in.ts";
import { threads } from "../../src/package/package-files.ts";

const programs = await bundlePrograms();
const packages = packagesOf(programs.modules);

test("programs are bundled whole, each thread's too, in ASCII", () => {
  const paths = [...programs.files.keys()];
  expect(paths).toContain("dist/server/main.js");
  for (const name of Object.keys(threads)) expect(paths).toContain(`dist/threads/${name}.js`);
  for (const [path, code] of programs.files) {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is meant, all of it.
    expect(/^[\x00-\x7f]*$/.test(code), path).toBe(true);
    expect(code, path).not.toContain("import.meta");
  }
});

test("every package inside has its licence in the notices", () => {
  const names = packages.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["better-sqlite3", "zod", "@bufbuild/protobuf", "opusscript"]));
  const notices = noticesOf(packages);
  for (const { name, version } of packages) expect(notices).toContain(`${name} ${version} (`);
  // The part of protobuf that is Google's has a licence of its own.
  expect(notices).toContain("Copyright 2008 Google Inc.");
});

test("the bill of materials names each once, with its sum, and is the same each time", () => {
  const bill = billOf(ownManifest(), packages, "26.10.0");
  const refs = bill.components.map((component) => component["bom-ref"]);
  expect(new Set(refs).size).toBe(packages.length + 1);
  expect(bill.dependencies[0]?.dependsOn).toEqual(refs);
  for (const component of bill.components) {
    if (!("hashes" in component)) continue;
    expect(component.hashes, component.name).toMatchObject([
      { alg: "SHA-512", content: expect.stringMatching(/^[0-9a-f]{128}$/) },
    ]);
  }
  expect(bill.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(JSON.stringify(billOf(ownManifest(), packages, "26.10.0"))).toBe(JSON.stringify(bill));
});

test("pages, protos, catalogue and WebAssembly are packed", () => {
  const assets = readAssets();
  for (const path of [
    ...["dashboard/dist/index.html", "site/dist/index.html", "gen/openapi.json", "gen/llms.txt", "package.json"],
    ...["proto/modelgateway/v1/chat.proto", "catalog/models.json", "wasm/flite.wasm", "licenses/flite.txt"],
  ]) {
    expect(assets.get(path)?.length, path).toBeGreaterThan(100);
  }
});

test("the catalogue is packed as it is read, with what its files leave out", () => {
  const packed = readCatalogueAssets().get("catalog/built-in.json");
  expect(JSON.parse(String(packed))).toStrictEqual(builtInCatalogue());
});
