/**
 * Serves the built dashboard: its files, and its one page at every other path below `/dashboard`, which the page itself routes.
 *
 * Files with a hash in their name are cached for ever, the page never. The page's content security policy allows only the gateway's
 * own files, and styles with the nonce of the answer.
 */
import { hash, randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { PackageFile } from "../../package/package-files.ts";

export interface Assets {
  /** Reports whether a path is the dashboard's. */
  serves(path: string): boolean;
  /** Answers a GET or HEAD of such a path. Resolves to false where nothing is there. */
  handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<boolean>;
}

interface Asset {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
  /** Whether it may be cached for ever. */
  readonly isImmutable: boolean;
  /** The compressed body by content coding, made on first use. */
  readonly coded: Map<Coding, Promise<Buffer>>;
}

type Coding = "br" | "gzip";

const types: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".md": "text/markdown; charset=utf-8",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
  }),
);

const prefix = "/dashboard";

/** The place of the nonce in the page. */
const noncePlace = "%NONCE%";

/** The page of a dashboard that was not built. */
const unbuilt = "The dashboard is not built. `npm run build:dashboard` in the project's folder builds it.\n";

const coders = {
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
} as const;

/** Serves these files: none where the dashboard was not built. */
export function createAssets(files: readonly PackageFile[]): Assets {
  const assets = new Map(files.map((file) => [`${prefix}/${file.path}`, assetOf(file)]));
  const page = assets.get(`${prefix}/index.html`)?.body.toString("utf8");
  return {
    serves: (path) => path === prefix || path.startsWith(`${prefix}/`),
    async handle(req, res, path) {
      const asset = assets.get(path);
      if (asset && path !== `${prefix}/index.html`) await sendAsset(req, res, asset);
      else if (path.startsWith(`${prefix}/assets/`)) return false;
      else if (page === undefined) send(req, res, 503, { "content-type": "text/plain; charset=utf-8" }, unbuilt);
      else sendPage(req, res, page);
      return true;
    },
  };
}

function assetOf({ path, body }: PackageFile): Asset {
  return {
    body,
    type: types.get(extname(path)) ?? "application/octet-stream",
    etag: `"${hash("sha256", body, "base64url").slice(0, 22)}"`,
    isImmutable: /-[\w-]{8}\.\w+$/.test(path),
    coded: new Map(),
  };
}

async function sendAsset(req: IncomingMessage, res: ServerResponse, asset: Asset): Promise<void> {
  const { type, etag, isImmutable } = asset;
  const headers: Record<string, string> = {
    ...{ "content-type": type, etag, vary: "accept-encoding", "x-content-type-options": "nosniff" },
    "cache-control": isImmutable ? "public, max-age=31536000, immutable" : "public, max-age=3600",
  };
  if (req.headers["if-none-match"] === etag) return send(req, res, 304, headers, "");
  const coding = codingOf(req, type);
  if (coding === undefined) return send(req, res, 200, headers, asset.body);
  const coded = asset.coded.get(coding) ?? coders[coding](asset.body);
  asset.coded.set(coding, coded);
  send(req, res, 200, { ...headers, "content-encoding": coding }, await coded);
}

/** Returns the coding of an answer; undefined for images and fonts, which are compressed already. */
function codingOf(req: IncomingMessage, type: string): Coding | undefined {
  if (!/^text\/|json|svg/.test(type)) return undefined;
  const accepted = String(req.headers["accept-encoding"] ?? "");
  return (["br", "gzip"] as const).find((coding) =>
    new RegExp(`\\b${coding}\\b(?!\\s*;\\s*q=0(?!\\.\\d*[1-9]))`).test(accepted),
  );
}

function sendPage(req: IncomingMessage, res: ServerResponse, page: string): void {
  const nonce = randomBytes(16).toString("base64");
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "no-store",
    "content-security-policy": policy(nonce),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    // The address may have the secret of a link in it. It is not sent to other sites.
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
  };
  send(req, res, 200, headers, page.replaceAll(noncePlace, nonce));
}

/** Source: W3C Content Security Policy 3. */
function policy(nonce: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "media-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

function send(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: Record<string, string>,
  body: string | Buffer,
): void {
  res.writeHead(status, status === 304 ? headers : { ...headers, "content-length": Buffer.byteLength(body) });
  res.end(req.method === "HEAD" || status === 304 ? undefined : body);
}
