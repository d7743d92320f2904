/**
 * Dispatches requests: to a REST route, an RPC, a probe, the addresses, the dashboard or the documentation, or a refusal.
 *
 * Every answer has `x-request-id`, and `request-id`, which Anthropic's clients read, also at paths where nothing is served.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { methodNotAllowed, responsesSocketNotServed, unknownPath } from "../call/refusals.ts";
import type { HttpAnswer, PlainAnswer, PlainRequest } from "../http1/server/index.ts";
import { catchError, type MaybePromise } from "../runtime/maybe-promise.ts";
import { discard, type HttpRequest } from "./body/body.ts";
import { markKeyless } from "./listener/keyless-work.ts";
import { pathOf, plainPath } from "./request-path.ts";
import { type Outlet, setHead, writeRefusal } from "./rest/answers.ts";
import type { Cors } from "./rest/cors.ts";
import type { RestDoor } from "./rest/rest.ts";
import type { Found, Match, Routes } from "./rest/routes.ts";
import type { Readiness } from "./rpc/health.ts";
import type { RpcDoor } from "./rpc/rpc.ts";
import type { Addresses } from "./site/addresses.ts";
import type { Site } from "./site/assets.ts";
import { createProbes } from "./site/probes.ts";
import type { Upgrades } from "./socket/responses-sockets.ts";
import { asksForResponsesSocket } from "./socket/websocket.ts";

export interface DispatchOptions {
  readonly routes: Routes;
  readonly rest: RestDoor;
  readonly rpc: RpcDoor;
  readonly readiness: Readiness;
  readonly addresses: Addresses;
  /** The dashboard, the documentation, and the contract: each serves paths of its own. */
  readonly sites: readonly Site[];
  readonly cors: Cors;
  /** bodyTimeoutMs is how long the rest of a body is waited for that nobody reads, in milliseconds. */
  readonly bodyTimeoutMs: number;
  readonly upgrades?: Upgrades | undefined;
  readonly newRequestId: () => string;
  readonly log: Logger;
}

export interface Dispatch {
  /** Upgrades connections to WebSockets for responses; undefined where that is not served. */
  readonly upgrades: Upgrades | undefined;
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void;
  /** Returns what answers a plain request for a REST route; undefined for all others. */
  readonly handlePlain: (req: PlainRequest) => ((res: PlainAnswer) => void) | undefined;
}

/** A request that is not for a REST route. */
interface OtherRequest {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly id: string;
  /** The path as it was sent. */
  readonly sentPath: string;
  /** The normalised path. */
  readonly path: string;
  readonly match: Exclude<Match, Found>;
}

export function createDispatch(options: DispatchOptions): Dispatch {
  const { routes, rest, readiness, cors, newRequestId, log } = options;
  const answerOther = createAnswerOther(options);
  const headOf = (id: string, { method, httpVersionMajor }: HttpRequest): Record<string, string> => {
    const head: Record<string, string> = { "x-request-id": id, "request-id": id };
    // Answers differ by their caller: a cache on the way may store none that does not say so. Those to other methods it stores never.
    if (method === "GET" || method === "HEAD") head["cache-control"] = "no-store";
    // A client that keeps its connection would delay the end of a draining process.
    if (readiness.isDraining() && httpVersionMajor === 1) head.connection = "close";
    return head;
  };
  const onFailure = (res: Pick<HttpAnswer, "destroy">, id: string) => (error: unknown) => {
    log.error({ err: error, request_id: id }, "a door failed");
    res.destroy();
  };
  const serveRoute = (req: HttpRequest, res: HttpAnswer, id: string, head: Record<string, string>, found: Found) =>
    void catchError(
      () => rest(req, res, { id, head, route: found.route, variables: found.variables }),
      onFailure(res, id),
    );
  const handlePlain: Dispatch["handlePlain"] = (req) => {
    if (req.headers.origin !== undefined) return undefined;
    const match = routes.find(req.method, plainPath(pathOf(req.url)));
    if (match.kind !== "found") return undefined;
    return (res) => {
      const id = newRequestId();
      serveRoute(req, res, id, headOf(id, req), match);
    };
  };
  const handle: Dispatch["handle"] = (req, res) => {
    const id = newRequestId();
    const head = headOf(id, req);
    const sentPath = pathOf(req.url ?? "");
    const path = plainPath(sentPath);
    if (req.headers.origin !== undefined && cors.mark(req, head)) {
      discard(req, options.bodyTimeoutMs);
      return void res.writeHead(204, head).end();
    }
    const match = routes.find(req.method ?? "", path);
    if (match.kind === "found") return void serveRoute(req, res, id, head, match);
    setHead(res, head);
    void catchError(() => answerOther({ req, res, id, sentPath, path, match }), onFailure(res, id));
  };
  return { handle, handlePlain, upgrades: options.upgrades };
}

