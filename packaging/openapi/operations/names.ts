/** The names of routes in the document: path, operation, tag. */
import type { DescMethod } from "@bufbuild/protobuf";
import type { Route } from "../../../src/doors/rest/routes.ts";

/** Returns the path of a route as OpenAPI writes it, without the spans of variables. */
export function publicPath({ template }: Route): string {
  return template.text.replaceAll(/\{(\w+)=[^}]*\}/g, "{$1}");
}

/** Names an operation by its RPC: a stream that alone has its path makes what it streams. */
export function operationIdOf({ unary, stream }: Route): string {
  return (unary ?? stream)?.localName.replace(/^stream/, "create") ?? "";
}

/** Operations are grouped by the proto that their request is from: `chat`, `keys`. */
export function tagOf(method: DescMethod): string {
  const file = method.input.file.name.split("/").at(-1) ?? "";
  return file.charAt(0).toUpperCase() + file.slice(1);
}
