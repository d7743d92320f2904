/**
 * Serves files that were built: what the dashboard and the documentation have in common.
 *
 * Files with a hash in their name are cached for ever, others for an hour or until they change. Texts are sent compressed to clients
 * that accept it.
 */
import { hash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { PackageFile } from "../../package/package-files.ts";

/** Site is what is served below a path of its own. */
export interface Site {
  /** Reads its files, so that the first request does not wait for them. */
  load?(): void;
  /** Reports whether a path is the site's. */
  serves(path: string): boolean;
  /** Answers a GET or HEAD of such a path. Resolves to false where nothing is there. */
  handle(req: IncomingMessage, res: ServerResponse, path: string): Promise<boolean>;
}

export interface Asset {
  readonly body: Buffer;
  readonly type: string;
  readonly etag: string;
  readonly cacheControl: string;
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
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
    ".yaml": "text/yaml; charset=utf-8",
  }),
);

const coders = {
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
} as const;

export const plainText = { "content-type": "text/plain; charset=utf-8", "x-content-type-options": "nosniff" } as const;

/** Headers of every page. Its address may have a secret in it, as the link to an invitation has: it is not sent to other sites. */
export const pageHeaders = {
  "content-type": "text/html; charset=utf-8",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
} as const;

/** assetsOf returns the files by their paths below the site. */
export function assetsOf(files: readonly PackageFile[]): ReadonlyMap<string, Asset> {
  return new Map(files.map((file) => [file.path, assetOf(file)]));
}

function assetOf({ path, body }: PackageFile): Asset {
  return {
    body,
    type: types.get(extname(path)) ?? "application/octet-stream",
    etag: `"${hash("sha256", body, "base64url").slice(0, 22)}"`,
    // The bundler puts a hash into the name of all that lies there.
    cacheControl: path.startsWith("assets/") ? "public, max-age=31536000, immutable" : "public, max-age=3600",
    coded: new Map(),
  };
}

/** sendAsset sends a file, as `status` where the client does not have it already. `headers` replace those of a file. */
export async function sendAsset(
  req: IncomingMessage,
  res: ServerResponse,
  asset: Asset,
  { status = 200, headers: own = {} }: { readonly status?: number; readonly headers?: Record<string, string> } = {},
): Promise<void> {
  const { type, etag } = asset;
  const headers: Record<string, string> = {
    "content-type": type,
    "cache-control": asset.cacheControl,
    "x-content-type-options": "nosniff",
    etag,
    vary: "accept-encoding",
    ...own,
  };
  if (status === 200 && isKnown(req, etag)) return send(req, res, 304, headers, "");
  const coding = codingOf(req, type);
  if (coding === undefined) return send(req, res, status, headers, asset.body);
  const coded = asset.coded.get(coding) ?? coders[coding](asset.body);
  asset.coded.set(coding, coded);
  send(req, res, status, { ...headers, "content-encoding": coding }, await coded);
}

/** isKnown reports whether the client has this version. Proxies that compress mark a tag as weak. */
function isKnown(req: IncomingMessage, etag: string): boolean {
  const tags = String(req.headers["if-none-match"] ?? "").split(",");
  return tags.some((tag) => tag.trim().replace(/^W\//, "") === etag);
}

/** codingOf returns the coding of an answer; undefined for images and fonts, which are compressed already. */
function codingOf(req: IncomingMessage, type: string): Coding | undefined {
  if (!/^text\/|json|svg/.test(type)) return undefined;
  const accepted = String(req.headers["accept-encoding"] ?? "");
  return (["br", "gzip"] as const).find((coding) =>
    new RegExp(`\\b${coding}\\b(?!\\s*;\\s*q=0(?!\\.\\d*[1-9]))`).test(accepted),
  );
}

/**
 * contentPolicy returns the policy of a page that loads nothing but the gateway's own files. `scripts` and `styles` are sources besides:
 * nonces and hashes. Source: W3C Content Security Policy 3.
 */
export function contentPolicy(scripts: readonly string[], styles: readonly string[]): string {
  return [
    "default-src 'none'",
    ["script-src 'self'", ...scripts].join(" "),
    ["style-src 'self'", ...styles].join(" "),
    "img-src 'self' data:",
    "font-src 'self'",
    "connect-src 'self'",
    "media-src 'self' blob:",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

export function send(
  req: IncomingMessage,
  res: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string | Buffer,
): void {
  res.writeHead(status, status === 304 ? headers : { ...headers, "content-length": Buffer.byteLength(body) });
  res.end(req.method === "HEAD" || status === 304 ? undefined : body);
}
