/**
 * `model-gateway files`: lists the files that ship with the gateway, also inside the executable, or prints one of them: licences and
 * notices, protos for clients, the example configuration.
 */
import { packageBytes, packagePaths } from "../package/package-files.ts";
import { UsageError } from "./line/errors.ts";
import { readOptions } from "./line/read-options.ts";

export async function files(args: readonly string[]): Promise<void> {
  const { positionals } = readOptions("files", args);
  const [asked] = positionals;
  const paths = packagePaths(shown);
  if (asked === undefined) return console.log(paths.join("\n"));
  if (!paths.includes(asked)) throw new UsageError(`there is no file ${asked}. \`model-gateway files\` lists them`);
  process.stdout.write(packageBytes(asked));
}

/** shown are the files and folders of use to people; the rest is the gateway's own. */
const shown = [
  ...["LICENSE", "THIRD-PARTY-NOTICES.md", "THIRD-PARTY-NOTICES.txt", "gateway.example.yaml"],
  ...["gen/openapi.json", "gen/gateway.schema.json", "licenses/", "proto/"],
];
