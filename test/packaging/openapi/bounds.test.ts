/**
 * A schema refuses what the gateway refuses, field by field: each field of each request is read at its bounds, beyond them, and with
 * another type.
 */
import type { DescMessage } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { KeyService } from "../../../gen/modelgateway/v1/keys_pb.ts";
import { requestsOf } from "../../../packaging/openapi/examples/examples.ts";
import type { JsonSchema } from "../../../packaging/openapi/schemas/json-schema.ts";
import { createValidate } from "../../../src/pipeline/check/validate.ts";
import type { JsonObject } from "../../../src/wire/json.ts";
import { Wire } from "../../../src/wire/wire.ts";
import { document, faultsOf, operationsIn } from "../../support/clients/openapi.ts";

const methods = [...InferenceService.methods, ...KeyService.methods];
const operations = operationsIn(document).filter(({ requestBody }) => requestBody);
const validate = createValidate();

/** Fields of key management that may be null, although unknown keys, null among them, are refused there. */
const mayBeNull = ["page_size", "page_token", "overlap_seconds"];

describe.each(operations.map((operation) => [operation.operationId, operation] as const))("%s", (id, operation) => {
  const [base = {}] = Object.values(requestsOf(id)).map(({ value }) => value);
  const schema = operation.requestBody?.content["application/json"]?.schema as JsonSchema;
  const { properties = {}, required = [], additionalProperties } = resolved(schema);
  const { unary, stream } = operation["x-rpc"] ?? {};
  const method = methods.find(({ parent, name }) => `${parent.typeName}/${name}` === (unary ?? stream));
  const refuses = (body: object) => isRefused(method?.input as DescMessage, body, additionalProperties === false);

  test.each(Object.keys(properties))("reads %s as its schema does", (key) => {
    const values = candidatesFor(properties[key] as JsonSchema);
    expect(values.length).toBeGreaterThan(5);
    for (const value of values) {
      if (value === null && mayBeNull.includes(key)) continue;
      const body = { ...base, [key]: value };
      expect([key, value, refuses(body)]).toEqual([key, value, faultsOf(schema, body).length > 0]);
    }
  });

  test("needs what the schema requires", () => {
    for (const key of required) {
      const { [key]: _, ...body } = base;
      expect([key, refuses(body), faultsOf(schema, body).length > 0]).toEqual([key, true, true]);
    }
    expect(refuses(Object.fromEntries(required.map((key) => [key, base[key]])))).toBe(false);
  });

  test("keeps or refuses unknown fields, as the schema says", () => {
    const body = { ...base, an_unknown_field: 1 };
    expect(faultsOf(schema, body).length > 0).toBe(refuses(body));
  });
});

/** Reports whether a request does not keep its contract. `isClosed`: it may have no unknown keys. */
function isRefused(desc: DescMessage, body: object, isClosed: boolean): boolean {
  try {
    const request = Wire.ofJson(desc, body as JsonObject);
    validate(request);
    const { extra } = request.message() as { extra?: object };
    return isClosed && extra !== undefined;
  } catch {
    return true;
  }
}

function resolved(schema: JsonSchema): JsonSchema {
  const name = schema.$ref?.split("/").at(-1);
  return name === undefined ? schema : resolved(document.components.schemas[name] as JsonSchema);
}

/** Returns values at the bounds of a field, beyond them, and of types that it has not. */
function candidatesFor(schema: JsonSchema): readonly unknown[] {
  const choices = (resolved(schema).anyOf ?? [schema]).map(resolved);
  const others = [null, true, { unknown: 1 }, [{ unknown: 1 }], [[[]]], ["a"], [1], 1.5, -1, "", "no such word", "1.5"];
  return [...choices.flatMap(atBounds), ...others];
}

function atBounds({ minimum, maximum, maxLength, maxItems, items, enum: words }: JsonSchema): unknown[] {
  const item = items && resolved(items);
  const longest = maxLength !== undefined && maxLength < 10_000 ? [maxLength, maxLength + 1] : [];
  const most = maxItems !== undefined && maxItems < 3_000 && item?.type === "string" ? [maxItems, maxItems + 1] : [];
  return [
    ...(minimum === undefined ? [] : [minimum, minimum - 1]),
    ...(maximum === undefined ? [] : [maximum, maximum + 1]),
    ...longest.map((length) => "é".repeat(length)),
    ...most.map((length) => new Array<string>(length).fill("embedded-chat")),
    ...(words ?? []),
  ];
}
