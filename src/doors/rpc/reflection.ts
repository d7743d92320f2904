/**
 * gRPC server reflection, v1 and v1alpha, over the generated descriptors: `grpcurl` and `buf curl` need no protos.
 *
 * It needs no key. So each file is encoded once, and each answer of a connection has a turn of the event loop of its own.
 *
 * Source: grpc/reflection/v1/reflection.proto.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type DescFile, type DescService, toBinary } from "@bufbuild/protobuf";
import { nestedTypes } from "@bufbuild/protobuf/reflect";
import { FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { type ServerReflectionRequest, ServerReflection as V1 } from "../../../gen/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as V1alpha } from "../../../gen/grpc/reflection/v1alpha/reflection_pb.ts";
import { file_modelgateway_v1_errors } from "../../../gen/modelgateway/v1/errors_pb.ts";
import type { OpenService } from "./rpc.ts";

type Question = ServerReflectionRequest["messageRequest"];

/** reflectionServices returns the services of both versions. They describe `services` and themselves. */
export function reflectionServices(services: readonly DescService[]): OpenService[] {
  const described = [...services, V1, V1alpha];
  // No RPC has the detail of errors in its messages, but tools meet it.
  const index = indexOf([...described.map((service) => service.file), file_modelgateway_v1_errors]);
  const serviceNames = described.map((service) => ({ name: service.typeName }));
  // The messages of both versions have the same fields.
  const implementation = {
    async *serverReflectionInfo(requests: AsyncIterable<ServerReflectionRequest>) {
      for await (const request of requests) {
        await nextTurn();
        const messageResponse = reply(request.messageRequest, index, serviceNames);
        yield { validHost: request.host, originalRequest: request, messageResponse };
      }
    },
  };
  return [V1, V1alpha].map((service) => ({ service, implementation: implementation as never }));
}

interface Index {
  readonly byFile: ReadonlyMap<string, DescFile>;
  readonly bySymbol: ReadonlyMap<string, DescFile>;
  /** By the name of the message and the number of the extension. Messages without extensions have an empty map. */
  readonly byExtension: ReadonlyMap<string, ReadonlyMap<number, DescFile>>;
}

function indexOf(roots: readonly DescFile[]): Index {
  const byFile = new Map<string, DescFile>();
  const bySymbol = new Map<string, DescFile>();
  const byExtension = new Map<string, Map<number, DescFile>>();
  const extensionsOf = (message: string) => {
    const known = byExtension.get(message) ?? new Map<number, DescFile>();
    byExtension.set(message, known);
    return known;
  };
  const visit = (file: DescFile) => {
    if (byFile.has(file.proto.name)) return;
    byFile.set(file.proto.name, file);
    for (const type of nestedTypes(file)) {
      bySymbol.set(type.typeName, file);
      if (type.kind === "service")
        for (const method of type.methods) bySymbol.set(`${type.typeName}.${method.name}`, file);
      if (type.kind === "message") extensionsOf(type.typeName);
      if (type.kind === "extension") extensionsOf(type.extendee.typeName).set(type.number, file);
    }
    file.dependencies.forEach(visit);
  };
  roots.forEach(visit);
  return { byFile, bySymbol, byExtension };
}

function reply(question: Question, { byFile, bySymbol, byExtension }: Index, service: { name: string }[]) {
  switch (question.case) {
    case "listServices":
      return { case: "listServicesResponse", value: { service } };
    case "fileByFilename":
      return fileReply(byFile.get(question.value));
    case "fileContainingSymbol":
      return fileReply(bySymbol.get(question.value));
    case "fileContainingExtension": {
      const { containingType, extensionNumber } = question.value;
      return fileReply(byExtension.get(containingType)?.get(extensionNumber));
    }
    case "allExtensionNumbersOfType": {
      const numbers = byExtension.get(question.value);
      if (!numbers) return errorReply(Code.NotFound, "not found");
      const value = { baseTypeName: question.value, extensionNumber: [...numbers.keys()] };
      return { case: "allExtensionNumbersResponse", value };
    }
    default:
      return errorReply(Code.InvalidArgument, "the request asks nothing");
  }
}

/** Replies with the file and everything that it imports, so that one request is enough. */
function fileReply(file: DescFile | undefined) {
  if (!file) return errorReply(Code.NotFound, "not found");
  return { case: "fileDescriptorResponse", value: { fileDescriptorProto: withImports(file).map(encoded) } };
}

/** withImports returns the file and all that it imports. */
function withImports(file: DescFile): DescFile[] {
  const files = new Set<DescFile>();
  const visit = (next: DescFile) => {
    if (files.has(next)) return;
    files.add(next);
    next.dependencies.forEach(visit);
  };
  visit(file);
  return [...files];
}

const encodings = new WeakMap<DescFile, Uint8Array>();

function encoded(file: DescFile): Uint8Array {
  const known = encodings.get(file) ?? toBinary(FileDescriptorProtoSchema, file.proto);
  encodings.set(file, known);
  return known;
}

function errorReply(errorCode: Code, errorMessage: string) {
  return { case: "errorResponse", value: { errorCode, errorMessage } };
}
