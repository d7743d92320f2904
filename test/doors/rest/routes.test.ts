/**
 * Public paths come from the annotations in the protos: what a template matches, which RPC a request reaches, and which annotations
 * stop the start.
 */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createFileRegistry, type DescService, type FileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { beforeAll, describe, expect, test } from "vitest";
import { Family } from "../../../gen/modelgateway/v1/access_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { compilePath, matchPath } from "../../../src/doors/rest/path-template.ts";
import { compileRoutes } from "../../../src/doors/rest/routes.ts";

describe("a path template", () => {
  const matching: [template: string, path: string, variables: Record<string, string>][] = [
    ["/v1/models", "/v1/models", {}],
    ["/v1/*/models", "/v1/any/models", {}],
    ["/v1/**", "/v1/a/b/c", {}],
    ["/v1/models/{id}", "/v1/models/embedded-chat", { id: "embedded-chat" }],
    ["/v1/models/{id}", "/v1/models/vendor:model@2", { id: "vendor:model@2" }],
    ["/v1/models/{id}", "/v1/models/vendor%2Fmodel", { id: "vendor/model" }],
    ["/v1/models/{id}", "/v1/models/%E4%B8%96%20%F0%9F%91%8B", { id: "世 👋" }],
    ["/v1/models/{id}", "/v1/models/a+b", { id: "a+b" }],
    ["/v1/models/{id=**}", "/v1/models/model", { id: "model" }],
    ["/v1/models/{id=**}", "/v1/models/vendor/family/model", { id: "vendor/family/model" }],
    ["/v1/models/{id=**}", "/v1/models/vendor%2Ffamily/model", { id: "vendor/family/model" }],
    ["/v1/{name=keys/*}", "/v1/keys/k1", { name: "keys/k1" }],
    ["/v1/{name=keys/*}/uses/{use}", "/v1/keys/k1/uses/u2", { name: "keys/k1", use: "u2" }],
    ["/v1/{parent=accounts/*}/{rest=keys/**}", "/v1/accounts/a/keys/k/l", { parent: "accounts/a", rest: "keys/k/l" }],
    ["/v1/keys/{id}:revoke", "/v1/keys/k1:revoke", { id: "k1" }],
    ["/v1/models/{id=**}:count", "/v1/models/vendor/m:free:count", { id: "vendor/m:free" }],
    ["/v1/models:refresh", "/v1/models:refresh", {}],
  ];
  for (const [template, path, variables] of matching) {
    test(`${template} matches ${path}`, () => {
      expect(matchPath(compilePath(template), path)).toEqual(variables);
    });
  }

  const missing: [template: string, path: string][] = [
    ["/v1/models", "/v1/models/"],
    ["/v1/models", "/v1/Models"],
    ["/v1/models", "/v1"],
    ["/v1/models/{id}", "/v1/models"],
    ["/v1/models/{id}", "/v1/models/"],
    ["/v1/models/{id}", "/v1/models/vendor/model"],
    ["/v1/models/{id}", "/v1/models/%zz"],
    ["/v1/models/{id}", "/v1/models/%ff"],
    ["/v1/models/{id=**}", "/v1/models"],
    ["/v1/models/{id=**}", "/v1/models/"],
    ["/v1/{name=keys/*}", "/v1/locks/k1"],
    ["/v1/keys/{id}:revoke", "/v1/keys/k1"],
    ["/v1/keys/{id}:revoke", "/v1/keys/:revoke"],
    ["/v1/keys/{id}:revoke", "/v1/keys/k1:revoked"],
    ["/v1/*/models", "/v1//models"],
  ];
  for (const [template, path] of missing) {
    test(`${template} does not match ${path}`, () => {
      expect(matchPath(compilePath(template), path)).toBeUndefined();
    });
  }

  const wrong = [
    ...["", "/", "v1/models", "//v1", "/v1//models", "/v1/models/", "/v1/models/:verb", "/v1/mo*els", "/v1/a=b"],
    ...[
      "/v1/{id",
      "/v1/id}",
      "/v1/{}",
      "/v1/{id=}",
      "/v1/{Id}",
      "/v1/{2}",
      "/v1/{a.b}",
      "/v1/{id=a//b}",
      "/v1/{id={x}}",
    ],
    ...["/v1/x{id}", "/v1/{id}x", "/v1/{id}{name}", "/v1/{id}/{id}", "/v1/**/x", "/v1/{id=**}/x", "/v1/**/**"],
  ];
  for (const template of wrong) {
    test(`"${template}" is refused`, () => {
      expect(() => compilePath(template)).toThrow(`path template ${template}: `);
    });
  }
});

