/**
 * Prints third_party/protovalidate/buf/validate/validate.proto.
 *
 * The npm package @bufbuild/protovalidate ships this file only as generated
 * code, but that code embeds the complete descriptor. This script turns the
 * descriptor back into Protobuf source, compiles the source with buf, and
 * refuses it unless the compiled descriptor equals the embedded one. Whatever
 * the printer does not know (services, groups, maps, editions) therefore ends
 * in an error, never in a silently different file.
 *
 *   node tools/print-validate-proto.ts            write the file
 *   node tools/print-validate-proto.ts --check    fail if the file is not current
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire, findPackageJSON } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as pb from "@bufbuild/protobuf";
import { toText } from "@bufbuild/protobuf/txtpb";
import * as wkt from "@bufbuild/protobuf/wkt";
import { file_buf_validate_validate as file } from "@bufbuild/protovalidate/gen/buf/validate/validate_pb.js";

const path = file.proto.name;
const target = join(import.meta.dirname, "../third_party/protovalidate", path);

/** The file's own extensions, to see the `(buf.validate.predefined)` options it sets. */
const registry = pb.createRegistry(file);

const MAX_FIELD_NUMBER = 2 ** 29 - 1;
const MAX_ENUM_NUMBER = 2 ** 31 - 1;

/** A type's name as used within the file: without the leading dot and the file's package. */
const typeName = (name: string) => name.slice(1).replace(`${file.proto.package}.`, "");

/** A range of numbers; `end` is inclusive. */
const range = (start: number, end: number, max: number) =>
  start === end ? `${start}` : `${start} to ${end === max ? "max" : end}`;

const block = (head: string, body: string[]) => `${head} {\n${body.join("\n")}\n}\n`;

