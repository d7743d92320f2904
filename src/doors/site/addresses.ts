/**
 * The addresses of the gateway: those that the operator configures, or else the one to which a request was sent. And the addresses
 * of its clients.
 *
 * `X-Forwarded-For`, `-Host` and `-Proto` are believed only from the proxies that the operator lists: anybody can send them.
 */
import { isIP } from "node:net";
import { type AddressList, addressList, unmapped } from "../../call/address-list.ts";
import type { Peer } from "../../call/call.ts";
import type { HttpRequest } from "../body/body.ts";

export interface PublicUrls {
  readonly root?: string | undefined;
  readonly direct?: string | undefined;
  readonly cdn?: string | undefined;
  readonly cn?: string | undefined;
}

export interface AddressOptions {
  readonly settings: () => { readonly publicUrls: PublicUrls };
  /** IP addresses and networks: `10.0.0.1`, `10.0.0.0/8`. */
  readonly trustedProxies: readonly string[];
}

export interface Addresses {
  /** Returns the root URL of the service, without a slash at its end. */
  rootUrl(req: HttpRequest): string;
  /** Returns where a request comes from. */
  peerOf(req: HttpRequest): Peer;
  /** Returns the answer of `GET /`: all addresses. */
  describe(req: HttpRequest): Readonly<Record<string, string>>;
}

/** createAddresses throws if a proxy is neither an address nor a network. */
export function createAddresses({ settings, trustedProxies }: AddressOptions): Addresses {
  const proxies = addressList(trustedProxies);
  const rootUrl = (req: HttpRequest) => settings().publicUrls.root ?? requestedUrl(req, isTrusted(req, proxies));
  return {
    rootUrl,
    peerOf: (req) => new RequestPeer(req, proxies, rootUrl),
    describe(req) {
      const root = rootUrl(req);
      const { direct, cdn, cn } = settings().publicUrls;
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

/** RequestPeer finds out where a request comes from on first use: most calls never need it. */
class RequestPeer implements Peer {
  readonly #req: HttpRequest;
  readonly #proxies: AddressList;
  readonly #rootUrl: Addresses["rootUrl"];
  #address: string | undefined;

  constructor(req: HttpRequest, proxies: AddressList, rootUrl: Addresses["rootUrl"]) {
    this.#req = req;
    this.#proxies = proxies;
    this.#rootUrl = rootUrl;
  }

  /** Kept, because a closed connection no longer has an address. */
  get address(): string {
    this.#address ??= addressOf(this.#req, this.#proxies);
    return this.#address;
  }

  get rootUrl(): string {
    return this.#rootUrl(this.#req);
  }
}

function isTrusted({ socket }: HttpRequest, proxies: AddressList): boolean {
  return proxies.has(socket.remoteAddress ?? "");
}

/** addressOf returns the last address before the trusted proxies. */
function addressOf({ socket, headers }: HttpRequest, proxies: AddressList): string {
  let address = unmapped(socket.remoteAddress ?? "");
  const forwarded = String(headers["x-forwarded-for"] ?? "").split(",");
  while (proxies.has(address)) {
    const before = unmapped(withoutPort(forwarded.pop()?.trim() ?? ""));
    if (isIP(before) === 0) break;
    address = before;
  }
  return address;
}

/** withoutPort drops the port that some proxies write: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
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
