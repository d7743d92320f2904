/**
 * Serves the built dashboard: its files, and its one page at every other path below `/dashboard`, which the page itself routes.
 *
 * The page is never cached. Its content security policy allows only the gateway's own files, and styles with the nonce of the answer.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PackageFile } from "../../package/package-files.ts";
import { type Asset, assetsOf, contentPolicy, pageHeaders, plainText, type Site, send, sendAsset } from "./assets.ts";

const prefix = "/dashboard";
const pagePath = "index.html";

/** The place of the nonce in the page. */
const noncePlace = "%NONCE%";

const unbuilt = "The dashboard is not built. `npm run build:dashboard` in the project's folder builds it.\n";

/**
 * createDashboard serves the files that `read` returns: none where the dashboard was not built. They are read by `load`, or on the first
 * request.
 */
export function createDashboard(read: () => readonly PackageFile[]): Site {
  let loaded: { readonly assets: ReadonlyMap<string, Asset>; readonly page: string | undefined } | undefined;
  function load() {
    if (loaded) return loaded;
    const assets = assetsOf(read());
    loaded = { assets, page: assets.get(pagePath)?.body.toString("utf8") };
    return loaded;
  }
  return {
    load,
    serves: (path) => path === prefix || path.startsWith(`${prefix}/`),
    async handle(req, res, path) {
      const { assets, page } = load();
      const below = path.slice(prefix.length + 1);
      const asset = assets.get(below);
      if (asset && below !== pagePath) await sendAsset(req, res, asset);
      else if (below.startsWith("assets/")) return false;
      else if (page === undefined) send(req, res, 503, plainText, unbuilt);
      else sendPage(req, res, page);
      return true;
    },
  };
}

function sendPage(req: IncomingMessage, res: ServerResponse, page: string): void {
  const nonce = randomBytes(16).toString("base64");
  const headers = {
    ...pageHeaders,
    "cache-control": "no-store",
    "content-security-policy": contentPolicy([], [`'nonce-${nonce}'`]),
  };
  send(req, res, 200, headers, page.replaceAll(noncePlace, nonce));
}