/** The options of any element, as `name = value`, or `(name) = value` for extensions. */
function options<D extends pb.DescMessage>(schema: D, message?: pb.MessageShape<D>): string[] {
  const text = message === undefined ? "" : toText(schema, message, { registry }).trimEnd();
  // In the text format an option begins at column 0, and its content is indented.
  return text.split(/\n(?=[\w[])/).flatMap((option) => {
    const [, extension, name, value] = /^(?:\[(.+?)\]|(\w+)): (.+)/s.exec(option) ?? [];
    return value === undefined ? [] : [`${name ?? `(${extension})`} = ${value}`];
  });
}

const optionLines = (list: string[]) => list.map((option) => `option ${option};`);
const optionList = (list: string[]) => (list.length === 0 ? "" : ` [${list.join(", ")}]`);

function printField({ proto, oneof }: pb.DescField | pb.DescExtension): string {
  const list = options(wkt.FieldOptionsSchema, proto.options);
  if (pb.isFieldSet(proto, wkt.FieldDescriptorProtoSchema.field.defaultValue)) {
    const isString = proto.type === wkt.FieldDescriptorProto_Type.STRING;
    list.unshift(`default = ${isString ? JSON.stringify(proto.defaultValue) : proto.defaultValue}`);
  }
  const label = oneof ? "" : wkt.FieldDescriptorProto_Label[proto.label].toLowerCase();
  const type = typeName(proto.typeName) || wkt.FieldDescriptorProto_Type[proto.type].toLowerCase();
  return `${label} ${type} ${proto.name} = ${proto.number}${optionList(list)};`;
}

function printOneof({ proto, fields }: pb.DescOneof): string {
  const list = options(wkt.OneofOptionsSchema, proto.options);
  return block(`oneof ${proto.name}`, [...optionLines(list), ...fields.map(printField)]);
}

function printExtension(extension: pb.DescExtension): string {
  return block(`extend ${typeName(extension.proto.extendee)}`, [printField(extension)]);
}

function printEnum({ proto }: pb.DescEnum): string {
  return block(`enum ${proto.name}`, [
    ...optionLines(options(wkt.EnumOptionsSchema, proto.options)),
    ...proto.value.map((value) => {
      const list = options(wkt.EnumValueOptionsSchema, value.options);
      return `${value.name} = ${value.number}${optionList(list)};`;
    }),
    ...proto.reservedRange.map((r) => `reserved ${range(r.start, r.end, MAX_ENUM_NUMBER)};`),
    ...proto.reservedName.map((name) => `reserved "${name}";`),
  ]);
}

function printMessage(desc: pb.DescMessage): string {
  const { proto } = desc;
  return block(`message ${proto.name}`, [
    ...optionLines(options(wkt.MessageOptionsSchema, proto.options)),
    ...desc.members.map((m) => (m.kind === "oneof" ? printOneof(m) : printField(m))),
    ...desc.nestedMessages.map(printMessage),
    ...desc.nestedEnums.map(printEnum),
    ...desc.nestedExtensions.map(printExtension),
    ...proto.extensionRange.map((r) => {
      const list = options(wkt.ExtensionRangeOptionsSchema, r.options);
      return `extensions ${range(r.start, r.end - 1, MAX_FIELD_NUMBER)}${optionList(list)};`;
    }),
    ...proto.reservedRange.map((r) => `reserved ${range(r.start, r.end - 1, MAX_FIELD_NUMBER)};`),
    ...proto.reservedName.map((name) => `reserved "${name}";`),
  ]);
}

/** The licence notice of the generated code, and a note on where the file is from. */
function printHeader(): string {
  const code = import.meta.resolve("@bufbuild/protovalidate/gen/buf/validate/validate_pb.js");
  const notice = /^(\/\/.*\n)+/.exec(readFileSync(fileURLToPath(code), "utf8"))?.[0];
  const manifest = findPackageJSON("@bufbuild/protovalidate", import.meta.url);
  assert(notice?.includes("Copyright") && manifest);
  const { name, version } = JSON.parse(readFileSync(manifest, "utf8"));
  return `${notice}
// Printed by tools/print-validate-proto.ts from the descriptor in the npm
// package ${name} ${version}; do not edit. A descriptor carries
// no comments, so the comments of the original file are dropped.
`;
}

function printFile(): string {
  return [
    printHeader(),
    `syntax = "proto2";\n`,
    `package ${file.proto.package};\n`,
    ...file.proto.dependency.map((dependency) => `import "${dependency}";`),
    ...optionLines(options(wkt.FileOptionsSchema, file.proto.options)),
    "",
    ...file.extensions.map(printExtension),
    ...file.messages.map(printMessage),
    ...file.enums.map(printEnum),
  ].join("\n");
}

/** Runs buf in the directory, and returns what it writes to standard output. */
function buf(directory: string, ...args: string[]): Buffer {
  const script = createRequire(import.meta.url).resolve("@bufbuild/buf/bin/buf");
  return execFileSync(process.execPath, [script, ...args], { cwd: directory });
}

/** Formats the source, and makes sure that it compiles to the embedded descriptor. */
function formatAndVerify(source: string): string {
  const directory = mkdtempSync(join(tmpdir(), "validate-proto-"));
  try {
    const copy = join(directory, path);
    mkdirSync(dirname(copy), { recursive: true });
    writeFileSync(copy, source);
    buf(directory, "format", "--write");
    const set = buf(directory, "build", "--as-file-descriptor-set", "--exclude-source-info", "-o-");
    const files = pb.fromBinary(wkt.FileDescriptorSetSchema, set).file;
    const text = (proto: wkt.FileDescriptorProto | undefined) =>
      proto && toText(wkt.FileDescriptorProtoSchema, proto, { registry, printUnknownFields: true });
    const compiled = files.find(({ name }) => name === path);
    // Without a message of its own, the assertion reports the lines that differ.
    assert.equal(text(compiled), text(file.proto));
    return readFileSync(copy, "utf8");
  } finally {
    rmSync(directory, { recursive: true });
  }
}

const source = formatAndVerify(printFile());
if (process.argv.includes("--check")) {
  assert(readFileSync(target, "utf8") === source, `${path} is not current, print it anew`);
} else {
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, source);
}
