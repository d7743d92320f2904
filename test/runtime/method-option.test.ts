/** Options of RPCs are decoded once, and are what `getOption` decodes. */
import { getOption } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { http } from "../../gen/google/api/annotations_pb.ts";
import { access } from "../../gen/modelgateway/v1/access_pb.ts";
import { InferenceService } from "../../gen/modelgateway/v1/inference_pb.ts";
import { methodOption } from "../../src/runtime/method-option.ts";

test("each option of each RPC is its own, and the same at every look", () => {
  for (const method of InferenceService.methods) {
    expect(methodOption(method, access), method.name).toEqual(getOption(method, access));
    expect(methodOption(method, http), method.name).toEqual(getOption(method, http));
    expect(methodOption(method, access), method.name).toBe(methodOption(method, access));
    expect(methodOption(method, http), method.name).toBe(methodOption(method, http));
  }
});
