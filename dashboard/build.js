/**
 * Builds the dashboard into dashboard/dist: when the project is installed, and by `npm run build:dashboard`. Where the development
 * dependencies were left out there is nothing to build it with: then one that was built before is served.
 *
 * It is built beside and then put in place file by file, so that a gateway that starts meanwhile finds a whole one.
 */
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL(".", import.meta.url));
const dist = join(folder, "dist");

// What is built is served, also where a test or a tool builds it, which would have the slow half of React in it.
process.env.NODE_ENV = "production";

let vite;
try {
  vite = await import("vite");
} catch (error) {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  console.warn("model-gateway: vite is not installed, so the dashboard is not built");
}
if (vite) await build();

async function build() {
  const fresh = mkdtempSync(join(folder, "dist-"));
  try {
    await vite.build({ configFile: join(folder, "vite.config.ts"), logLevel: "warn", build: { outDir: fresh } });
    place(fresh);
  } finally {
    rmSync(fresh, { recursive: true });
  }
}

/** place puts the files of a build in place: the page after all that it asks for, and removes last what no page asks for any more. */
function place(fresh) {
  const files = filesBelow(fresh).sort((a, b) => Number(a === "index.html") - Number(b === "index.html"));
  for (const file of files) {
    mkdirSync(dirname(join(dist, file)), { recursive: true });
    renameSync(join(fresh, file), join(dist, file));
  }
  for (const file of filesBelow(dist)) if (!files.includes(file)) rmSync(join(dist, file), { force: true });
}

function filesBelow(root) {
  const names = readdirSync(root, { recursive: true, withFileTypes: true });
  return names.filter((one) => one.isFile()).map((one) => relative(root, join(one.parentPath, one.name)));
}
