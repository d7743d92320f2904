/**
 * Makes a collection of requests of the document's examples, in the format of Postman 2.1: Postman, Bruno, Insomnia and Hoppscotch
 * all import it, while Bruno's own is a folder of files that only Bruno reads.
 *
 * The variables are `base_url`, the address of the gateway without `/v1`; `api_key`; and `admin_key`, for key management and usage.
 * Requests that make a key or a response keep its id as a variable, so that all requests can be run one after another.
 */
import { parametersOf, requestsOf } from "./examples/examples.ts";
import type { RequestExample } from "./examples/requests.ts";
import type { Document, HttpMethod, Operation, Parameter } from "./openapi.ts";

interface Item {
  readonly name: string;
  readonly description?: string;
  readonly item?: readonly Item[];
  readonly request?: object;
  readonly event?: readonly object[];
}

/** The ids of examples, as variables that are set by what makes such a thing. */
const ids = [
  { variable: "key_id", example: "key_0123456789abcdef", madeBy: "createKey", member: "data.id" },
  { variable: "response_id", example: "resp_0123456789abcdef", madeBy: "createResponse", member: "id" },
] as const;

/** Puts the variables in the place of the ids. */
function withVariables(text: string): string {
  return ids.reduce((replaced, { variable, example }) => replaced.replaceAll(example, `{{${variable}}}`), text);
}

export function collectionOf({ info, paths, tags }: Document): object {
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    (["get", "post", "delete"] as const).flatMap((method) => {
      const operation = item[method];
      return operation ? [{ path, method, operation }] : [];
    }),
  );
  return {
    info: {
      name: info.title,
      description: `${info.summary}\n\nSet the variables: \`base_url\` is the gateway's address without \`/v1\`, \`api_key\` a key, \`admin_key\` a key with the administrator privilege.`,
      schema: "https://schema.getpostman.com/json/collection/v2.1.0/collection.json",
    },
    auth: bearer("api_key"),
    variable: [
      { key: "base_url", value: "http://127.0.0.1:8080", type: "string" },
      { key: "api_key", value: "", type: "string" },
      { key: "admin_key", value: "", type: "string" },
      ...ids.map(({ variable }) => ({ key: variable, value: "", type: "string" })),
    ],
    item: tags.map(({ name, description }): Item => {
      // What deletes comes last.
      const fitting = operations
        .filter(({ operation }) => operation.tags[0] === name)
        .sort((a, b) => Number(isDeletion(a.operation)) - Number(isDeletion(b.operation)));
      return { name, description, item: fitting.flatMap((one) => itemsOf(one.path, one.method, one.operation)) };
    }),
  };
}

function isDeletion({ operationId }: Operation): boolean {
  return operationId.startsWith("delete");
}

function bearer(variable: string): object {
  return { type: "bearer", bearer: [{ key: "token", value: `{{${variable}}}`, type: "string" }] };
}

/** Returns a request for each example of an operation. An example that is shown as a form is sent as one. */
function itemsOf(path: string, method: HttpMethod, operation: Operation): Item[] {
  const examples = Object.values(requestsOf(operation.operationId));
  const bodies: readonly (RequestExample | undefined)[] = examples.length > 0 ? examples : [undefined];
  return bodies.map((example) => ({
    name: [titleOf(operation), ...(example ? [lowerFirst(example.summary)] : [])].join(": "),
    request: {
      method: method.toUpperCase(),
      description: [operation.summary, operation.description].filter((text) => text).join(".\n\n"),
      ...authOf(operation),
      header: example && !example.form ? [{ key: "Content-Type", value: "application/json" }] : [],
      url: urlOf(path, operation),
      ...(example ? { body: bodyOf(example) } : {}),
    },
    ...keepsId(operation, example),
  }));
}

/** Returns the script that keeps the id of what a request has made. */
function keepsId({ operationId }: Operation, example: RequestExample | undefined): Pick<Item, "event"> {
  const made = ids.find(({ madeBy }) => madeBy === operationId);
  if (!made || example?.answer !== undefined) return {};
  const { variable, member } = made;
  const exec = [`pm.collectionVariables.set("${variable}", pm.response.json().${member});`];
  return { event: [{ listen: "test", script: { type: "text/javascript", exec } }] };
}

/** Says the name of an operation in words: "Create chat completion". */
function titleOf({ operationId }: Operation): string {
  const words = operationId.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}

/** Says where a request needs another credential than the collection's, or none. */
function authOf({ security }: Operation): object {
  if (security.some((scheme) => Object.keys(scheme).length === 0)) return { auth: { type: "noauth" } };
  return security.some((scheme) => scheme.bearer?.includes("administrator")) ? { auth: bearer("admin_key") } : {};
}

function urlOf(path: string, { operationId, parameters = [] }: Operation): object {
  const segments = path.slice(1).split("/");
  const written = segments.map((segment) => segment.replace(/^\{(\w+)\}$/, ":$1"));
  const values = parametersOf(operationId);
  const inPlace = parameters.filter((parameter): parameter is Parameter => "in" in parameter);
  const placed = (where: string) =>
    inPlace
      .filter((parameter) => parameter.in === where)
      .map(({ name, description }) => ({ key: name, value: withVariables(String(values[name] ?? "")), description }));
  // Parameters without an example are listed, and not sent until they are switched on.
  const query = placed("query").map((one) => (one.value === "" ? { ...one, disabled: true } : one));
  const sent = query.filter(({ value }) => value !== "").map(({ key, value }) => `${key}=${encodeURIComponent(value)}`);
  const variable = placed("path");
  return {
    raw: `{{base_url}}/${written.join("/")}${sent.length > 0 ? `?${sent.join("&")}` : ""}`,
    host: ["{{base_url}}"],
    path: written,
    ...(query.length > 0 ? { query } : {}),
    ...(variable.length > 0 ? { variable } : {}),
  };
}

function bodyOf({ value, form = false }: RequestExample): object {
  if (!form)
    return { mode: "raw", raw: withVariables(JSON.stringify(value, null, 2)), options: { raw: { language: "json" } } };
  const pairs = Object.entries(value).map(([key, member]) => ({
    key,
    value: withVariables(String(member)),
    type: "text",
  }));
  return { mode: "urlencoded", urlencoded: pairs };
}
