/** Writes the pages of the API's reference from gen/openapi.json: an overview, and a page a tag. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { Document, MediaType, Response } from "../../../packaging/openapi/openapi.ts";
import { table } from "../markdown.ts";
import { literal } from "./literals.ts";
import { type Api, type Operation, readApi, type Tag } from "./openapi.ts";
import { snippetsFor } from "./snippets.ts";
import { anchorFor, escaped, membersTable, reachable, type Schemas, typeText } from "./types.ts";

export interface ReferencePage {
  readonly title: string;
  /** The address below the site. */
  readonly address: string;
  readonly text: string;
}

export function referencePages(document: Document): ReferencePage[] {
  const api = readApi(document);
  const pages = api.tags.filter(({ operations }) => operations.length > 0);
  return [
    { title: "Overview", address: "/reference", text: overview(api) },
    ...pages.map((tag) => ({ title: tag.name, address: addressOf(tag), text: tagPage(tag, api.schemas) })),
  ];
}

function addressOf({ name }: Tag): string {
  return `/reference/${name.toLowerCase().replace(/\W+/g, "-")}`;
}

/** collection is the file of requests that the site offers. */
export const collection = "gen/collection/model-gateway.postman_collection.json";

function overview({ description, tags }: Api): string {
  const rows = tags.flatMap((tag) =>
    tag.operations.map(({ id, method, path, summary }) => [
      `[\`${method} ${path}\`](${addressOf(tag)}#${id.toLowerCase()})`,
      escaped(summary),
    ]),
  );
  return `# Reference

Every endpoint, with its request, its answers and examples. [API](/api) has headers, errors, retrying, idempotency and the cache.

The gateway serves the [OpenAPI document](/files/gen/openapi.json) that these pages are made from at \`/openapi.json\`.

${escaped(description)}

## The examples

They are written for a gateway at \`http://127.0.0.1:8080\` with its simulators, as \`model-gateway demo\` starts it. \`GATEWAY_API_KEY\` holds a key,
\`ADMIN_KEY\` one with the administrator's privilege; \`RESPONSE_ID\` and \`KEY_ID\` the ids of a kept response and of a key. As [a collection](/files/${collection}) they can be imported by Postman, Bruno, Insomnia
and Hoppscotch.

## All endpoints

${table(["endpoint", "what it does"], rows)}
`;
}

function tagPage(tag: Tag, schemas: Schemas): string {
  const operations = tag.operations.map((operation) => operationSection(operation, schemas)).join("\n");
  const own = new Set(
    tag.operations.flatMap(({ request }) => Object.values(request).map(({ schema }) => schema?.$ref)),
  );
  const types = reachable(tag.operations.flatMap(schemasOf), schemas)
    .filter((name) => !own.has(`#/components/schemas/${name}`) || isReferredTo(name, schemas))
    .map((name) => typeSection(name, schemas))
    .filter((text) => text !== "");
  const head = `---\noutline: 2\n---\n\n# ${tag.name}\n\n${escaped(tag.description)}. [All endpoints](/reference#all-endpoints).`;
  return [head, operations, ...types].join("\n\n");
}

/** Reports whether another schema refers to one: then it has a section, although its members are shown with its operation. */
function isReferredTo(name: string, schemas: Schemas): boolean {
  const text = `"#/components/schemas/${name}"`;
  return Object.entries(schemas).some(([other, schema]) => other !== name && JSON.stringify(schema).includes(text));
}

function schemasOf({ request, answers }: Operation) {
  const media = [
    ...Object.values(request),
    ...Object.values(answers).flatMap(({ content = {} }) => Object.values(content)),
  ];
  return media.flatMap(({ schema }) => (schema ? [schema] : []));
}

function typeSection(name: string, schemas: Schemas): string {
  const schema = schemas[name] ?? {};
  const isShown = schema.properties || schema.anyOf;
  if (!isShown) return "";
  const choices = schema.properties ? "" : `Either ${typeText(schema, schemas)}.`;
  const parts = [
    `## ${name} {#${anchorFor(name)}}`,
    escaped(schema.description ?? ""),
    choices,
    membersTable(schema, schemas),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

function operationSection(operation: Operation, schemas: Schemas): string {
  const { id, method, path, aliases, summary, description, rpc } = operation;
  const also = aliases.length === 0 ? "" : ` Also at ${aliases.map((alias) => `\`${alias}\``).join(", ")}.`;
  const rpcs = Object.values(rpc).map((name) => `\`${name}\``);
  const parts = [
    `## ${escaped(summary)} {#${id.toLowerCase()}}`,
    `**\`${method} ${path}\`**${also}${rpcs.length === 0 ? "" : ` By RPC: ${rpcs.join(", ")}.`}`,
    escaped(description),
    credentialText(operation),
    ...examples(operation),
    parametersText(operation, schemas),
    requestText(operation, schemas),
    answersText(operation, schemas),
  ];
  return `${parts.filter((part) => part !== "").join("\n\n")}\n`;
}

