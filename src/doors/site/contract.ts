/**
 * Serves what the gateway says of itself to programs: `/openapi.json`, the contract of its public paths, and `/llms.txt`, the index of
 * its documentation.
 *
 * Both are open to pages of all origins, for they say nothing that is not public. Clients keep them for an hour, and then ask whether
 * they have changed.
 */
import type { PackageFile } from "../../package/package-files.ts";
import { plainPath } from "../request-path.ts";
import { type Asset, assetsOf, type Site, sendAsset } from "./assets.ts";

/** contractFiles are the files in the package, by the names under which they are served. */
export const contractFiles = { "openapi.json": "gen/openapi.json", "llms.txt": "gen/llms.txt" } as const;

const openToAll = { "access-control-allow-origin": "*", "access-control-expose-headers": "etag" } as const;

/** createContract serves the files that `load` returns, at the root. They are read on the first request. */
export function createContract(load: () => readonly PackageFile[]): Site {
  const paths = new Set(Object.keys(contractFiles).map((name) => `/${name}`));
  let loaded: ReadonlyMap<string, Asset> | undefined;
  return {
    serves: (path) => paths.has(plainPath(path)),
    async handle(req, res, path) {
      loaded ??= assetsOf(load());
      const asset = loaded.get(plainPath(path).slice(1));
      if (asset) await sendAsset(req, res, asset, { headers: openToAll });
      return asset !== undefined;
    },
  };
}
