/**
 * The operator's RPCs for the configuration: its versions, changes to it and what differs. Everything in answers is masked.
 */
import {
  ChangeConfigurationResponseSchema,
  CompareConfigurationsResponseSchema,
  type ConfigurationChange,
  GetConfigurationResponseSchema,
  ListConfigurationsResponseSchema,
  RollBackConfigurationResponseSchema,
} from "../../../gen/modelgateway/v1/configuration_pb.ts";
import type { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { Call, ServiceImplementation } from "../../call/call.ts";
import type { DocumentFault } from "../../call/refusal.ts";
import {
  configurationChanged,
  conflict,
  invalidDocument,
  invalidValue,
  resourceNotFound,
} from "../../call/refusals.ts";
import { ConfigError } from "../../config/config-error.ts";
import type { Fault } from "../../config/document.ts";
import type { DocumentChange } from "../../config/stored/changes.ts";
import type { Json } from "../../config/stored/documents.ts";
import { KeyRingError } from "../../config/stored/key-ring.ts";
import {
  type ChangeOrder,
  type ChangeResult,
  LockedError,
  maxParts,
  type StoredConfiguration,
} from "../../config/stored/stored-configuration.ts";
import { actorOf } from "../../pipeline/check/audit.ts";
import type { ConfigurationStore } from "../../storage/configuration/configurations.ts";
import { pageOf } from "../page.ts";
import { whole } from "../whole.ts";
import { configurationMessage, differenceMessage, versionMessage } from "./configuration-messages.ts";

type Rpcs = Pick<
  ServiceImplementation<typeof OperatorService>,
  "getConfiguration" | "changeConfiguration" | "listConfigurations" | "compareConfigurations" | "rollBackConfiguration"
>;

export interface VersionParts {
  readonly stored: StoredConfiguration;
  readonly versions: Pick<ConfigurationStore, "page" | "highestVersion">;
  /** clock returns milliseconds since 1970. */
  readonly clock: () => number;
}

export function versionRpcs({ stored, versions, clock }: VersionParts): Rpcs {
  const order = (call: Pick<Call, "caller" | "peer">, asked: Asked): Omit<ChangeOrder, "changes"> => {
    const { actor_kind: kind, actor_id: id } = actorOf(call);
    const { baseVersion: base = 0, note, dryRun: isDry = false } = asked;
    return { base, note, isDry, actor: { kind, id }, now: clock() };
  };
  return {
    async getConfiguration({ request }) {
      const { version } = request.message();
      const [view, highest] = await orRefusal(Promise.all([stored.view(version), versions.highestVersion()]));
      if (!view) throw unknownVersion(version ?? 0);
      return whole(GetConfigurationResponseSchema, { configuration: configurationMessage(view, highest) });
    },
    async changeConfiguration(call) {
      const message = call.request.message();
      const changes = message.changes.map(changeOf);
      const result = await orRefusal(stored.change({ ...order(call, message), changes }));
      return whole(ChangeConfigurationResponseSchema, changedMessage(result));
    },
    async listConfigurations({ request }) {
      const { items, next } = await pageOf(request.message(), idPrefix, async (last, limit) =>
        (await versions.page(last === undefined ? undefined : Number(last.slice(idPrefix.length + 1)), limit)).map(
          (row) => ({ ...row, id: idOf(row.version) }),
        ),
      );
      return whole(ListConfigurationsResponseSchema, { versions: items.map(versionMessage), ...next });
    },
    async compareConfigurations({ request }) {
      const { from = 0, to } = request.message();
      const result = await orRefusal(stored.compare(from, to));
      if (result.kind === "absent") throw unknownVersion(result.version);
      return whole(CompareConfigurationsResponseSchema, { differences: result.differences.map(differenceMessage) });
    },
    async rollBackConfiguration(call) {
      const message = call.request.message();
      const result = await orRefusal(stored.rollBack(message.version ?? 0, order(call, message)));
      return whole(RollBackConfigurationResponseSchema, changedMessage(result));
    },
  };
}

interface Asked {
  readonly baseVersion?: number | undefined;
  readonly note?: string | undefined;
  readonly dryRun?: boolean | undefined;
}

/** Tokens of pages have ids in them: a version has none, and is one with zeros before. */
const idPrefix = "cfg";
const idOf = (version: number) => `${idPrefix}_${String(version).padStart(25, "0")}`;

function unknownVersion(version: number) {
  return resourceNotFound("version", String(version), "version");
}

/** orRefusal makes refusals of what is wrong with a document. */
export async function orRefusal<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof LockedError) throw conflict(error.message);
    if (error instanceof ConfigError) throw invalidDocument(error.faults.map(withPlace));
    throw error instanceof KeyRingError ? conflict(`${error.message}.`) : error;
  }
}

/** withPlace leaves out the name of what was sent or is stored: callers know it as the document. */
function withPlace({ file, isStored, ...fault }: Fault): DocumentFault {
  return isStored ? fault : { file, ...fault };
}

/** changedMessage builds the answer to a change. Throws a Refusal where another came first. */
function changedMessage(result: ChangeResult) {
  if (result.kind === "absent") throw unknownVersion(result.version);
  if (result.kind === "conflict") {
    throw configurationChanged(
      result.highest,
      result.differences.map(({ path }) => path),
    );
  }
  const { view, differences, parts } = result;
  return {
    configuration: configurationMessage(view, view.facts?.version ?? 0),
    differences: differences.map(differenceMessage),
    changed: parts.slice(0, maxParts),
  };
}

/** changeOf reads a change. Throws a Refusal where it is none, or several at once. */
function changeOf(change: ConfigurationChange, index: number): DocumentChange {
  const { upstream, removeUpstream, model, removeModel, settings, document } = change;
  const found: readonly (DocumentChange | undefined)[] = [
    upstream && { kind: "upstream", entry: upstream as unknown as Json },
    removeUpstream === undefined ? undefined : { kind: "remove_upstream", name: removeUpstream },
    model && { kind: "model", entry: model as unknown as Json },
    removeModel === undefined ? undefined : { kind: "remove_model", name: removeModel },
    settings && { kind: "settings", settings: settings as unknown as Json },
    document && { kind: "document", document: document as unknown as Json },
  ];
  const [only, ...others] = found.filter((one) => one !== undefined);
  if (only && others.length === 0) return only;
  throw invalidValue(
    `changes[${index}]`,
    "expected one of `upstream`, `remove_upstream`, `model`, `remove_model`, `settings` and `document`",
  );
}
