/** What differs by its caller is stored by no cache on the way: answers to GET over every path, by HTTP/1.1 and HTTP/2, refusals too. */
import { once } from "node:events";
import { connect } from "node:http2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { matchPath } from "../../../src/doors/rest/path-template.ts";
import { compileRoutes } from "../../../src/doors/rest/routes.ts";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway?.close());

const { all } = compileRoutes([InferenceService, KeyService, UsageService]);
const templates = all.filter(({ httpMethod }) => httpMethod === "GET").map(({ template }) => template);
const paths = [
  ...["/v1/models", "/v1/models/embedded-chat", "/v1/models/absent", "/models", "/models/embedded-chat"],
  ...["/v1/responses/resp_1", "/responses/resp_1", "/v1/responses/resp_1/input_items", "/responses/resp_1/input_items"],
  ...["/v1/key", "/key"],
  ...["/api/v1/usage/requests.csv", "/", "/healthz", "/readyz", "/v1/nothing", "/v1/chat/completions"],
];

test("every path that is served has a row below", () => {
  const unasked = templates.filter((template) => !paths.some((path) => matchPath(template, path)));
  expect([unasked, templates.length > 5]).toEqual([[], true]);
});

describe.each(paths)("%s", (path) => {
  const credentials: Record<string, string>[] = [{}, { "x-api-key": "" }, { origin: "https://elsewhere.example" }];

  test.each(credentials)("by HTTP/1.1 with %j", async (more) => {
    for (const method of ["GET", "HEAD"]) {
      const headers = { authorization: `Bearer ${gateway.apiKey}`, ...more };
      const answer = await fetch(gateway.rootUrl + path, { method, headers });
      await answer.arrayBuffer();
      expect(answer.headers.get("cache-control"), method).toBe("no-store");
    }
  });

  test("by HTTP/2, and without a key", async () => {
    const session = connect(gateway.rootUrl);
    const stream = session.request({ ":path": path });
    const [head] = await once(stream, "response");
    await stream.toArray();
    session.close();
    expect(head["cache-control"]).toBe("no-store");
  });
});
