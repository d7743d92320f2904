/** Describes what an operation takes: parameters in path and query, headers, and the body in its three forms. */
import type { DescMethod } from "@bufbuild/protobuf";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import type { Route } from "../../../src/doors/rest/routes.ts";
import { parametersOf as parameterExamplesOf, requestsOf } from "../examples/examples.ts";
import type { Example, MediaType, Parameter, Reference, RequestBody } from "../openapi.ts";
import type { JsonSchema } from "../schemas/json-schema.ts";
import type { MemberSchema, Schemas } from "../schemas/schemas.ts";
import * as headers from "./headers.ts";
import { operationIdOf } from "./names.ts";
import type { Nature } from "./reasons.ts";

/** Returns the parameters in path and query. A body has the other members. */
export function parametersOf(route: Route, members: Readonly<Record<string, MemberSchema>>): Parameter[] {
  const { httpMethod, template } = route;
  const variables = new Map(template.variables.map((variable) => [variable.name, variable]));
  const examples = parameterExamplesOf(operationIdOf(route));
  return Object.entries(members).flatMap(([name, { schema: all, isRequired }]): Parameter[] => {
    const { description = "", ...schema } = all;
    if (variables.has(name)) {
      const note = template.segments.at(-1) === "**" ? " Slashes in it may be sent as they are, or as `%2F`." : "";
      return [{ name, in: "path", description: description + note, required: true, schema, ...shown(examples[name]) }];
    }
    if (httpMethod === "POST") return [];
    return [
      {
        name,
        in: "query",
        description,
        ...(isRequired ? { required: true } : {}),
        schema: withoutNull(schema),
        ...shown(examples[name]),
      },
    ];
  });
}

function shown(value: unknown): Pick<Parameter, "examples"> {
  return value === undefined ? {} : { examples: { example: { value } } };
}

/** A query has no null. */
function withoutNull({ type, anyOf, ...others }: JsonSchema): JsonSchema {
  const choices = anyOf?.filter((choice) => choice.type !== "null");
  if (choices) return choices.length === 1 ? { ...others, ...choices[0] } : { ...others, anyOf: choices };
  const types = [type ?? []].flat().filter((one) => one !== "null");
  return types.length > 0 ? { ...others, type: types.length === 1 ? (types[0] as string) : types } : others;
}

/** Returns the headers that mean something to the operation. */
export function headerParameters({ family, eitherFamily }: Route, nature: Nature): Reference[] {
  const names = Object.keys({
    ...(nature.asksModel ? headers.modelHeaders : {}),
    ...(nature.isRepeatable ? headers.repeatHeaders : {}),
    ...(family === Family.ANTHROPIC || eitherFamily ? headers.versionHeaders : {}),
    ...(nature.hasBody ? headers.bodyHeaders : {}),
    ...headers.everyRequest,
  });
  const fitting = nature.isRepeatable ? names : names.filter((name) => !(name in headers.repeatHeaders));
  return fitting.map((name) => ({ $ref: `#/components/parameters/${name}` }));
}

const bodyTypes = ["application/json", "application/x-www-form-urlencoded", "multipart/form-data"];

/** Returns the body, undefined where the path says all. `required` are the members that it must have. */
export function bodyOf(
  route: Route,
  method: DescMethod,
  schemas: Schemas,
  required: readonly string[],
): RequestBody | undefined {
  const inPath = route.template.variables.map(({ name }) => name);
  if (Object.keys(schemas.membersOf(method.input)).every((key) => inPath.includes(key))) return undefined;
  const schema = schemas.of(method.input);
  const examples = requestsOf(operationIdOf(route));
  const content = bodyTypes.map((type): [string, MediaType] => {
    const fitting = Object.entries(examples).filter(
      ([, { form = false }]) => type === "application/json" || (form && type !== "multipart/form-data"),
    );
    const entries = fitting.map(([name, { summary, value }]): [string, Example] => [name, { summary, value }]);
    return [type, { schema, ...(entries.length > 0 ? { examples: Object.fromEntries(entries) } : {}) }];
  });
  return { required: required.length > 0, content: Object.fromEntries(content) };
}
