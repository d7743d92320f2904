/** The gateway's programs, bundled: the server, which is the command line too, and those of its threads. */
import { threads } from "../src/package/package-files.ts";
import { bundle } from "./bundle.ts";

export interface Programs {
  /** files are what is written, by its path in the package. */
  readonly files: ReadonlyMap<string, string>;
  /** The paths of the modules inside, absolute. */
  readonly modules: readonly string[];
}

/** The folder of the server's chunks in the package, and the chunk that starts it. */
export const serverFolder = "dist/server";
export const serverChunk = "main.js";

export async function bundlePrograms(): Promise<Programs> {
  const server = await bundle("main", "src/main.ts", true);
  const apart = await Promise.all(Object.entries(threads).map(([name, path]) => bundle(name, `src/${path}`, false)));
  return {
    files: new Map([
      ...below(serverFolder, server.chunks),
      ...apart.flatMap(({ chunks }) => below("dist/threads", chunks)),
    ]),
    modules: [server, ...apart].flatMap(({ modules }) => modules),
  };
}

function below(folder: string, chunks: ReadonlyMap<string, string>): [string, string][] {
  return [...chunks].map(([name, code]) => [`${folder}/${name}`, code]);
}