describe("the model endpoints", () => {
  const routes = compileRoutes([InferenceService]);

  test("share the path of chat completions, and the body's `stream` selects one", () => {
    expect(routes.find("POST", "/v1/chat/completions")).toMatchObject({
      kind: "found",
      variables: {},
      route: {
        unary: { name: "CreateChatCompletion" },
        stream: { name: "StreamChatCompletion" },
        selectedBy: "stream",
      },
    });
  });

  test("have the methods of a path", () => {
    expect(routes.find("GET", "/v1/chat/completions")).toEqual({ kind: "method", allowed: ["POST"] });
  });

  test("give their family to the paths near them, where they agree", () => {
    const near = compileRoutes([InferenceService, KeyService]).familyNear;
    const families: Readonly<Record<string, Family>> = {
      "/v1/messages": Family.ANTHROPIC,
      "/v1/messages/": Family.ANTHROPIC,
      "/v1/messages/batches": Family.ANTHROPIC,
      "/messages/x": Family.ANTHROPIC,
      "/v1/chat": Family.OPENAI,
      "/v1/message": Family.OPENAI,
      "/v1": Family.OPENAI,
      "/v1/nope": Family.OPENAI,
      "/": Family.OPENAI,
      "": Family.OPENAI,
      "/api": Family.ADMIN,
      "/api/": Family.ADMIN,
      "/api/v1/nope": Family.ADMIN,
      "/api/v2": Family.ADMIN,
      "/api/v1/user/admin/get-api-tokens/x": Family.ADMIN,
      "/apix": Family.OPENAI,
      "/API/v1": Family.OPENAI,
    };
    for (const [path, family] of Object.entries(families)) expect(near(path), path).toBe(family);
    expect([near("/v1/models/a/b", true), near("/v1/models/a/b"), near("/api/v1/nope", true)]).toEqual([
      ...[Family.ANTHROPIC, Family.OPENAI, Family.ADMIN],
    ]);
  });

  test("have no other path", () => {
    for (const path of ["/", "/v1/chat", "/v1/chat/completions/", "/v1/chat%2Fcompletions", "/V1/chat/completions"]) {
      expect(routes.find("POST", path), path).toEqual({ kind: "none" });
    }
  });
});

/** One service a case: what would be in it, were it one of ours. */
const protos: Readonly<Record<string, string>> = {
  Sound: `
    rpc Get(Ask) returns (Reply) {
      option (google.api.http) = {get: "/v1/things/{id=**}"};
      ${accessOf()}
    }
    rpc Fixed(Ask) returns (Reply) {
      option (google.api.http) = {
        post: "/v1/things/fixed" body: "*"
        additional_bindings {put: "/v1/things/fixed" body: "*"}
        additional_bindings {post: "/things/fixed" body: "*"}
      };
      ${accessOf()}
    }
    rpc Follow(Ask) returns (stream Reply) {
      option (google.api.http) = {post: "/v1/follow" body: "*"};
      ${accessOf()}
    }
    rpc Inside(Ask) returns (Reply) {option (access) = {caller: CALLER_KEY};}`,
  Clash: `
    rpc First(Ask) returns (Reply) {${http("/v1/{id}/things")} ${accessOf()}}
    rpc Second(Ask) returns (Reply) {${http("/v1/{name}/things")} ${accessOf()}}`,
  StreamClash: `
    rpc First(Ask) returns (stream Reply) {${http("/v1/things")} ${accessOf()}}
    rpc Second(Ask) returns (stream Reply) {${http("/v1/things")} ${accessOf()}}`,
  OtherFamily: `
    rpc First(Ask) returns (Reply) {${http("/v1/things")} ${accessOf()}}
    rpc Second(Ask) returns (stream Reply) {
      ${http("/v1/things")}
      option (access) = {family: 99 caller: CALLER_KEY selected_by: "stream"};
    }`,
  UnselectedTwin: twin("Ask", accessOf()),
  UnknownSelector: twin("Ask", accessOf('selected_by: "streaming"')),
  TextSelector: twin("Ask", accessOf('selected_by: "name"')),
  OtherRequest: twin("OtherAsk", accessOf('selected_by: "stream"')),
  OtherCaller: twin("Ask", 'option (access) = {family: FAMILY_OPENAI caller: 99 selected_by: "stream"};'),
  UnknownVariable: `rpc Get(Ask) returns (Reply) {${http("/v1/{key}")} ${accessOf()}}`,
  NoAccess: `rpc Get(Ask) returns (Reply) {${http("/v1/things")}}`,
  NoAccessInside: "rpc Get(Ask) returns (Reply);",
  NoFamily: `rpc Get(Ask) returns (Reply) {${http("/v1/things")} option (access) = {caller: CALLER_KEY};}`,
  NoBody: `rpc Get(Ask) returns (Reply) {option (google.api.http) = {post: "/v1/things"}; ${accessOf()}}`,
  PartBody: `rpc Get(Ask) returns (Reply) {option (google.api.http) = {post: "/v1/x" body: "name"}; ${accessOf()}}`,
  NoPath: `rpc Get(Ask) returns (Reply) {option (google.api.http) = {body: "*"}; ${accessOf()}}`,
  CustomMethod: `
    rpc Get(Ask) returns (Reply) {
      option (google.api.http) = {custom: {kind: "LOCK" path: "/v1/things"} body: "*"};
      ${accessOf()}
    }`,
  BadTemplate: `rpc Get(Ask) returns (Reply) {${http("/v1/{id=**}/things")} ${accessOf()}}`,
  Rival: `rpc Take(Ask) returns (Reply) {${http("/v1/chat/completions")} ${accessOf()}}`,
  Managed: `
    rpc List(Ask) returns (Listed) {${http("/api/v1/things")} ${adminOf('data_field: "things" done: "Listed."')}}
    rpc Table(Ask) returns (stream Reply) {
      option (google.api.http) = {get: "/api/v1/things.csv"};
      ${adminOf('body_field: "csv"')}
    }`,
  NoData: `rpc List(Ask) returns (Listed) {${http("/api/v1/x")} ${adminOf('done: "Listed."')}}`,
  UnknownData: `rpc List(Ask) returns (Listed) {${http("/api/v1/x")} ${adminOf('data_field: "thing" done: "Listed."')}}`,
  NoWords: `rpc List(Ask) returns (Listed) {${http("/api/v1/x")} ${adminOf('data_field: "things"')}}`,
  TakenKey: `rpc List(Ask) returns (Noted) {${http("/api/v1/x")} ${adminOf('data_field: "things" done: "Listed."')}}`,
  ManagedStream: `rpc Follow(Ask) returns (stream Listed) {${http("/api/v1/x")} ${adminOf('data_field: "things" done: "."')}}`,
  ClientStream: `rpc Send(stream Ask) returns (Reply) {${http("/v1/things")} ${accessOf()}}`,
};

