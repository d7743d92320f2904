/**
 * Finds what a request is for: a REST route, an RPC, a probe, the addresses, the dashboard, or nothing.
 *
 * Every answer carries `x-request-id`, and `request-id`, which Anthropic's clients read: also those of paths that nobody
 * serves.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { methodNotAllowed, responsesSocketNotServed, unknownPath } from "../call/refusals.ts";
import type { HttpAnswer, PlainAnswer, PlainRequest } from "../http1/server/index.ts";
import { catchError } from "../runtime/maybe-promise.ts";
import { discard, type HttpRequest } from "./body/body.ts";
import { pathOf, plainPath } from "./request-path.ts";
import { type Outlet, setHead, writeProblem } from "./rest/answers.ts";
import type { Cors } from "./rest/cors.ts";
import type { RestDoor } from "./rest/rest.ts";
import type { Found, Routes } from "./rest/routes.ts";
import type { Readiness } from "./rpc/health.ts";
import type { RpcDoor } from "./rpc/rpc.ts";
import type { Addresses } from "./site/addresses.ts";
import type { Assets } from "./site/assets.ts";
import type { Upgrades } from "./socket/responses-sockets.ts";
import { asksForResponsesSocket } from "./socket/websocket.ts";

export interface DispatchOptions {
  readonly routes: Routes;
  readonly rest: RestDoor;
  readonly rpc: RpcDoor;
  readonly readiness: Readiness;
  readonly addresses: Addresses;
  readonly assets: Assets;
  readonly cors: Cors;
  readonly upgrades?: Upgrades | undefined;
  readonly newRequestId: () => string;
  readonly log: Logger;
}

export interface Dispatch {
  /** Takes connections over for responses; undefined where that is not served. */
  readonly upgrades: Upgrades | undefined;
  readonly handle: (req: IncomingMessage, res: ServerResponse) => void;
  /** Returns what answers a plain request for a REST route; undefined for all others. */
  readonly handlePlain: (req: PlainRequest) => ((res: PlainAnswer) => void) | undefined;
}

export function createDispatch(options: DispatchOptions): Dispatch {
  const { routes, rest, rpc, readiness, addresses, assets, cors, newRequestId, log } = options;
  const headOf = (id: string, httpVersionMajor: number): Record<string, string> => {
    const head: Record<string, string> = { "x-request-id": id, "request-id": id };
    // A client that keeps its connection would hold up the end of a draining process.
    if (readiness.isDraining() && httpVersionMajor === 1) head.connection = "close";
    return head;
  };
  const failing = (res: Pick<HttpAnswer, "destroy">, id: string) => (error: unknown) => {
    log.error({ err: error, request_id: id }, "a door failed");
    res.destroy();
  };
  const visit = (req: HttpRequest, res: HttpAnswer, id: string, head: Record<string, string>, found: Found) =>
    void catchError(
      () => rest(req, res, { id, head, route: found.route, variables: found.variables }),
      failing(res, id),
    );
  const handlePlain: Dispatch["handlePlain"] = (req) => {
    if (req.headers.origin !== undefined) return undefined;
    const match = routes.find(req.method, plainPath(pathOf(req.url)));
    if (match.kind !== "found") return undefined;
    return (res) => {
      const id = newRequestId();
      visit(req, res, id, headOf(id, req.httpVersionMajor), match);
    };
  };
  const handle: Dispatch["handle"] = (req, res) => {
    const id = newRequestId();
    const head = headOf(id, req.httpVersionMajor);
    const httpMethod = req.method ?? "";
    const came = pathOf(req.url ?? "");
    const path = plainPath(came);
    const failed = failing(res, id);
    if (req.headers.origin !== undefined && cors.mark(req, head)) return void res.writeHead(204, head).end();
    const match = routes.find(httpMethod, path);
    if (match.kind === "found") return void visit(req, res, id, head, match);
    setHead(res, head);
    const familyNear = () => routes.familyNear(path, req.headers["anthropic-version"] !== undefined);
    if (asksForResponsesSocket(req, path)) refuse(req, { res, id, family: familyNear() }, responsesSocketNotServed());
    else if (rpc.serves(path)) rpc.handle(req, res, id, path).catch(failed);
    else if (path === "/" && isBrowser(req)) res.writeHead(302, { location: "/dashboard/" }).end();
    else if (path === "/") tell(req, { res, id, family: Family.OPENAI }, 200, addresses.describe(req));
    else if (assets.serves(came)) showAsset(req, { res, id, family: Family.OPENAI }, assets, came).catch(failed);
    else if (path === "/healthz") tell(req, { res, id, family: Family.OPENAI }, 200, { status: "ok" });
    else if (path === "/readyz") {
      const standing = readiness.standing();
      tell(req, { res, id, family: Family.OPENAI }, standing.status === "ok" ? 200 : 503, standing);
    } else if (match.kind === "method")
      refuse(req, { res, id, family: familyNear() }, methodNotAllowed(httpMethod, match.allowed));
    else refuse(req, { res, id, family: familyNear() }, unknownPath(httpMethod, came));
  };
  return { handle, handlePlain, upgrades: options.upgrades };
}

/** Who opens the address in a browser wants the dashboard; every other client is told the addresses. */
function isBrowser(req: IncomingMessage): boolean {
  return (req.method === "GET" || req.method === "HEAD") && /\btext\/html\b/.test(req.headers.accept ?? "");
}

/** Where Node's own answer goes. */
type NodeOutlet = Outlet & { readonly res: ServerResponse };

async function showAsset(req: IncomingMessage, outlet: NodeOutlet, assets: Assets, path: string): Promise<void> {
  const httpMethod = req.method ?? "";
  if (httpMethod !== "GET" && httpMethod !== "HEAD") {
    refuse(req, outlet, methodNotAllowed(httpMethod, ["GET", "HEAD"]));
  } else if (!(await assets.handle(req, outlet.res, path))) {
    refuse(req, outlet, unknownPath(httpMethod, path));
  }
}

/** Answers what needs no key, to GET and HEAD. */
function tell(req: IncomingMessage, outlet: NodeOutlet, status: number, json: object): void {
  const { res } = outlet;
  if (req.method !== "GET" && req.method !== "HEAD") {
    refuse(req, outlet, methodNotAllowed(req.method ?? "", ["GET", "HEAD"]));
    return;
  }
  res.writeHead(status, { "content-type": "application/json" });
  res.end(req.method === "HEAD" ? undefined : JSON.stringify(json));
}

function refuse(req: IncomingMessage, outlet: Outlet, refusal: Error): void {
  discard(req);
  writeProblem(outlet, refusal);
}
