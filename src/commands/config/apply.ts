/** `model-gateway config apply`: stores the configuration of a file, or only shows what would differ. */
import { text } from "node:stream/consumers";
import type { JsonObject } from "@bufbuild/protobuf";
import type { ConfigurationDifference } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { Refusal } from "../../call/refusals.ts";
import { ConfigError } from "../../config/config-error.ts";
import { type ConfigDocument, type Fault, placed, readYaml } from "../../config/document.ts";
import { problem } from "../../config/fault-texts.ts";
import { processEnvironment } from "../../config/process-environment.ts";
import { isJson, isOperational, type Json, pathAt, plainJson } from "../../config/stored/documents.ts";
import { StartError } from "../line/errors.ts";
import { readOptions } from "../line/read-options.ts";
import { withOperator } from "../operator.ts";
import { printChanged, printDifferences } from "./differences.ts";
import { exportedVersion } from "./export.ts";
import { readArgument } from "./read-file.ts";
import { highestVersion } from "./versions.ts";

const { changeConfiguration, compareConfigurations } = OperatorService.method;

export async function applyFile(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions("config apply", args);
  const file = positionals[0] as string;
  const written = file === "-" ? await text(process.stdin) : readArgument("config apply", file);
  if (written.trim() === "") throw new ConfigError([{ file, ...placed("", problem("FILE_EMPTY")) }]);
  const yaml = readYaml(file, written, processEnvironment());
  const document = documentOf(file, yaml);
  const more = { dryRun: values["dry-run"] ?? false, ...(values.note === undefined ? {} : { note: values.note }) };
  await withOperator(
    values.config,
    async (ask) => {
      const changes = [{ document: document as unknown as JsonObject }];
      const baseVersion = await highestVersion(ask);
      const change = (dryRun: boolean) =>
        ask(changeConfiguration, { baseVersion, changes, ...more, dryRun }).catch((error: unknown) => {
          throw withLines(error, yaml, document);
        });
      const exported = values.overwrite ? baseVersion : (exportedVersion(written) ?? baseVersion);
      if (exported < baseVersion) {
        const since = await ask(compareConfigurations, { from: exported, to: baseVersion });
        refuseUndone(since.differences, (await change(true)).differences, { file, exported, baseVersion });
      }
      printChanged(await change(more.dryRun), more.dryRun);
    },
    "nothing",
  );
}

/**
 * refuseUndone prints what came after the version that a file was exported from and would be changed back, or otherwise, with the file. Throws
 * a StartError if there is any. What the file has as it is stored by now is no such thing.
 */
function refuseUndone(
  since: readonly ConfigurationDifference[],
  now: readonly ConfigurationDifference[],
  { file, exported, baseVersion }: { file: string; exported: number; baseVersion: number },
): void {
  const undone = since.filter(({ path }) => now.some((one) => isWithin(path, one.path) || isWithin(one.path, path)));
  if (undone.length === 0) return;
  printDifferences(undone);
  const [was, is] = [`${file} was exported from version ${exported}`, `version ${baseVersion} is stored`];
  const remedy = "Export it anew and change that, or repeat it with --overwrite";
  throw new StartError(`${was}, and ${is}: it would undo what came since, as shown. ${remedy}`);
}

/** isWithin reports whether a path of a difference is another, or leads to a part of that. */
function isWithin(path: string, whole: string): boolean {
  return path.startsWith(whole) && /^(?:$|[.[])/.test(path.slice(whole.length));
}

/** documentOf returns what the file has. Throws a ConfigError where that is no document that can be stored. */
function documentOf(file: string, { value, faults, keyFaultAt }: ConfigDocument): Json {
  if (faults.length > 0) throw new ConfigError(faults);
  if (!isJson(value ?? {})) throw new ConfigError([{ file, ...placed("", problem("KEYS_EXPECTED")) }]);
  const document = plainJson(value ?? {});
  const bound = Object.keys(document).filter((key) => !isOperational(key));
  if (bound.length === 0) return document;
  throw new ConfigError(bound.map((key) => keyFaultAt([key], problem("NOT_OPERATIONAL"))));
}

/** withLines gives the faults of a refused document their lines in the file. */
function withLines(error: unknown, yaml: ConfigDocument, document: Json): unknown {
  if (!(error instanceof Refusal) || error.documentFaults.length === 0) return error;
  const faults = error.documentFaults.map(({ path = "", message, ...place }): Fault => {
    if (place.file !== undefined) return { file: place.file, message, ...(place.line && { line: place.line }) };
    const { file, line = 0 } = yaml.faultAt(pathAt(document, path), problem("VALUE_INVALID"));
    return { file, line, message };
  });
  return new ConfigError(faults.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)));
}