/** createAnswerOther returns what answers requests that are not for a REST route. */
function createAnswerOther({ routes, rpc, readiness, addresses, sites, bodyTimeoutMs }: DispatchOptions) {
  const probes = createProbes(readiness);
  return ({ req, res, id, sentPath, path, match }: OtherRequest): MaybePromise<void> => {
    const httpMethod = req.method ?? "";
    const outlet = { res, id, family: Family.OPENAI };
    const refuseNear = (refusal: Error) => {
      const family = routes.familyNear(path, req.headers["anthropic-version"] !== undefined);
      writeRefusal({ res, id, family }, refusal);
    };
    if (!rpc.needsCredential(path)) markKeyless(res);
    if (rpc.serves(path)) return rpc.handle(req, res, id, path);
    // Nothing that follows reads a body.
    discard(req, bodyTimeoutMs);
    if (asksForResponsesSocket(req, path)) return refuseNear(responsesSocketNotServed());
    if (path === "/" && isBrowser(req)) return void res.writeHead(302, { location: "/dashboard/" }).end();
    if (path === "/") return answerJson(req, outlet, 200, addresses.describe(req));
    const site = sites.find((one) => one.serves(sentPath));
    if (site) return answerSite(req, outlet, site, sentPath);
    const probe = probes.answer(path);
    if (probe) return answerJson(req, outlet, probe.status, probe.json);
    if (match.kind === "method") return refuseNear(methodNotAllowed(httpMethod, match.allowed));
    refuseNear(unknownPath(httpMethod, sentPath));
  };
}

/** isBrowser reports whether a browser opens the page: it is sent to the dashboard, and other clients get the addresses. */
function isBrowser(req: IncomingMessage): boolean {
  return (req.method === "GET" || req.method === "HEAD") && /\btext\/html\b/.test(req.headers.accept ?? "");
}

/** An outlet by Node's own server. */
type NodeOutlet = Outlet & { readonly res: ServerResponse };

async function answerSite(req: IncomingMessage, outlet: NodeOutlet, site: Site, path: string): Promise<void> {
  const httpMethod = req.method ?? "";
  if (httpMethod !== "GET" && httpMethod !== "HEAD") {
    writeRefusal(outlet, methodNotAllowed(httpMethod, ["GET", "HEAD"]));
  } else if (!(await site.handle(req, outlet.res, path))) {
    writeRefusal(outlet, unknownPath(httpMethod, path));
  }
}

/** Answers GET and HEAD without a key. */
function answerJson(req: IncomingMessage, outlet: NodeOutlet, status: number, json: unknown): void {
  const { res } = outlet;
  if (req.method !== "GET" && req.method !== "HEAD") {
    writeRefusal(outlet, methodNotAllowed(req.method ?? "", ["GET", "HEAD"]));
    return;
  }
  res.writeHead(status, { "content-type": "application/json" });
  res.end(req.method === "HEAD" ? undefined : JSON.stringify(json));
}
