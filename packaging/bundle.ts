/**
 * Bundles the gateway's programs: each becomes one file of JavaScript with all that it imports.
 *
 * CommonJS, because the executable's main script may be nothing else if its compiled form is to be kept. ASCII, because the engine
 * holds a text with a single other character in two bytes each, which costs a tenth of a second at every start.
 */
import { join } from "node:path";
import { rolldown } from "rolldown";
import { addFilesOnce } from "./add-files-once.ts";

export const root = join(import.meta.dirname, "..");

export interface Bundle {
  /** The chunks by their names: the program's own, and what it loads when it needs it. */
  readonly chunks: ReadonlyMap<string, string>;
  /** The paths of the modules inside, absolute. */
  readonly modules: readonly string[];
}

/**
 * Bundles a program of the project, by its path from the root. `name` is that of its chunk. `isSplit` makes a chunk of what is
 * imported late; else all is one.
 */
export async function bundle(name: string, entry: string, isSplit: boolean): Promise<Bundle> {
  const build = await rolldown({
    input: { [name]: join(root, entry) },
    cwd: root,
    platform: "node",
    transform: { define: { "import.meta.filename": "__filename", "import.meta.dirname": "__dirname" } },
    checks: { eval: false },
    plugins: [addFilesOnce],
  });
  const { output } = await build.generate({
    format: "cjs",
    codeSplitting: isSplit,
    comments: false,
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
  });
  await build.close();
  const chunks = output.filter((one) => one.type === "chunk");
  return {
    chunks: new Map(chunks.map(({ fileName, code }) => [fileName, inAscii(code)])),
    modules: chunks.flatMap(({ moduleIds }) => moduleIds),
  };
}

/** Escapes all other characters: in texts, templates, patterns and names an escape means the same. The project has no raw templates. */
function inAscii(code: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII is meant, all of it.
  return code.replace(/[^\x00-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
