/**
 * Under which addresses the gateway is reached: those that the operator names, else the one that a request came to.
 *
 * `X-Forwarded-Host` and `X-Forwarded-Proto` are believed from the proxies that the operator lists, and from nobody
 * else: anybody can send them.
 */
import { BlockList, isIP, isIPv6 } from "node:net";
import type { Peer } from "../../call/call.ts";
import type { HttpRequest } from "../body/body.ts";

export interface PublicUrls {
  readonly root?: string | undefined;
  readonly direct?: string | undefined;
  readonly cdn?: string | undefined;
  readonly cn?: string | undefined;
}

export interface AddressOptions {
  readonly publicUrls: PublicUrls;
  /** Addresses and networks: `10.0.0.1`, `10.0.0.0/8`. */
  readonly trustedProxies: readonly string[];
}

export interface Addresses {
  /** Returns the address of the whole service, without a slash at its end. */
  rootUrl(req: HttpRequest): string;
  /** Tells where a request comes from. */
  peerOf(req: HttpRequest): Peer;
  /** Tells all addresses, as `GET /` does. */
  describe(req: HttpRequest): Readonly<Record<string, string>>;
}

/** Throws where a proxy is no address and no network. */
export function createAddresses({ publicUrls, trustedProxies }: AddressOptions): Addresses {
  const proxies = new BlockList();
  for (const proxy of trustedProxies) {
    const [address = "", bits] = proxy.split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (bits === undefined) proxies.addAddress(address, family);
    else proxies.addSubnet(address, Number(bits), family);
  }
  const rootUrl = (req: HttpRequest) => publicUrls.root ?? requestedUrl(req, isTrusted(req, proxies));
  return {
    rootUrl,
    peerOf: (req) => new RequestPeer(req, proxies, rootUrl),
    describe(req) {
      const root = rootUrl(req);
      const { direct, cdn, cn } = publicUrls;
      return {
        name: "model-gateway",
        root_url: root,
        base_url: `${root}/v1`,
        ...(direct ? { direct_url: direct } : {}),
        ...(cdn ? { cdn_url: cdn } : {}),
        ...(cn ? { cn_url: cn } : {}),
      };
    },
  };
}

/** Where a request comes from, found out by whoever asks: most calls never do. */
class RequestPeer implements Peer {
  readonly #req: HttpRequest;
  readonly #proxies: BlockList;
  readonly #rootUrl: Addresses["rootUrl"];
  #address: string | undefined;

  constructor(req: HttpRequest, proxies: BlockList, rootUrl: Addresses["rootUrl"]) {
    this.#req = req;
    this.#proxies = proxies;
    this.#rootUrl = rootUrl;
  }

  /** Told the same to the end: a connection that is gone has none. */
  get address(): string {
    this.#address ??= addressOf(this.#req, this.#proxies);
    return this.#address;
  }

  get rootUrl(): string {
    return this.#rootUrl(this.#req);
  }
}

function isTrusted({ socket }: HttpRequest, proxies: BlockList): boolean {
  return isListed(plain(socket.remoteAddress ?? ""), proxies);
}

function isListed(address: string, proxies: BlockList): boolean {
  return isIP(address) !== 0 && proxies.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** An IPv4 address may come as an IPv6 one. */
function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, "");
}

/** Goes back through the proxies that are trusted, to the first address that is none of theirs. */
function addressOf({ socket, headers }: HttpRequest, proxies: BlockList): string {
  let address = plain(socket.remoteAddress ?? "");
  const forwarded = String(headers["x-forwarded-for"] ?? "").split(",");
  while (isListed(address, proxies)) {
    const before = plain(withoutPort(forwarded.pop()?.trim() ?? ""));
    if (isIP(before) === 0) break;
    address = before;
  }
  return address;
}

/** Some proxies write the port, too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(text: string): string {
  return text.replace(/^\[([^\]]*)\](?::\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1");
}

function requestedUrl({ headers }: HttpRequest, trusted: boolean): string {
  const forwarded = (name: string) =>
    trusted
      ? String(headers[name] ?? "")
          .split(",", 1)[0]
          ?.trim()
      : "";
  const host = forwarded("x-forwarded-host") || headers.host || headers[":authority"] || "localhost";
  const proto = forwarded("x-forwarded-proto") === "https" ? "https" : "http";
  return `${proto}://${host}`;
}
