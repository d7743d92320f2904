/**
 * The collection of requests, as Postman's own library reads it: run one after another, each request is answered, and what one has
 * made is there for the next.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import postman, { type Item, type ItemGroup } from "postman-collection";
import { expect, test } from "vitest";
import { document, operationsIn } from "../../support/clients/openapi.ts";
import { hurriedClock, startTestGateway } from "../../support/gateway.ts";
import { root } from "../../support/pages.ts";

const file = join(root, "gen/collection/model-gateway.postman_collection.json");
const collection = new postman.Collection(JSON.parse(readFileSync(file, "utf8")) as object);

/** The requests in their order. */
function itemsOf({ items }: ItemGroup): Item[] {
  return items.all().flatMap((one) => ("items" in one ? itemsOf(one) : [one]));
}

test("runs from the first request to the last", async () => {
  const gateway = await startTestGateway({}, { admin: true, clock: hurriedClock() });
  const variables = new Map(
    collection.variables.all().map(({ key, value }): [string, string] => [key, String(value ?? "")]),
  );
  for (const key of ["api_key", "admin_key"]) variables.set(key, gateway.apiKey);
  variables.set("base_url", gateway.rootUrl);
  const faults: string[] = [];
  for (const item of itemsOf(collection)) {
    const response = await send(item, variables);
    const text = await response.text();
    if (response.status !== 200) faults.push(`${item.name}: ${response.status} ${text}`);
    else runScripts(item, text, variables);
  }
  expect(faults).toEqual([]);
  expect([variables.get("key_id"), variables.get("response_id")]).toEqual([
    expect.stringMatching(/^key_/),
    expect.stringMatching(/^resp_/),
  ]);
  await gateway.close("running");
});

test("has every operation of the document", () => {
  const sent = new Set(itemsOf(collection).map(({ request }) => `${request.method} /${request.url.path?.join("/")}`));
  const told = operationsIn(document).map(
    ({ path, httpMethod }) => `${httpMethod.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ":$1")}`,
  );
  expect([...sent].sort()).toEqual([...new Set(told)].sort());
});

/** Sends a request with its variables in place. */
function send(item: Item, variables: ReadonlyMap<string, string>): Promise<Response> {
  const filled = (text: string) => text.replaceAll(/\{\{(\w+)\}\}/g, (_, key: string) => variables.get(key) ?? "");
  const { method, url, headers, body } = item.request;
  const token = item.getAuth()?.parameters().get("token");
  const address = filled(
    url.toString().replace(/:id\b/, encodeURIComponent(filled(String(url.variables.get("id") ?? "")))),
  );
  const form =
    body?.mode === "urlencoded"
      ? body.urlencoded?.all().map(({ key, value }): [string, string] => [key, filled(String(value))])
      : [];
  return fetch(address, {
    method,
    headers: {
      ...headers.toObject(),
      ...(token === undefined ? {} : { authorization: `Bearer ${filled(String(token))}` }),
    },
    ...(body?.mode === "raw" ? { body: filled(body.raw ?? "") } : {}),
    ...(body?.mode === "urlencoded" ? { body: new URLSearchParams(form) } : {}),
  });
}

/** Runs the scripts after a request, with what they use of Postman's interface. */
function runScripts(item: Item, answer: string, variables: Map<string, string>): void {
  const pm = {
    response: { json: () => JSON.parse(answer) as unknown },
    collectionVariables: { set: (key: string, value: string) => void variables.set(key, value) },
  };
  for (const { script } of item.events.all()) runInNewContext((script.exec ?? []).join("\n"), { pm });
}
