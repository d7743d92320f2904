/** `model-gateway config export|apply|test-upstream|versions|compare|rollback`: the stored configuration and its versions. */
import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { ConfigurationVersion } from "../../../gen/modelgateway/v1/configuration_pb.ts";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { table } from "../command.ts";
import { wrongAction } from "../line/errors.ts";
import { readOptions } from "../line/read-options.ts";
import { type CallOperator, withOperator } from "../operator.ts";
import { applyFile } from "./apply.ts";
import { printChanged, printDifferences } from "./differences.ts";
import { exportStored } from "./export.ts";
import { testUpstream } from "./test-upstream.ts";
import { highestVersion, readVersion } from "./versions.ts";

const { compareConfigurations, listConfigurations, rollBackConfiguration } = OperatorService.method;

export async function config([action, ...args]: readonly string[]): Promise<void> {
  switch (action) {
    case "export":
      return exportStored(args);
    case "apply":
      return applyFile(args);
    case "test-upstream":
      return testUpstream(args);
    case "versions": {
      const { values } = readOptions("config versions", args);
      return withOperator(values.config, printVersions);
    }
    case "compare": {
      const { values, positionals } = readOptions("config compare", args);
      const [from, to] = positionals.map(readVersion);
      const versions = { from: from ?? 0, ...(to === undefined ? {} : { to }) };
      return withOperator(values.config, async (ask) => {
        printDifferences((await ask(compareConfigurations, versions)).differences);
      });
    }
    case "rollback": {
      const { values, positionals } = readOptions("config rollback", args);
      const version = readVersion(positionals[0] as string);
      const more = { dryRun: values["dry-run"] ?? false, ...(values.note === undefined ? {} : { note: values.note }) };
      return withOperator(values.config, async (ask) => {
        const baseVersion = await highestVersion(ask);
        printChanged(await ask(rollBackConfiguration, { version, baseVersion, ...more }), more.dryRun);
      });
    }
  }
  throw wrongAction("config", action);
}

async function printVersions(ask: CallOperator): Promise<void> {
  const rows: string[][] = [];
  for (let pageToken: string | undefined; ; ) {
    const page = await ask(listConfigurations, { pageSize: 1000, ...(pageToken === undefined ? {} : { pageToken }) });
    rows.push(...page.versions.map(row));
    pageToken = page.nextPageToken;
    if (pageToken === undefined) break;
  }
  if (rows.length === 0) console.error("Nothing is stored yet: all of the configuration is in the file.");
  else console.log(table(["VERSION", "CREATED", "BY", "CHANGED", "NOTE"], rows));
}

/** The most entries and keys that a line names. */
const maxNamed = 4;

function row({ version, createdAt, author, changed, note = "" }: ConfigurationVersion): string[] {
  const more = changed.length > maxNamed ? ` and ${changed.length - maxNamed} more` : "";
  const by = author?.name || author?.id || author?.kind.replaceAll("_", " ") || "";
  const created = createdAt ? timestampDate(createdAt).toISOString() : "";
  return [String(version), created, by, changed.slice(0, maxNamed).join(", ") + more, note];
}
