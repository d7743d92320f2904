/**
 * Finds what a request is for: a REST route, an RPC, a probe, or nothing.
 *
 * Every answer carries `x-request-id`, also those of paths that nobody serves.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger } from "pino";
import { Family } from "../../gen/modelgateway/v1/access_pb.ts";
import { methodNotAllowed, unknownPath } from "../errors.ts";
import { type Outlet, writeProblem } from "./answers.ts";
import { discard } from "./body.ts";
import type { Readiness } from "./health.ts";
import type { RestDoor } from "./rest.ts";
import type { Routes } from "./routes.ts";
import type { RpcDoor } from "./rpc.ts";

export interface DispatchOptions {
  readonly routes: Routes;
  readonly rest: RestDoor;
  readonly rpc: RpcDoor;
  readonly readiness: Readiness;
  readonly newRequestId: () => string;
  readonly log: Logger;
}

export function createDispatch(options: DispatchOptions): (req: IncomingMessage, res: ServerResponse) => void {
  const { routes, rest, rpc, readiness, newRequestId, log } = options;
  return (req, res) => {
    const id = newRequestId();
    const httpMethod = req.method ?? "";
    const path = pathOf(req.url ?? "");
    // A client that keeps its connection would hold up the end of a draining process.
    if (!readiness.isReady() && req.httpVersionMajor === 1) res.setHeader("connection", "close");
    const failed = (error: unknown) => {
      log.error({ err: error, request_id: id }, "a door failed");
      res.destroy();
    };
    const match = routes.find(httpMethod, path);
    if (match.kind === "found") rest(req, res, { id, ...match }).catch(failed);
    else if (rpc.serves(path)) rpc.handle(req, res, id, path).catch(failed);
    else if (path === "/healthz" || path === "/readyz") probe(req, res, id, path === "/healthz" || readiness.isReady());
    else if (match.kind === "method")
      refuse(req, { res, id, family: routes.familyNear(path) }, methodNotAllowed(httpMethod, match.allowed));
    else refuse(req, { res, id, family: routes.familyNear(path) }, unknownPath(httpMethod, path));
  };
}

function pathOf(url: string): string {
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}

function probe(req: IncomingMessage, res: ServerResponse, id: string, good: boolean): void {
  const get = req.method === "GET" || req.method === "HEAD";
  if (!get) {
    refuse(req, { res, id, family: Family.OPENAI }, methodNotAllowed(req.method ?? "", ["GET", "HEAD"]));
    return;
  }
  const body = JSON.stringify({ status: good ? "ok" : "draining" });
  res.writeHead(good ? 200 : 503, { "content-type": "application/json", "x-request-id": id });
  res.end(req.method === "HEAD" ? undefined : body);
}

function refuse(req: IncomingMessage, outlet: Outlet, refusal: Error): void {
  discard(req);
  writeProblem(outlet, refusal);
}
