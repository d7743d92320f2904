/** Tells which requests are refused by their heads, though Node reads them. What `http1/` reads has no such head. */
import type { IncomingMessage } from "node:http";
import { isHostField } from "../../runtime/net/host-field.ts";

/**
 * The fields by which it is decided who calls, and how a body is read. Node keeps the first of several and says nothing; a proxy before
 * the gateway may have looked at the last. RFC 9112, section 3.2, has a second `host` refused. The others may be repeated alike, as by a
 * client whose user sets again what it sets itself.
 */
const single: ReadonlySet<string> = new Set(["host", "authorization", "content-type"]);

/** usualCharsets say the coding that texts have anyway. */
const usualCharsets: ReadonlySet<string> = new Set(["charset=utf-8", 'charset="utf-8"']);

/** essence returns a field's value without the charset that texts have anyway, in linear time whatever it is. */
function essence(value: string): string {
  const at = value.lastIndexOf(";");
  const isUsual =
    at >= 0 &&
    usualCharsets.has(
      value
        .slice(at + 1)
        .trim()
        .toLowerCase(),
    );
  return isUsual ? value.slice(0, at).trimEnd() : value;
}

type Head = Pick<IncomingMessage, "rawHeaders" | "headers" | "httpVersion">;

/**
 * isHeadFaulty reports whether a request is refused by its head alone: it names no host, in HTTP/1.1, or one that cannot be; or it can be read
 * in two ways.
 */
export function isHeadFaulty(request: Head): boolean {
  const { host, ":authority": authority } = request.headers as Record<string, string | undefined>;
  if (host === undefined && request.httpVersion === "1.1") return true;
  if (host !== undefined && !isHostField(host)) return true;
  // RFC 9113, section 8.3.1. A proxy before the gateway may have looked at either.
  if (host !== undefined && authority !== undefined && host.toLowerCase() !== authority.toLowerCase()) return true;
  return isReadTwoWays(request);
}

/**
 * isReadTwoWays reports whether a request has one of these fields with two values, or `host` twice; or a transfer coding besides `chunked`,
 * which a proxy may undo and Node does not (RFC 9112, 6.1).
 */
function isReadTwoWays({ rawHeaders }: Head): boolean {
  let seen: Map<string, string> | undefined;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === coding.length && isOtherCoding(name, rawHeaders[at + 1] as string)) return true;
    if (name.length !== 4 && name.length !== 12 && name.length !== 13) continue;
    const known = name.toLowerCase();
    if (!single.has(known)) continue;
    const value = essence(rawHeaders[at + 1] as string);
    const before = seen?.get(known);
    if (before !== undefined && (known === "host" || before !== value)) return true;
    seen ??= new Map();
    seen.set(known, value);
  }
  return false;
}

const coding = "transfer-encoding";

function isOtherCoding(name: string, value: string): boolean {
  return name.toLowerCase() === coding && value.trim().toLowerCase() !== "chunked";
}
