/** Writes the bill of materials in CycloneDX 1.6: https://cyclonedx.org/docs/1.6/json/ */
import { createHash } from "node:crypto";
import { type Locked, lockOf } from "./lock.ts";
import type { PackedPackage } from "./notices.ts";
import type { Manifest } from "./npm-package.ts";

/** Returns the bill of these packages, and of the engine. It is the same for the same inputs: it has no time and no random number. */
export function billOf(
  { name, version, license, description }: Manifest,
  packages: readonly PackedPackage[],
  node: string,
) {
  const purl = `pkg:npm/${name}@${version}`;
  const licensed = (id: string) => [{ expression: id }];
  const components = packages.map((one) => ({
    type: "library",
    "bom-ref": purlOf(one.name, one.version),
    name: one.name,
    version: one.version,
    licenses: licensed(one.license),
    purl: purlOf(one.name, one.version),
    hashes: hashesOf(lockOf(one.name)),
  }));
  const engine = {
    type: "platform",
    "bom-ref": `pkg:generic/nodejs@${node}`,
    name: "nodejs",
    version: node,
    licenses: licensed("MIT"),
    purl: `pkg:generic/nodejs@${node}`,
  };
  const all = [...components, engine];
  return {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(all) + version)}`,
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": purl,
        name,
        version,
        description,
        licenses: licensed(license),
        purl,
      },
    },
    components: all,
    dependencies: [{ ref: purl, dependsOn: all.map((one) => one["bom-ref"]) }],
  };
}

function purlOf(name: string, version: string): string {
  return `pkg:npm/${name.replace("@", "%40")}@${version}`;
}

function hashesOf({ integrity }: Locked) {
  const sum = /^sha512-(?<base64>.+)$/.exec(integrity)?.groups?.base64;
  return sum ? [{ alg: "SHA-512", content: Buffer.from(sum, "base64").toString("hex") }] : [];
}

/** Returns a UUID of version 8, whose content is free, made of a text. RFC 9562, section 5.8. */
function uuidOf(text: string): string {
  const bytes = createHash("sha256").update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
