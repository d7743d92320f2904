/**
 * Builds the package `@model-gateway/client`, and packs it as npm would publish it.
 *
 *   npm run build:client                        into dist/
 *   node clients/typescript/build.ts FOLDER     into a folder
 *
 * The generated code is made from the protos here; it is not in git a second time. Prints the path of the packed file.
 */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const root = resolve(import.meta.dirname, "../..");
const source = import.meta.dirname;

/** Returns the path of the packed file. Throws where a step fails. */
export function buildClient(into: string): string {
  // Below the project, so that the compiler finds the packages that the client is compiled against.
  const cache = join(root, "node_modules/.cache");
  mkdirSync(cache, { recursive: true });
  const stage = mkdtempSync(join(cache, "client-"));
  try {
    for (const name of ["src", "package.json", "README.md", "tsconfig.json"]) {
      cpSync(join(source, name), join(stage, name), { recursive: true });
    }
    cpSync(join(root, "LICENSE"), join(stage, "LICENSE"));
    run("buf", ["generate", "--template", join(source, "buf.gen.yaml"), "--output", stage], root);
    run("tsc", ["-p", stage], root);
    nameCompiledFiles(join(stage, "dist"));
    mkdirSync(into, { recursive: true });
    const [packed] = JSON.parse(run("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", into], stage));
    return join(into, packed.filename);
  } finally {
    rmSync(stage, { recursive: true });
  }
}

function run(command: string, args: readonly string[], cwd: string): string {
  const path = `${join(root, "node_modules/.bin")}:${process.env.PATH}`;
  const stdio = ["ignore", "pipe", "inherit"] as const;
  return execFileSync(command, args, { cwd, encoding: "utf8", env: { ...process.env, PATH: path }, stdio: [...stdio] });
}

/** The compiler leaves `.ts` in the imports of declarations. Older compilers and bundlers look for `.js`. */
function nameCompiledFiles(folder: string): void {
  for (const path of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!path.endsWith(".d.ts")) continue;
    const file = join(folder, path);
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replace(/(\bfrom\s+"\.[^"]*)\.ts"/g, '$1.js"'));
  }
}

if (import.meta.main) console.log(buildClient(resolve(process.argv[2] ?? join(root, "dist"))));
