/** Tells which operation of a model an RPC is for. */
import type { DescMethod } from "@bufbuild/protobuf";
import { type Operation, operations } from "../../call/operations.ts";

const byInput = new Map<string, Operation>(
  Object.entries(operations).map(([name, { input }]) => [input.typeName, name as Operation]),
);

/** operationOf returns undefined for an RPC that no model answers. */
export function operationOf({ input }: DescMethod): Operation | undefined {
  return byInput.get(input.typeName);
}
