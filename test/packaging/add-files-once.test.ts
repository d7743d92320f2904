/** Descriptors in a bundle are those of the source. */
import { runInThisContext } from "node:vm";
import type { DescFile } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { expect, test } from "vitest";
import * as source from "../../gen/modelgateway/v1/operator_pb.ts";
import { bundle } from "../../packaging/bundle.ts";

test("a file has the same types and dependencies where each file is added once", async () => {
  const { chunks } = await bundle("operator", "gen/modelgateway/v1/operator_pb.ts", false);
  const code = chunks.get("operator.js") ?? "";
  expect(code).toContain("withDeps && files.has(file.proto.name)");
  const bundled = {} as typeof source;
  runInThisContext(`(function (exports) {${code}\n})`)(bundled);
  const told = ({ proto, dependencies, ...file }: DescFile): unknown => [
    proto.name,
    [...nestedTypes({ proto, dependencies, ...file } as DescFile)].map(String),
    dependencies.map(told),
  ];
  expect(told(bundled.file_modelgateway_v1_operator)).toEqual(told(source.file_modelgateway_v1_operator));
  const fields = ({ OperatorService }: typeof source) =>
    OperatorService.methods.map(({ input }) => input.fields.map((field) => `${field} ${field.message} ${field.enum}`));
  expect(fields(bundled)).toEqual(fields(source));
});
