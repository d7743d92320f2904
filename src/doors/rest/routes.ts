/**
 * The REST routes, read from the `google.api.http` annotations of the services.
 *
 * A broken rule, or one that clashes with another, throws here and stops the start.
 */
import { type DescMethod, type DescService, hasOption, ScalarType } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import { access, Caller, Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import { methodOption } from "../../runtime/method-option.ts";
import { type Envelope, envelopeOf } from "./envelope.ts";
import { compilePath, isLiteral, matchPath, type PathTemplate } from "./path-template.ts";

/** Route is an HTTP method and path with its RPCs: a unary one, a streaming one, or both. */
export interface Route {
  readonly httpMethod: string;
  readonly template: PathTemplate;
  readonly family: Family;
  /** eitherFamily is whether a request with `anthropic-version` is of Anthropic's family instead. */
  readonly eitherFamily: boolean;
  unary?: DescMethod;
  /** The envelope of the unary RPC's answer. */
  envelope?: Envelope;
  stream?: DescMethod;
  /** The bytes field of the stream's messages that is the public answer; empty where the messages are. */
  readonly bodyField: string;
  /** The key of the body that selects the streaming RPC if it is true. */
  selectedBy?: string;
}

export type Match =
  | Found
  | { readonly kind: "method"; readonly allowed: readonly string[] }
  | { readonly kind: "none" };

export interface Found {
  readonly kind: "found";
  readonly route: Route;
  readonly variables: Readonly<Record<string, string>>;
}

export interface Routes {
  readonly all: readonly Route[];
  /** Finds the route of a request. HEAD is served where GET is: the server leaves out its body. */
  find(httpMethod: string, path: string): Match;
  /**
   * Returns the family of a path at which nothing is served: that of the longest route that it continues, or else of the routes
   * that begin like it. A request with `anthropic-version` (`versioned`) is Anthropic's where the route may be of either
   * family.
   */
  familyNear(path: string, versioned?: boolean): Family;
}

/** Compiles the routes of these services. */
export function compileRoutes(services: readonly DescService[]): Routes {
  const all: Route[] = [];
  for (const method of services.flatMap((service) => service.methods)) {
    const { family, caller } = methodOption(method, access);
    if (caller === Caller.UNSPECIFIED) throw new Error(`${method} does not say who may call it`);
    if (!hasOption(method, http)) continue;
    if (family === Family.UNSPECIFIED) throw new Error(`${method} has a path but no family`);
    if (method.methodKind === "client_streaming" || method.methodKind === "bidi_streaming") {
      throw new Error(`${method} has a path, but its requests are a stream`);
    }
    const rule = methodOption(method, http);
    for (const { pattern, body } of [rule, ...rule.additionalBindings]) {
      if (pattern.case === undefined || pattern.case === "custom")
        throw new Error(`${method} has a rule without a method`);
      const whole = pattern.case === "get" || pattern.case === "delete" ? "" : "*";
      if (body !== whole) throw new Error(`${method} has a rule for ${pattern.case} whose body is not "${whole}"`);
      addMethod(all, method, pattern.case.toUpperCase(), templateOf(method, pattern.value));
    }
  }
  for (const route of all) checkRoute(route);
  return { all, find: createFind(all), familyNear: (path, versioned) => familyNear(all, path, versioned) };
}

function templateOf(method: DescMethod, text: string): PathTemplate {
  try {
    return compilePath(text);
  } catch (error) {
    throw new Error(`${method} has a broken rule: ${(error as Error).message}`);
  }
}

function addMethod(all: Route[], method: DescMethod, httpMethod: string, template: PathTemplate): void {
  const { family, selectedBy, eitherFamily, bodyField } = methodOption(method, access);
  for (const { name } of template.variables) {
    if (!method.input.fields.some((field) => field.name === name)) throw new Error(`${method} has no field {${name}}`);
  }
  let route = all.find((known) => known.httpMethod === httpMethod && sameShape(known.template, template));
  if (!route) {
    route = { httpMethod, template, family, eitherFamily, bodyField };
    all.push(route);
  }
  const slot = method.methodKind === "server_streaming" ? "stream" : "unary";
  if (route[slot] || route.template.text !== template.text || route.family !== family) {
    throw new Error(`${method} clashes with ${route.unary ?? route.stream} at ${httpMethod} ${template.text}`);
  }
  route[slot] = method;
  const envelope = envelopeOf(method);
  if (envelope) route.envelope = envelope;
  if (slot === "stream") route.selectedBy = selectedBy;
}

/** checkRoute throws unless two RPCs at one path have the same request and a boolean field of it that selects one. */
function checkRoute({ unary, stream, selectedBy }: Route): void {
  if (!unary || !stream) return;
  const selector = stream.input.fields.find((field) => field.name === selectedBy);
  if (selector?.scalar !== ScalarType.BOOL) {
    throw new Error(`${stream} shares its path and has no boolean \`selected_by\` field "${selectedBy}"`);
  }
  if (unary.input !== stream.input) throw new Error(`${stream} shares its path but not its request with ${unary}`);
  if (methodOption(unary, access).caller !== methodOption(stream, access).caller) {
    throw new Error(`${stream} shares its path but not its callers with ${unary}`);
  }
}

function sameShape(a: PathTemplate, b: PathTemplate): boolean {
  return a.verb === b.verb && a.segments.join("/") === b.segments.join("/");
}

/** createFind finds fixed paths by one look-up, and the others in the order of their declaration. */
function createFind(all: readonly Route[]): Routes["find"] {
  const fixed = new Map<string, Map<string, Found>>();
  const patterns: Route[] = [];
  for (const route of all) {
    const { text } = route.template;
    if (!isLiteral(route.template)) patterns.push(route);
    else fixed.set(text, (fixed.get(text) ?? new Map()).set(route.httpMethod, { kind: "found", route, variables: {} }));
  }
  return (httpMethod, path) => {
    const method = httpMethod === "HEAD" ? "GET" : httpMethod;
    const byMethod = fixed.get(path);
    const found = byMethod?.get(method);
    if (found) return found;
    const served = new Set(byMethod?.keys());
    for (const route of patterns) {
      const variables = matchPath(route.template, path);
      if (!variables) continue;
      if (route.httpMethod === method) return { kind: "found", route, variables };
      served.add(route.httpMethod);
    }
    const allowed = [...served].flatMap((one) => (one === "GET" ? ["GET", "HEAD"] : [one]));
    return allowed.length > 0 ? { kind: "method", allowed } : { kind: "none" };
  };
}

function familyNear(all: readonly Route[], path: string, versioned = false): Family {
  let longest: Route | undefined;
  for (const route of all) {
    const { text } = route.template;
    const isNear = path === text || path.startsWith(`${text}/`);
    if (isNear && text.length > (longest?.template.text.length ?? 0)) longest = route;
  }
  if (!longest) return familyAround(all, path);
  return longest.eitherFamily && versioned ? Family.ANTHROPIC : longest.family;
}

/** familyAround returns the family of the routes that share the most leading segments with the path, if they agree; else OpenAI's. */
function familyAround(all: readonly Route[], path: string): Family {
  const segments = path.split("/").slice(1);
  let most = 1;
  let families = new Set<Family>();
  for (const { template, family } of all) {
    const differs = segments.findIndex((segment, i) => segment !== template.segments[i]);
    const shared = differs === -1 ? segments.length : differs;
    if (shared > most) families = new Set();
    if (shared < most) continue;
    most = shared;
    families.add(family);
  }
  const [only = Family.OPENAI] = families;
  return families.size === 1 ? only : Family.OPENAI;
}
