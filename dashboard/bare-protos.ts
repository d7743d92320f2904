/**
 * Leaves out of the pages' bundle what the protos say to the gateway alone: who may call an RPC, its path in HTTP, what a
 * field may hold. No page reads these options.
 */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire";
import { type DescriptorProto, type EnumDescriptorProto, FileDescriptorProtoSchema } from "@bufbuild/protobuf/wkt";
import type { Plugin } from "vite";

/** bareProtos is the plugin. */
export const bareProtos: Plugin = {
  name: "bare-protos",
  transform(code, id) {
    if (/\/gen\/.*_pb\.ts$/.test(id)) return { code: code.replace(embedded, bareFile), map: null };
  },
};

/** embedded finds the descriptor in a file of generated code: text of base64. */
const embedded = /(?<=fileDesc\(")[^"]+/;

/** bareFile is a file's descriptor without the options that extensions define. */
function bareFile(base64: string): string {
  const file = fromBinary(FileDescriptorProtoSchema, base64Decode(base64));
  file.messageType.forEach(bareMessage);
  file.enumType.forEach(bareEnum);
  for (const service of file.service) {
    bare(service);
    service.method.forEach(bare);
  }
  return base64Encode(toBinary(FileDescriptorProtoSchema, file), "std_raw");
}

function bareMessage(message: DescriptorProto): void {
  bare(message);
  message.field.forEach(bare);
  message.oneofDecl.forEach(bare);
  message.enumType.forEach(bareEnum);
  message.nestedType.forEach(bareMessage);
}

function bareEnum(one: EnumDescriptorProto): void {
  bare(one);
  one.value.forEach(bare);
}

/** bare removes options that extensions define: descriptor.proto does not know them, so they are unknown fields of its messages. */
function bare({ options }: { options?: { $unknown?: unknown[] } }): void {
  if (options) options.$unknown = undefined;
}
