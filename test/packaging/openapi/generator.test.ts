/**
 * The generator says in the document what a proto says, in the words of the public wire, and stops where it cannot.
 */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { documentOf } from "../../../packaging/openapi/document.ts";
import type { Document } from "../../../packaging/openapi/openapi.ts";
import { readImage } from "../../../packaging/openapi/protos/image.ts";
import { root } from "../../support/pages.ts";

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "protos-"));
  mkdirSync(join(folder, "proto/modelgateway/v1"), { recursive: true });
  cpSync(join(root, "third_party"), join(folder, "third_party"), { recursive: true });
  for (const name of ["access", "wire", "errors", "reasons"]) {
    const path = `proto/modelgateway/v1/${name}.proto`;
    cpSync(join(root, path), join(folder, path));
  }
  writeFileSync(
    join(folder, "buf.yaml"),
    "version: v2\nmodules:\n  - path: proto\n  - path: third_party/googleapis\n  - path: third_party/protovalidate\n",
  );
});

afterAll(() => rmSync(folder, { recursive: true }));

/** Makes the document of a service with one RPC, whose request has these fields. `caller` is who may call it. */
function documentWith(
  fields: string,
  caller = "CALLER_KEY",
  answer = "string id = 1 [(wire).always = true];",
): Document {
  writeFileSync(join(folder, "proto/modelgateway/v1/things.proto"), thingsProto(fields, caller, answer));
  return documentOf(readImage(folder), "1.2.3");
}

function thingsProto(fields: string, caller: string, answer: string): string {
  return `// Things: what the test makes. Source: a standard, "Things".
syntax = "proto3";
package modelgateway.v1;
import "buf/validate/validate.proto";
import "google/api/annotations.proto";
import "google/protobuf/struct.proto";
import "modelgateway/v1/access.proto";
import "modelgateway/v1/errors.proto";
import "modelgateway/v1/wire.proto";

// ThingService makes things.
service ThingService {
  // Makes a thing. Source: a standard, "Make a thing". RPC callers do it otherwise. Refuses with NOT_FOUND.
  //
  // Twice.
  rpc MakeThing(MakeThingRequest) returns (Thing) {
    option (google.api.http) = { post: "/v1/things", body: "*" };
    option (access) = { family: FAMILY_OPENAI, caller: ${caller} };
  }
}

// MakeThingRequest asks for a thing.
message MakeThingRequest {
  ${fields}
}

// Colour is a colour.
enum Colour {
  // Never sent.
  COLOUR_UNSPECIFIED = 0;
  // As blood.
  COLOUR_RED = 1 [(word) = "red"];
}

// Thing is a thing.
message Thing {
  ${answer}
}

// Uses is there so that the reasons are.
message Uses {
  Reason reason = 1;
}
`;
}

const extra = "optional google.protobuf.Struct extra = 100 [(wire).extra = true];";
const requestOf = ({ components }: Document) => components.schemas.MakeThingRequest;

describe("a comment", () => {
  test("of an operation is its summary and description, without what is not for its callers", () => {
    const { post } = documentWith("").paths["/v1/things"] ?? {};
    expect([post?.operationId, post?.tags, post?.summary, post?.description]).toEqual([
      ...["makeThing", ["Things"], "Makes a thing", "Refuses with 404.\n\nTwice."],
    ]);
  });

  test("of a file describes its tag", () => {
    expect(documentWith("").tags[0]).toEqual({ name: "Things", description: "Things: what the test makes" });
  });

  test("of a field names values as they are written", () => {
    const field = "// Its colour, not RED nor BLUE.\n optional Colour colour = 1;";
    expect(requestOf(documentWith(field))?.properties?.colour?.description).toBe("Its colour, not `red` nor BLUE.");
  });

  test("of an amount says it in units, and the amount is a decimal", () => {
    const field =
      "// What it costs, in millionths of the unit.\n int64 cost = 1 [(wire).always = true, (wire).decimals = 6];";
    const { Thing } = documentWith("", undefined, field).components.schemas;
    expect(Thing?.properties?.cost).toEqual({
      description: "What it costs, in units.",
      type: "string",
      pattern: "^-?\\d+(\\.\\d{1,6})?$",
    });
    expect(Thing?.required).toEqual(["cost"]);
  });
});

describe("a field", () => {
  test("that is required is not null, and others may be where unknown keys are kept", () => {
    const fields = `optional string a = 1 [(buf.validate.field).required = true]; optional uint32 b = 2; ${extra}`;
    expect(requestOf(documentWith(fields))).toEqual({
      description: "Asks for a thing.",
      type: "object",
      properties: {
        a: { type: "string" },
        b: { type: ["integer", "null"], minimum: 0, maximum: 4294967295 },
      },
      required: ["a"],
      additionalProperties: true,
    });
  });

  test("of an open enum takes its words and any other", () => {
    const { properties } = requestOf(documentWith(`optional Colour colour = 1 [(wire).open = true]; ${extra}`)) ?? {};
    expect(properties?.colour).toEqual({
      anyOf: [{ $ref: "#/components/schemas/Colour" }, { type: "string" }, { type: "null" }],
    });
  });

  test("that is a oneof is one of its members", () => {
    const oneof = "oneof stop { option (untagged) = true; string text = 1; bool all = 2; }";
    expect(requestOf(documentWith(oneof))?.properties?.stop).toEqual({
      anyOf: [{ type: "string" }, { type: "boolean" }, { type: "null" }],
    });
  });

  test("has the bounds of its annotation, beyond them or not", () => {
    const fields = `
      optional double a = 1 [(buf.validate.field).double = { gt: 0, lt: 1 }];
      repeated string b = 2 [(buf.validate.field).repeated = { max_items: 3, items: { string: { min_len: 1 } } }];`;
    expect(requestOf(documentWith(fields))?.properties).toEqual({
      a: { type: ["number", "null"], exclusiveMinimum: 0, exclusiveMaximum: 1 },
      b: { type: ["array", "null"], items: { type: "string", minLength: 1 }, maxItems: 3 },
    });
  });
});

describe("stops where the document would say less than the proto:", () => {
  const rules: Readonly<Record<string, readonly [string, RegExp]>> = {
    "a rule that it does not know": ['(buf.validate.field).string.prefix = "x"', /rule `prefix`/],
    "a format": ["(buf.validate.field).string.email = true", /rule `wellKnown`/],
    "a rule in CEL": ['(buf.validate.field).cel = { id: "x", expression: "true" }', /a rule in CEL/],
    "a category of Unicode": ['(buf.validate.field).string.pattern = "^\\\\p{L}$"', /a pattern/],
  };

  test.each(Object.entries(rules))("%s", (_, [rule, message]) => {
    expect(() => documentWith(`optional string a = 1 [${rule}];`)).toThrow(message);
  });

  test("a caller without a scheme", () => {
    expect(() => documentWith("", "CALLER_SESSION")).toThrow(/no security/);
  });

  test("protos that do not compile", () => {
    expect(() => documentWith("optional Nothing a = 1;")).toThrow(/Nothing|buf/);
  });
});
