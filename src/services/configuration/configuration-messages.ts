/** Builds the API messages of versions of the configuration and of differences between them. */
import type { JsonObject, MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  type ConfigurationAuthorSchema,
  type ConfigurationDifferenceSchema,
  type ConfigurationSchema,
  type ConfigurationVersionSchema,
  DifferenceKind,
} from "../../../gen/modelgateway/v1/configuration_pb.ts";
import type { Difference } from "../../config/stored/differences.ts";
import type { Json, JsonValue } from "../../config/stored/documents.ts";
import type { VersionView } from "../../config/stored/stored-configuration.ts";
import type { ConfigurationVersion } from "../../storage/configuration/configurations.ts";

/** configurationMessage builds the message of a version. `highest` is the version that is in force. */
export function configurationMessage(
  { facts, document, file, effective, shadowed, locked }: VersionView,
  highest: number,
): MessageInitShape<typeof ConfigurationSchema> {
  return {
    version: facts?.version ?? 0,
    document: objectOf(document),
    file: objectOf(file.document),
    effective: objectOf(effective),
    fileName: file.name ?? "",
    shadowed: [...shadowed],
    ...(locked === undefined ? {} : { locked }),
    inForce: (facts?.version ?? 0) === highest,
    ...(facts ? { createdAt: timestampFromMs(facts.created_at), author: authorMessage(facts), ...noteOf(facts) } : {}),
  };
}

export function versionMessage(row: ConfigurationVersion): MessageInitShape<typeof ConfigurationVersionSchema> {
  return {
    version: row.version,
    createdAt: timestampFromMs(row.created_at),
    author: authorMessage(row),
    changed: JSON.parse(row.changed) as string[],
    ...noteOf(row),
  };
}

type Author = Pick<ConfigurationVersion, "actor_kind" | "actor_id" | "actor_name">;

function authorMessage(author: Author): MessageInitShape<typeof ConfigurationAuthorSchema> {
  return { kind: author.actor_kind, id: author.actor_id, name: author.actor_name ?? "" };
}

function noteOf({ note }: { readonly note: string | null }) {
  return note === null || note === "" ? {} : { note };
}

const kinds = {
  added: DifferenceKind.ADDED,
  removed: DifferenceKind.REMOVED,
  changed: DifferenceKind.CHANGED,
} as const;

export function differenceMessage({
  path,
  kind,
  before,
  after,
}: Difference): MessageInitShape<typeof ConfigurationDifferenceSchema> {
  return { path, kind: kinds[kind], ...textOf("before", before), ...textOf("after", after) };
}

function textOf(name: "before" | "after", value: JsonValue | undefined) {
  return value === undefined ? {} : { [name]: JSON.stringify(value) };
}

/** objectOf returns a document as a Struct has it. */
export function objectOf(document: Json): JsonObject {
  return document as unknown as JsonObject;
}
