/**
 * `model-gateway import litellm CONFIG` and `import new-api CHANNELS`: make a gateway.yaml of another gateway's configuration. The
 * file goes to standard output or to `--out`; what was left out or changed goes to standard error, and into the file's comments.
 */
import { readFileSync } from "node:fs";
import type { Imported } from "../../config/import/imported.ts";
import { importLiteLlm } from "../../config/import/litellm/import-litellm.ts";
import { importNewApi } from "../../config/import/new-api/import-new-api.ts";
import { noteText } from "../../config/import/notes.ts";
import { writeNewFile } from "../config/write-new-file.ts";
import { wrongAction } from "../line/errors.ts";
import { readOptions } from "../line/read-options.ts";

export async function importFrom([from, ...args]: readonly string[]): Promise<void> {
  if (from === "litellm") return importConfig(args);
  if (from === "new-api") return importChannels(args);
  if (from !== "litellm-keys") throw wrongAction("import", from);
  // Only this needs the database, and all that goes with it.
  const { importKeys } = await import("./import-keys.ts");
  await importKeys(args);
}

const readText = (path: string) => readFileSync(path, "utf8");

function importConfig(args: readonly string[]): void {
  const { values, positionals } = readOptions("import litellm", args);
  report(importLiteLlm(positionals[0] as string, readText), values);
}

function importChannels(args: readonly string[]): void {
  const { values, positionals } = readOptions("import new-api", args);
  report(importNewApi(positionals[0] as string, values.prices, readText), values);
}

/** report writes the file, and prints what is not as it was. */
function report(
  imported: Imported,
  { out, strict }: { readonly out?: string | undefined; readonly strict?: boolean | undefined },
): void {
  const { text, notes, variables, models, upstreams } = imported;
  if (out === undefined) process.stdout.write(text);
  else writeNewFile("--out", out, text);
  for (const note of notes) console.error(noteText(note));
  console.error(
    `Wrote ${count(models, "model")} at ${count(upstreams, "upstream")}${out === undefined ? "" : ` to ${out}`}.`,
  );
  if (variables.length > 0) console.error(`The gateway reads from its environment: ${variables.join(", ")}.`);
  if (strict && notes.length > 0) process.exitCode = 1;
}

const count = (number: number, thing: string) => `${number} ${thing}${number === 1 ? "" : "s"}`;