/** Returns a heading within an operation. Its anchor has the operation's name, for others have such headings, too. */
function heading(id: string, text: string): string {
  return `### ${text} {#${`${id} ${text}`.toLowerCase().replaceAll(" ", "-")}}`;
}

function credentialText({ security, isForAdministrators }: Operation): string {
  if (!security.includes("bearer")) return "Needs no key.";
  return isForAdministrators ? "Needs a key with the administrator's privilege." : "Needs an API key.";
}

/** Returns the first example and the streamed one in every language, and the bodies of the others. */
function examples(operation: Operation): string[] {
  const media = operation.request["application/json"];
  const written = Object.entries(media?.examples ?? {});
  if (media === undefined) return [codeGroup(operation, undefined)];
  const isInFull = (name: string, i: number) => i === 0 || name === "stream" || name === "events";
  return written.map(([name, { summary, value }], i) => {
    const title = written.length > 1 ? `**${escaped(summary ?? name)}**\n\n` : "";
    if (isInFull(name, i)) return `${title}${codeGroup(operation, value as JsonObject)}`;
    return `${title}${block("json", literal(value, "json"))}`;
  });
}

function codeGroup(operation: Operation, body: JsonObject | undefined): string {
  const tabs = snippetsFor(operation, body).map(({ title, language, code }) => block(`${language} [${title}]`, code));
  return `::: code-group\n\n${tabs.join("\n\n")}\n\n:::`;
}

function block(language: string, code: string): string {
  return `\`\`\`${language}\n${code}\n\`\`\``;
}

function parametersText({ id, parameters }: Operation, schemas: Schemas): string {
  const rows = parameters.map(({ name, in: place, required, description = "", schema = {} }) => [
    ...[`\`${name}\``, place, typeText(schema, schemas)],
    `${required && place !== "path" ? "**required.** " : ""}${escaped(description)}`,
  ]);
  return rows.length === 0 ? "" : `${heading(id, "Parameters")}\n\n${table(["name", "in", "type", "meaning"], rows)}`;
}

function requestText({ id, request }: Operation, schemas: Schemas): string {
  const [media] = Object.values(request);
  if (!media?.schema) return "";
  const schema = schemas[media.schema.$ref?.split("/").at(-1) ?? ""] ?? media.schema;
  const kinds = Object.keys(request).map((kind) => `\`${kind}\``);
  return `${heading(id, "Request")}\n\n${escaped(schema.description ?? "")} As ${kinds.join(", ")}.\n\n${membersTable(schema, schemas)}`;
}

function answersText({ id, answers }: Operation, schemas: Schemas): string {
  const good = Object.entries(answers).filter(([status]) => status.startsWith("2"));
  const bad = Object.entries(answers).filter(([status]) => !status.startsWith("2"));
  const parts = good.flatMap(([status, answer]) => goodAnswer(id, status, answer, schemas));
  const rows = bad.map(([status, { description = "" }]) => [
    status === "default" ? "other" : status,
    escaped(reasonsIn(description)),
  ]);
  const refusals = rows.length === 0 ? [] : [`${heading(id, "Refusals")}\n\n${table(["status", "why"], rows)}`];
  return [...parts, ...refusals].join("\n\n");
}

/** A list of reasons becomes one line of a table. */
function reasonsIn(description: string): string {
  return description.replace(/^- /gm, "").replace(/\n/g, " ");
}

function goodAnswer(
  id: string,
  status: string,
  { description = "", content = {} }: Response,
  schemas: Schemas,
): string[] {
  const kinds = Object.entries(content);
  const rows = kinds.map(([kind, { schema = {} }]) => [`\`${kind}\``, kindText(schema, schemas)]);
  const parts = [`${heading(id, `Answer ${status}`)}\n\n${escaped(description)}`];
  if (rows.length > 0) parts.push(table(["content type", "body"], rows));
  return [...parts, ...kinds.flatMap(([kind, media]) => answerExamples(kind, media))];
}

function kindText(schema: { readonly format?: string }, schemas: Schemas): string {
  return schema.format === "binary" ? "the file" : typeText(schema, schemas);
}

function answerExamples(kind: string, { examples: written = {} }: MediaType): string[] {
  const values = Object.values(written).filter(({ value }) => value !== undefined);
  const [first] = values;
  if (first === undefined) return [];
  if (kind === "application/json") return [block("json", literal(first.value, "json"))];
  if (kind !== "text/event-stream") return [];
  return [
    block(
      "text",
      values.map(({ value }) => `data: ${typeof value === "string" ? value : JSON.stringify(value)}`).join("\n\n…\n\n"),
    ),
  ];
}
