/**
 * Reads the protos with their comments, which the generated code of `gen` does not keep.
 *
 * Descriptors of the image are read by the same options as those of `gen`, so the plans of `src/wire` and the routes of
 * `src/doors` can be compiled from them.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import {
  createFileRegistry,
  type DescEnum,
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescOneof,
  type DescService,
  fromBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorSetSchema, type SourceCodeInfo_Location } from "@bufbuild/protobuf/wkt";

/** Described is what may have a comment in a proto. */
export type Described =
  | DescMessage
  | DescField
  | DescOneof
  | DescEnum
  | DescEnum["values"][number]
  | DescService
  | DescMethod;

export interface Image {
  /** The services of the gateway, in the order of their files. */
  readonly services: readonly DescService[];
  /** The enums of the gateway. */
  readonly enums: readonly DescEnum[];
  /** Returns a comment as paragraphs of one line each; empty where there is none. */
  commentOf(desc: Described): readonly string[];
  /** Returns the comment at the head of a file, likewise. */
  headOf(file: string): readonly string[];
}

const buf = join(import.meta.dirname, "../../../node_modules/.bin/buf");
const packageName = "modelgateway.v1";

/** Builds the image by `buf`. Throws where the protos do not compile. */
export function readImage(root: string): Image {
  const bytes = execFileSync(buf, ["build", "-o", "-"], { cwd: root, maxBuffer: 64 * 2 ** 20 });
  const set = fromBinary(FileDescriptorSetSchema, bytes);
  const registry = createFileRegistry(set);
  const own = set.file.filter((file) => file.package === packageName);
  const comments = new Map(own.map((file) => [file.name, commentsOf(file.sourceCodeInfo?.location ?? [])]));
  const at = (file: string, path: readonly number[]) => comments.get(file)?.get(path.join()) ?? [];
  const files = own.map(({ name }) => registry.getFile(name)).filter((file) => file !== undefined);
  return {
    services: files.flatMap((file) => file.services),
    enums: files.flatMap((file) => file.enums),
    commentOf: (desc) => at(`${fileOf(desc)}.proto`, pathOf(desc)),
    headOf: (file) => at(`${file}.proto`, [12]),
  };
}

function fileOf(desc: Described): string {
  if (desc.kind === "field" || desc.kind === "oneof" || desc.kind === "enum_value" || desc.kind === "rpc") {
    return desc.parent.file.name;
  }
  return desc.file.name;
}

/** Returns where a declaration is in its file's descriptor: numbers of fields and indexes, as in `SourceCodeInfo`. */
function pathOf(desc: Described): number[] {
  switch (desc.kind) {
    case "message":
      return desc.parent
        ? [...pathOf(desc.parent), 3, desc.parent.proto.nestedType.indexOf(desc.proto)]
        : [4, desc.file.proto.messageType.indexOf(desc.proto)];
    case "enum":
      return desc.parent
        ? [...pathOf(desc.parent), 4, desc.parent.proto.enumType.indexOf(desc.proto)]
        : [5, desc.file.proto.enumType.indexOf(desc.proto)];
    case "service":
      return [6, desc.file.proto.service.indexOf(desc.proto)];
    case "field":
      return [...pathOf(desc.parent), 2, desc.parent.proto.field.indexOf(desc.proto)];
    case "oneof":
      return [...pathOf(desc.parent), 8, desc.parent.proto.oneofDecl.indexOf(desc.proto)];
    case "enum_value":
      return [...pathOf(desc.parent), 2, desc.parent.proto.value.indexOf(desc.proto)];
    case "rpc":
      return [...pathOf(desc.parent), 2, desc.parent.proto.method.indexOf(desc.proto)];
  }
}

/** Returns the comments before declarations, by their paths. */
function commentsOf(locations: readonly SourceCodeInfo_Location[]): ReadonlyMap<string, readonly string[]> {
  const commented = locations.filter(({ leadingComments, leadingDetachedComments }) =>
    Boolean(leadingComments || leadingDetachedComments.length),
  );
  return new Map(
    commented.map(({ path, leadingComments, leadingDetachedComments }) => [
      path.join(),
      paragraphsOf(leadingComments || leadingDetachedComments.join("\n\n")),
    ]),
  );
}

function paragraphsOf(comment: string): string[] {
  return comment
    .split(/\n\s*\n/)
    .map((paragraph) =>
      paragraph
        .split("\n")
        .map((line) => line.trim())
        .join(" ")
        .trim(),
    )
    .filter((paragraph) => paragraph !== "");
}
