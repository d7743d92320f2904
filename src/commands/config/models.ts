/**
 * `model-gateway models sync`: compares models and prices of a source with those of the catalogue, shows what differs, and stores it
 * where it is asked to: as `catalogue` of the stored configuration, in US dollars.
 */
import type { JsonObject } from "@bufbuild/protobuf";
import { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { builtInCatalogue } from "../../config/catalogue/built-in.ts";
import { readNewer, syncedCatalogue } from "../../config/catalogue/sync.ts";
import { modelAsWritten } from "../../config/catalogue/written.ts";
import type { UpstreamConfig } from "../../config/config.ts";
import { connectionReason } from "../../config/discovery/connection-failure.ts";
import { differencesOf } from "../../config/stored/differences.ts";
import { entryName, type Json, listAt } from "../../config/stored/documents.ts";
import { discard, get, readText } from "../../runtime/net/get.ts";
import { counted } from "../../runtime/words/counted.ts";
import { testMessage } from "../../services/configuration/test-reasons.ts";
import { UsageError, wrongAction } from "../line/errors.ts";
import { readOptions } from "../line/read-options.ts";
import { withOperatorAndStorage } from "../operator.ts";
import { storedConfiguration } from "../stored-configuration.ts";
import { printDifference, printOutcome } from "./differences.ts";
import { readArgument } from "./read-file.ts";

export async function models([action, ...args]: readonly string[]): Promise<void> {
  if (action !== "sync") throw wrongAction("models", action);
  const { values, positionals } = readOptions("models sync", args);
  const [given] = positionals as [string];
  const text = isAddress(given) ? await fetchText(given) : readArgument("models sync", given);
  const source = withoutQuery(given);
  const isDry = values.apply !== true;
  await withOperatorAndStorage(
    values.config,
    async (ask, storage, config) => {
      const stored = storedConfiguration(storage, config, values.config);
      const { version, config: inForce } = await stored.read();
      const { document = {} } = (await stored.open(version)) ?? {};
      const vendors = new Set(values.vendor ?? inForce.upstreams.map(vendorOf));
      const newer = readNewer(source, text, builtInCatalogue());
      const before = listAt(document, "catalogue") as readonly Json[];
      const { catalogue, found } = syncedCatalogue(newer, before, vendors);
      console.error(
        `${source} has ${counted(newer.length, "model")}, ${found} of them of vendors that are upstreams here.`,
      );
      const settings = { catalogue: catalogue.length > 0 ? catalogue : null } as unknown as JsonObject;
      const { note = `models sync ${source}`.slice(0, maxNote) } = values;
      const asked = { baseVersion: version, changes: [{ settings }], note, dryRun: isDry };
      const answer = await ask(OperatorService.method.changeConfiguration, asked);
      printModels(before, catalogue);
      printOutcome(answer, isDry ? "Nothing was stored: --apply stores what differs." : undefined);
    },
    "nothing",
  );
}

/** withoutQuery returns what a source is called where it is kept: an address without its user and query, which may have a credential. */
function withoutQuery(source: string): string {
  const url = isAddress(source) ? URL.parse(source) : null;
  return url ? `${url.origin}${url.pathname}` : source;
}

function isAddress(source: string): boolean {
  return /^https?:|^[a-z][a-z\d+.-]+:\/\//i.test(source);
}

/** printModels prints what changes of each model: what is not listed is as the built-in catalogue has it. */
function printModels(before: readonly Json[], after: readonly Json[]): void {
  const builtIn = new Map(builtInCatalogue().inDollars.map((model) => [model.id, model]));
  const [one, other] = [byId(before), byId(after)];
  const ids = [...new Set([...one.keys(), ...other.keys()])];
  const known = (id: string) => {
    const model = builtIn.get(id);
    return model && modelAsWritten(model);
  };
  const listOf = (listed: ReadonlyMap<string, Json>) => ids.flatMap((id) => listed.get(id) ?? known(id) ?? []);
  const differences = differencesOf({ catalogue: listOf(one) }, { catalogue: listOf(other) });
  if (differences.length === 0) console.error("Nothing differs.");
  for (const { kind, path, before, after } of differences)
    printDifference(kind, path.replace(/^catalogue/, "models"), JSON.stringify(before), JSON.stringify(after));
}

function byId(entries: readonly Json[]): ReadonlyMap<string, Json> {
  return new Map(entries.map((entry) => [entryName("catalogue", entry) ?? "", entry]));
}

const maxNote = 500;
/** Of what is read from an address, in bytes, and for how long it is waited for, in milliseconds. */
const [maxBytes, timeoutMs] = [32 * 1024 * 1024, 30_000];

function vendorOf({ name, vendor = name }: UpstreamConfig): string {
  return vendor;
}

async function fetchText(address: string): Promise<string> {
  const url = URL.parse(address);
  const isNear = url?.hostname === "localhost" || url?.hostname === "127.0.0.1" || url?.hostname === "[::1]";
  // Prices decide over money: nobody on the way may change them.
  const isSafe = url?.protocol === "https:" || (url?.protocol === "http:" && isNear);
  if (!url || !isSafe) throw new UsageError("models sync: expected a file, or an https address");
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const reply = await get(url, { signal });
    if (reply.statusCode === 200) return await readText(reply, maxBytes, signal);
    discard(reply);
    throw new Error(`It answered with status ${reply.statusCode}`);
  } catch (error) {
    throw new UsageError(`models sync: ${url.origin} was not read. ${whyNot(error, url.host)}`);
  }
}

/** whyNot returns why an address was not read, and what to do. */
function whyNot(error: unknown, host: string): string {
  const { code = "", message } = error as NodeJS.ErrnoException;
  const reason = connectionReason(error);
  if (reason === undefined) return `${message}. Check the address`;
  return testMessage(reason, { host, code, milliseconds: String(timeoutMs) }).replace(/\.$/, "");
}
