/**
 * Serves the built documentation below `/docs`: each page at an address without `.html`, and its files.
 *
 * A page is asked for again each time, and sent only where it has changed. Its content security policy allows the gateway's own
 * files, and the scripts that stand in the page, by their hashes.
 */
import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { PackageFile } from "../../package/package-files.ts";
import { type Asset, assetsOf, contentPolicy, pageHeaders, plainText, type Site, send, sendAsset } from "./assets.ts";

const prefix = "/docs";

const unbuilt = "The documentation is not built. `npm run build:site` in the project's folder builds it.\n";

/** createDocs serves the files that `load` returns: none where the documentation was not built. They are read on the first request. */
export function createDocs(load: () => readonly PackageFile[]): Site {
  let loaded: ReadonlyMap<string, Asset> | undefined;
  return {
    serves: (path) => path === prefix || path.startsWith(`${prefix}/`),
    async handle(req, res, path) {
      loaded ??= assetsOf(load());
      const below = path.slice(prefix.length + 1);
      const asset = loaded.get(below);
      const page = loaded.get(pageAt(below));
      const elsewhere = path === prefix ? `${prefix}/` : addressFor(below, loaded);
      if (loaded.size === 0) send(req, res, 503, plainText, unbuilt);
      else if (elsewhere !== undefined) send(req, res, 301, { ...plainText, location: elsewhere }, "");
      else if (asset) await sendAsset(req, res, asset);
      else if (page) await sendPage(req, res, page, 200);
      else if (below.startsWith("assets/")) return false;
      else await sendMissing(req, res, loaded);
      return true;
    },
  };
}

/** pageAt returns the file of the page at a path below `/docs/`: that of `api` is `api.html`. */
function pageAt(below: string): string {
  return below === "" ? "index.html" : `${below}.html`;
}

/** addressFor returns the address of a page that was asked for by another of its names: `api.html` or `api/`. */
function addressFor(below: string, assets: ReadonlyMap<string, Asset>): string | undefined {
  const name = /^(?<name>.+)(?:\.html|\/)$/.exec(below)?.groups?.name;
  if (name === undefined || !assets.has(`${name}.html`)) return undefined;
  return name === "index" ? `${prefix}/` : `${prefix}/${name}`;
}

async function sendMissing(
  req: IncomingMessage,
  res: ServerResponse,
  assets: ReadonlyMap<string, Asset>,
): Promise<void> {
  const page = assets.get("404.html");
  if (page) await sendPage(req, res, page, 404);
  else send(req, res, 404, plainText, `There is no such page. ${prefix}/ has all pages.\n`);
}

async function sendPage(req: IncomingMessage, res: ServerResponse, page: Asset, status: number): Promise<void> {
  const headers = {
    ...pageHeaders,
    "cache-control": "no-cache",
    "content-security-policy": policyOf(page),
  };
  await sendAsset(req, res, page, { status, headers });
}

const policies = new WeakMap<Asset, string>();

/** policyOf returns the content security policy of a page. It is made once: pages are long, and need no key. */
function policyOf(page: Asset): string {
  const policy = policies.get(page) ?? contentPolicy(inlineScripts(page.body.toString("utf8")), []);
  policies.set(page, policy);
  return policy;
}

/** inlineScripts returns the hashes of the scripts that stand in a page, as sources of a policy. */
function inlineScripts(html: string): string[] {
  const scripts = [...html.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([\s\S]*?)<\/script>/g)];
  return scripts.map(([, script = ""]) => `'sha256-${hash("sha256", script, "base64")}'`);
}
