/**
 * The model endpoints by public path, from the HTTP rules of the contract: the operation of each, and the form of its answer.
 */
import { type DescMethod, hasOption } from "@bufbuild/protobuf";
import { http } from "../../../gen/google/api/annotations_pb.ts";
import { InferenceService } from "../../../gen/modelgateway/v1/inference_pb.ts";
import { type Form, type Operation, operations } from "../../call/operations.ts";
import { methodOption } from "../../runtime/method-option.ts";
import type { JsonObject } from "../../wire/json.ts";
import { accessOf } from "../admit/authorize.ts";

export interface Endpoint {
  readonly asked: Operation;
  /** The RPC whose input is the request. */
  readonly method: DescMethod;
  /** Returns the form of the answer to a request with this body. */
  formOf(body: JsonObject): Form;
}

/** endpointAt returns undefined for a path that is no model endpoint. */
export function endpointAt(path: string): Endpoint | undefined {
  return endpoints.get(path);
}

const endpoints = new Map(
  (Object.keys(operations) as Operation[]).flatMap((asked): (readonly [string, Endpoint])[] => {
    const methods = InferenceService.methods.filter(
      (method) => method.input === operations[asked].input && hasOption(method, http),
    );
    const [method] = methods;
    if (!method) return [];
    const whole = methods.find(({ methodKind }) => methodKind === "unary");
    const streamed = methods.find(({ methodKind }) => methodKind === "server_streaming");
    const { selectedBy } = streamed ? accessOf(streamed) : { selectedBy: "" };
    const formOf = (body: JsonObject): Form => {
      if (!whole || !streamed) return streamed ? "stream" : "whole";
      return body[selectedBy] === true ? "stream" : "whole";
    };
    return pathsOf(method).map((path) => [path, { asked, method, formOf }]);
  }),
);

function pathsOf(method: DescMethod): string[] {
  const rule = methodOption(method, http);
  return [rule, ...rule.additionalBindings].flatMap(({ pattern }) => (pattern.case === "post" ? [pattern.value] : []));
}
