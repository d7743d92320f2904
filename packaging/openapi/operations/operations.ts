/**
 * The routes of the gateway as operations of the document.
 *
 * A unary RPC and its streaming twin are one operation, whose answer is JSON or an event stream. Additional paths of a
 * route are listed beside its first.
 */
import { type DescMethod, getOption } from "@bufbuild/protobuf";
import { access, Caller } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Reason } from "../../../src/call/refusals.ts";
import type { Route } from "../../../src/doors/rest/routes.ts";
import type { Operation, PathItem } from "../openapi.ts";
import type { Words } from "../protos/words.ts";
import type { Schemas } from "../schemas/schemas.ts";
import { answerOf, refusalsOf } from "./answers.ts";
import { type ErrorFamily, errorFamilyOf } from "./errors.ts";
import { operationIdOf, publicPath, tagOf } from "./names.ts";
import { natureOf, reasonsFor } from "./reasons.ts";
import { bodyOf, headerParameters, parametersOf } from "./requests.ts";

export interface OperationParts {
  readonly words: Words;
  readonly schemas: Schemas;
  /** Notes the reasons for which an operation may be refused. All operations of a family share an answer for a status. */
  readonly addReasons: (family: ErrorFamily, reasons: ReadonlySet<Reason>) => void;
}

/** Returns the paths of these routes. */
export function pathsOf(routes: readonly Route[], parts: OperationParts): Record<string, PathItem> {
  const paths: Record<string, PathItem> = {};
  const first = new Map<string, string>();
  for (const route of routes) {
    const path = publicPath(route);
    const original = first.get(operationIdOf(route));
    if (original === undefined) {
      first.set(operationIdOf(route), path);
      paths[path] = { ...paths[path], [route.httpMethod.toLowerCase()]: operationOf(route, parts) };
    } else {
      const known = paths[original]?.["x-aliases"] ?? [];
      paths[original] = { ...paths[original], "x-aliases": [...new Set([...known, path])] };
    }
  }
  return paths;
}

function operationOf(route: Route, parts: OperationParts): Operation {
  const method = (route.unary ?? route.stream) as DescMethod;
  const { words, schemas, addReasons } = parts;
  const inPath = route.template.variables.map(({ name }) => name);
  const members = schemas.membersOf(method.input);
  const required = Object.keys(members).filter((key) => members[key]?.isRequired && !inPath.includes(key));
  const nature = natureOf(method, route.httpMethod, required);
  const family = errorFamilyOf(route.family, route.eitherFamily);
  const reasons = reasonsFor(nature);
  addReasons(family, reasons);
  const body = nature.hasBody ? bodyOf(route, method, schemas, required) : undefined;
  const { summary, description } = words.summarise(method);
  const paragraphs = [description, ...(route.stream && route.unary ? [streamNote(route)] : [])].filter(
    (text) => text !== "",
  );
  return {
    operationId: operationIdOf(route),
    tags: [tagOf(method)],
    summary,
    ...(paragraphs.length > 0 ? { description: paragraphs.join("\n\n") } : {}),
    security: securityOf(method),
    parameters: [...parametersOf(route, members), ...headerParameters(route, nature)],
    ...(body ? { requestBody: body } : {}),
    responses: { "200": answerOf(route, nature, schemas), ...refusalsOf(family, nature, reasons) },
    "x-rpc": {
      ...(route.unary ? { unary: rpcPath(route.unary) } : {}),
      ...(route.stream ? { stream: rpcPath(route.stream) } : {}),
    },
  };
}

function rpcPath(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`;
}

function streamNote({ httpMethod, selectedBy }: Route): string {
  return httpMethod === "GET"
    ? `With \`?${selectedBy}=true\` the answer is a stream of events.`
    : `With \`"${selectedBy}": true\` the answer is a stream of events.`;
}

function securityOf(method: DescMethod): Operation["security"] {
  const { caller } = getOption(method, access);
  if (caller === Caller.ADMIN_KEY) {
    return [{ bearer: ["administrator"] }, { apiKey: ["administrator"] }, { session: [], dashboard: [] }];
  }
  if (caller !== Caller.KEY) throw new Error(`${method} has a path, and no security of the document fits its callers`);
  return [{ bearer: [] }, { apiKey: [] }, { session: [], dashboard: [], sessionKey: [] }];
}
