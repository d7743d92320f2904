/**
 * Serves the built dashboard: its files, and its one page at every other path below `/dashboard`, which the page itself routes.
 *
 * The page is never cached. Its content security policy allows only the gateway's own files, and styles with the nonce of the answer.
 */
import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PackageFile } from "../../package/package-files.ts";
import { assetsOf, contentPolicy, pageHeaders, plainText, type Site, send, sendAsset } from "./assets.ts";

const prefix = "/dashboard";
const pagePath = "index.html";

/** The place of the nonce in the page. */
const noncePlace = "%NONCE%";

const unbuilt = "The dashboard is not built. `npm run build:dashboard` in the project's folder builds it.\n";

/** Serves these files: none where the dashboard was not built. */
export function createDashboard(files: readonly PackageFile[]): Site {
  const assets = assetsOf(files);
  const page = assets.get(pagePath)?.body.toString("utf8");
  return {
    serves: (path) => path === prefix || path.startsWith(`${prefix}/`),
    async handle(req, res, path) {
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
