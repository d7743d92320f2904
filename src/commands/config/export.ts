/** `model-gateway config export`: prints the stored configuration as YAML, masked, or writes all of it into a file for its owner. */
import { stringify } from "yaml";
import type { Json } from "../../config/stored/documents.ts";
import { masked } from "../../config/stored/masks.ts";
import { newId } from "../../runtime/ids.ts";
import type { Storage } from "../../storage/storage.ts";
import { clockOf, withFilesStorage } from "../command.ts";
import { UsageError } from "../line/errors.ts";
import { readOptions } from "../line/read-options.ts";
import { storedConfiguration } from "../stored-configuration.ts";
import { readVersion } from "./versions.ts";
import { writeNewFile } from "./write-new-file.ts";

/** exportAction is the action of the audit event of an export with secrets. */
const exportAction = "Configuration.Exported";

export async function exportStored(args: readonly string[]): Promise<void> {
  const { values, positionals } = readOptions("config export", args);
  const { file, "with-secrets": isWhole = false } = values;
  if (isWhole && file === undefined)
    throw new UsageError("config export: --with-secrets needs --file: a terminal is no place for credentials");
  const asked = positionals[0] === undefined ? undefined : readVersion(positionals[0]);
  await withFilesStorage(values.config, async (storage, config) => {
    const found = await storedConfiguration(storage, config, values.config).open(asked);
    if (!found) throw new UsageError(`there is no version ${asked}. \`model-gateway config versions\` lists them`);
    const { version, document } = found;
    const text = textOf(version, isWhole ? document : masked(document), isWhole);
    // The audit log tells of the export before any of it is shown.
    if (isWhole) await audit(storage, version);
    if (file === undefined) process.stdout.write(text);
    else writeNewFile("--file", file, text, 0o600);
  });
}

async function audit(storage: Storage, version: number): Promise<void> {
  const now = clockOf(storage)();
  await storage.auditEvents.insert({
    ...{ id: newId("act", now), created_at: now, action: exportAction, actor_kind: "command_line", actor_id: "" },
    ...{ account_id: "", subject: "", details: JSON.stringify({ version }), refused: "", address: "" },
  });
}

/** exportedVersion returns the version that a text was exported from, by its first line; undefined where that does not say so. */
export function exportedVersion(text: string): number | undefined {
  const [head, version] =
    /^# (?:Nothing is stored yet|Version (\d{1,9}) of the stored configuration)\./.exec(text) ?? [];
  return head === undefined ? undefined : Number(version ?? 0);
}

function textOf(version: number, document: Json, isWhole: boolean): string {
  const what = version === 0 ? "Nothing is stored yet." : `Version ${version} of the stored configuration.`;
  const masks = isWhole ? "Credentials are in it." : "`…` and what follows stand for stored credentials.";
  const body = Object.keys(document).length === 0 ? "{}\n" : stringify(document, { lineWidth: 0 });
  return `# ${what} ${masks}\n${body}`;
}