function http(path: string): string {
  return `option (google.api.http) = {post: "${path}" body: "*"};`;
}

function accessOf(more = ""): string {
  return `option (access) = {family: FAMILY_OPENAI caller: CALLER_KEY ${more}};`;
}

function adminOf(more: string): string {
  return `option (access) = {family: FAMILY_ADMIN caller: CALLER_ADMIN_KEY ${more}};`;
}

function twin(request: string, access: string): string {
  return `
    rpc Whole(Ask) returns (Reply) {${http("/v1/things")} ${accessOf()}}
    rpc Pieces(${request}) returns (stream Reply) {${http("/v1/things")} ${access}}`;
}

const file = `
syntax = "proto3";
package modelgateway.v1;
import "google/api/annotations.proto";
import "modelgateway/v1/access.proto";
message Ask {string id = 1; string name = 2; bool stream = 3;}
message OtherAsk {string id = 1; string name = 2; bool stream = 3;}
message Reply {}
message Listed {repeated string things = 1; string next = 2;}
message Noted {repeated string things = 1; string message = 2;}
${Object.entries(protos)
  .map(([name, rpcs]) => `service ${name} {${rpcs}\n}`)
  .join("\n")}`;

describe("an annotation", () => {
  let registry: FileRegistry;

  // Compiled as our own are, beside our own.
  beforeAll(async () => {
    const project = join(import.meta.dirname, "../../..");
    const dir = await mkdtemp(join(tmpdir(), "routes-test-"));
    try {
      for (const part of ["proto", "third_party", "buf.yaml"]) {
        await cp(join(project, part), join(dir, part), { recursive: true });
      }
      await writeFile(join(dir, "proto/modelgateway/v1/routes_test.proto"), file);
      await promisify(execFile)(join(project, "node_modules/.bin/buf"), ["build", "-o", "set.binpb"], { cwd: dir });
      registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(join(dir, "set.binpb"))));
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  const routesOf = (name: string) => compileRoutes([registry.getService(`modelgateway.v1.${name}`) as DescService]);

  test("serves every path that it names", () => {
    const routes = routesOf("Sound");
    for (const [method, path, rpc] of [
      ["POST", "/v1/things/fixed", "Fixed"],
      ["PUT", "/v1/things/fixed", "Fixed"],
      ["POST", "/things/fixed", "Fixed"],
    ] as const) {
      expect(routes.find(method, path), path).toMatchObject({ kind: "found", route: { unary: { name: rpc } } });
    }
    expect(routes.find("POST", "/v1/follow")).toMatchObject({ kind: "found", route: { stream: { name: "Follow" } } });
    expect(routes.all.map(({ template }) => template.text)).not.toContain("/inside");
  });

  test("names the data of key management's envelope, which bytes do not have", () => {
    const routes = routesOf("Managed");
    const envelope = { dataField: "things", message: "Listed." };
    expect(routes.find("POST", "/api/v1/things")).toMatchObject({ kind: "found", route: { envelope } });
    const [table] = routes.all.filter(({ stream }) => stream);
    expect(table).toMatchObject({ bodyField: "csv", httpMethod: "GET" });
    expect(table?.envelope).toBeUndefined();
    expect(routesOf("Sound").all.filter((route) => route.envelope)).toEqual([]);
  });

  test("yields to a fixed path, except for the methods that only it has", () => {
    const routes = routesOf("Sound");
    const found = { kind: "found", variables: { id: "fixed" }, route: { unary: { name: "Get" } } };
    expect(routes.find("GET", "/v1/things/fixed")).toMatchObject(found);
    expect(routes.find("DELETE", "/v1/things/fixed")).toEqual({
      kind: "method",
      allowed: ["POST", "PUT", "GET", "HEAD"],
    });
    expect(routes.find("DELETE", "/v1/things/else")).toEqual({ kind: "method", allowed: ["GET", "HEAD"] });
  });

  const stopping: Record<string, { service: string; rpcs: readonly string[]; words: string }> = {
    "a path that another RPC has": { service: "Clash", rpcs: ["Second", "First"], words: "clashes" },
    "a stream at the path of another": { service: "StreamClash", rpcs: ["Second", "First"], words: "clashes" },
    "a twin of another family": { service: "OtherFamily", rpcs: ["Second", "First"], words: "clashes" },
    "a twin without `selected_by`": { service: "UnselectedTwin", rpcs: ["Pieces"], words: "`selected_by`" },
    "a twin that an unknown field selects": { service: "UnknownSelector", rpcs: ["Pieces"], words: '"streaming"' },
    "a twin that a text selects": { service: "TextSelector", rpcs: ["Pieces"], words: "boolean" },
    "a twin with another request": { service: "OtherRequest", rpcs: ["Pieces", "Whole"], words: "not its request" },
    "a twin for other callers": { service: "OtherCaller", rpcs: ["Pieces", "Whole"], words: "not its callers" },
    "a path variable that is no field": { service: "UnknownVariable", rpcs: ["Get"], words: "{key}" },
    "an RPC at a path that nobody is said to call": { service: "NoAccess", rpcs: ["Get"], words: "who may call" },
    "an RPC that nobody is said to call": { service: "NoAccessInside", rpcs: ["Get"], words: "who may call" },
    "a path without a family": { service: "NoFamily", rpcs: ["Get"], words: "no family" },
    "a rule without a body": { service: "NoBody", rpcs: ["Get"], words: 'body is not "*"' },
    "a rule with a part as body": { service: "PartBody", rpcs: ["Get"], words: 'body is not "*"' },
    "a rule without a path": { service: "NoPath", rpcs: ["Get"], words: "without a method" },
    "a method of its own": { service: "CustomMethod", rpcs: ["Get"], words: "without a method" },
    "a template that is none": { service: "BadTemplate", rpcs: ["Get"], words: "path template /v1/{id=**}/things" },
    "an envelope without data": { service: "NoData", rpcs: ["List"], words: "`data_field`" },
    "an envelope whose data is no field": { service: "UnknownData", rpcs: ["List"], words: 'no field "thing"' },
    "an envelope without words": { service: "NoWords", rpcs: ["List"], words: "`done`" },
    "an envelope that hides a field": { service: "TakenKey", rpcs: ["List"], words: 'a field "message"' },
    "a stream that has no envelope": { service: "ManagedStream", rpcs: ["Follow"], words: "`body_field`" },
    "requests as a stream": { service: "ClientStream", rpcs: ["Send"], words: "requests are a stream" },
  };
  for (const [name, { service, rpcs, words }] of Object.entries(stopping)) {
    test(`stops the start with ${name}`, () => {
      expect(() => routesOf(service)).toThrow(words);
      for (const rpc of rpcs) expect(() => routesOf(service)).toThrow(`modelgateway.v1.${service}.${rpc}`);
    });
  }

  test("stops the start where another service claims a path", () => {
    const rival = registry.getService("modelgateway.v1.Rival") as DescService;
    expect(() => compileRoutes([InferenceService, rival])).toThrow("modelgateway.v1.Rival.Take");
    expect(() => compileRoutes([InferenceService, rival])).toThrow("InferenceService.CreateChatCompletion");
  });
});
