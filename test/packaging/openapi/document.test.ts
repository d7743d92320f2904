/**
 * The OpenAPI document is valid, is made of the protos as they are, and has every path, reason and header of the gateway, and nothing
 * that is not there.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { UsageService } from "../../../gen/modelgateway/v1/usage_pb.ts";
import { documentOf } from "../../../packaging/openapi/document.ts";
import { elsewhere } from "../../../packaging/openapi/operations/errors.ts";
import * as headers from "../../../packaging/openapi/operations/headers.ts";
import { publicPath } from "../../../packaging/openapi/operations/names.ts";
import { ownPaths } from "../../../packaging/openapi/own-paths.ts";
import { readImage } from "../../../packaging/openapi/protos/image.ts";
import { Reason, reasonWord } from "../../../src/call/refusals.ts";
import { compileRoutes } from "../../../src/doors/rest/routes.ts";
import { document, operationsIn } from "../../support/clients/openapi.ts";
import { codesIn, root } from "../../support/pages.ts";

const text = JSON.stringify(document);

test("is valid OpenAPI 3.1", async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(asSpecification(document));
  expect(errors ?? []).toEqual([]);
  expect([valid, validator.version]).toEqual([true, "3.1"]);
});

test("is found invalid where it is not", async () => {
  const { paths, ...others } = document;
  const broken = { ...others, paths: { ...paths, "/v1/embeddings": { post: { responses: [] } } } };
  expect((await new Validator().validate(asSpecification(broken))).valid).toBe(false);
});

test("is made of the protos as they are", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string };
  const made = documentOf(readImage(root), version);
  expect(JSON.parse(JSON.stringify(made)), "`npm run generate` renews it").toEqual(document);
});

describe("paths", () => {
  const routes = compileRoutes([InferenceService, KeyService, UsageService]).all;

  test("are those of the routes, with their aliases, and the gateway's own", () => {
    const served = routes.map((route) => `${route.httpMethod} ${publicPath(route)}`);
    const told = Object.entries(document.paths).flatMap(
      ([path, { get, post, delete: remove, "x-aliases": also = [] }]) => {
        const methods = Object.entries({ GET: get, POST: post, DELETE: remove }).filter(([, operation]) => operation);
        return [path, ...also].flatMap((one) => methods.map(([method]) => `${method} ${one}`));
      },
    );
    const own = Object.keys(ownPaths).map((path) => `GET ${path}`);
    expect(told.sort()).toEqual([...served, ...own].sort());
  });

  test("have patterns that all languages know", () => {
    const patterns = [...text.matchAll(/"pattern":("(?:[^"\\]|\\.)*")/g)].map(
      ([, one = ""]) => JSON.parse(one) as string,
    );
    expect(patterns.length).toBeGreaterThan(3);
    expect(patterns.filter((pattern) => /\\[pPuk]|\(\?/.test(pattern))).toEqual([]);
  });
});

describe("operations", () => {
  const operations = operationsIn(document);

  test("have names of their own, a summary, and a tag that is described", () => {
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    const tags = new Set(document.tags.map(({ name }) => name));
    const faulty = operations.filter(({ summary, tags: [tag = ""] }) => summary.length < 10 || !tags.has(tag));
    expect(faulty).toEqual([]);
    expect(document.tags.filter(({ description }) => description.length < 10)).toEqual([]);
  });

  test("name the RPCs behind them", () => {
    const rpcs = operations.flatMap(({ "x-rpc": rpc = {} }) => Object.values(rpc));
    const methods = [InferenceService, KeyService, UsageService].flatMap((service) => service.methods);
    const paths = methods.map((method) => `${method.parent.typeName}/${method.name}`);
    expect(rpcs.filter((rpc) => !paths.includes(rpc))).toEqual([]);
    expect(rpcs).toContain("modelgateway.v1.InferenceService/StreamChatCompletion");
  });

  test("that a model answers and those of keys have examples of requests and answers", () => {
    const bare = operations.filter(({ requestBody, responses, tags: [tag] }) => {
      const content = { ...(responses["200"] as { content?: Record<string, { examples?: object }> }).content };
      const isBytes = Object.keys(content).some((type) => /^(audio|text)\//.test(type));
      const lacksBody = requestBody && !requestBody.content["application/json"]?.examples;
      return tag !== "Gateway" && (lacksBody || !(isBytes || content["application/json"]?.examples));
    });
    expect(bare.map(({ operationId }) => operationId)).toEqual([]);
  });
});

test("refers to what is there, and has nothing to which nothing refers", () => {
  const refs = new Set([...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = ""]) => ref));
  for (const ref of refs) expect(pointed(ref), ref).toBeDefined();
  const { schemas, responses, parameters, headers: told } = document.components;
  for (const [kind, all] of Object.entries({ schemas, responses, parameters, headers: told })) {
    expect(Object.keys(all).filter((name) => !refs.has(`#/components/${kind}/${name}`))).toEqual([]);
  }
});

test("tells every reason for which a call is refused", () => {
  const told = new Set(Object.values(document.components.responses).flatMap(({ description }) => codesIn(description)));
  const reasons = Object.values(Reason).filter((reason) => typeof reason === "number");
  const expected = reasons.filter((reason) => !elsewhere.includes(reason) || reason === Reason.UPSTREAM_REFUSED);
  expect(expected.map(reasonWord).filter((word) => !told.has(word))).toEqual([]);
  expect(elsewhere.map(reasonWord).filter((word) => told.has(word))).toEqual(["UPSTREAM_REFUSED"]);
});

describe("headers", () => {
  const [requests = [], answers = []] = (() => {
    const page = readFileSync(join(root, "docs/api.md"), "utf8");
    return ["## Request headers", "## Answer headers"].map((title) => {
      const section = page.split(title)[1]?.split("\n## ")[0] ?? "";
      return [...section.matchAll(/^\| (`[^|]*)\|/gm)].flatMap(([, names = ""]) => codesIn(names));
    });
  })();

  test("of requests are those of the manual", () => {
    expect(requests.length).toBeGreaterThan(5);
    // Part of a credential, or what proxies add.
    const others = ["x-gateway-key", "x-gateway-session"];
    const expected = requests.filter((name) => !others.includes(name) && !name.startsWith("x-forwarded-"));
    expect(Object.keys(document.components.parameters).sort()).toEqual(expected.sort());
    const schemes = Object.values(document.components.securitySchemes as Record<string, { name?: string }>);
    expect(schemes.map(({ name }) => name)).toEqual(expect.arrayContaining([...others, "x-api-key"]));
  });

  test("of answers are those of the manual", () => {
    const ofErrors = ["www-authenticate", "accept-encoding"];
    const told = Object.keys(document.components.headers).filter((name) => !ofErrors.includes(name));
    const expected = answers.filter((name) => !/^(hit|miss|true|false|queue|upstream|gateway)$|[= ]/.test(name));
    expect(told.sort()).toEqual([...new Set([...expected, "request-id", "age"])].sort());
    expect(Object.keys(headers.refusalHeaders)).toEqual(expect.arrayContaining(ofErrors));
  });
});

/** Returns a copy, because the validator changes what it reads. */
function asSpecification(value: object): Record<string, unknown> {
  return structuredClone(value) as Record<string, unknown>;
}

function pointed(ref: string): unknown {
  const steps = decodeURIComponent(ref.slice(2)).split("/");
  const names = steps.map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], document);
}
