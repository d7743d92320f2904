/**
 * The stored document of the configuration and its versions: read, checked, changed, compared. A change is checked together with the file
 * in force, by the same schema and in the same words, and makes a version or none.
 *
 * Secrets are sealed before they are stored (`seal.ts`), and leave here as masks only, but for `load` and `open`.
 */

import { openRemedy } from "../../call/conflicts.ts";
import { formatDecimal } from "../../runtime/decimal.ts";
import { type Config, type ReadConfig, readConfig, type UpstreamConfig } from "../config.ts";
import { ConfigError } from "../config-error.ts";
import { type Environment, type Fault, placed } from "../document.ts";
import { problem } from "../fault-texts.ts";
import { applyChanges, changeName, type DocumentChange } from "./changes.ts";
import { type Beside, changedParts, type Difference, differencesOf } from "./differences.ts";
import type { Json, JsonValue } from "./documents.ts";
import type { KeyRing } from "./key-ring.ts";
import { masked, maskOf, unmasked } from "./masks.ts";
import { type FilePart, mergedDocument, storedName } from "./merged.ts";
import { opened, SealError, sealed } from "./seal.ts";
import { mapSecrets, secretsOf } from "./secrets.ts";

/** VersionFacts are a version without its document. */
export interface VersionFacts {
  readonly version: number;
  /** created_at is in milliseconds since 1970. */
  readonly created_at: number;
  readonly actor_kind: string;
  readonly actor_id: string;
  readonly note: string | null;
}

/** StoredRow is a version as it is stored, its secrets sealed. */
export interface StoredRow extends VersionFacts {
  readonly document: string;
}

/** ConfigurationRows is what is needed of the store of versions. */
export interface ConfigurationRows {
  /** find finds a version, the highest unless one is named. */
  find(version?: number): Promise<(StoredRow & { readonly actor_name: string | null }) | undefined>;
  /** add adds the version after the highest; false where another is the highest by now. */
  add(row: StoredRow & { readonly changed: string }): Promise<boolean>;
}

export interface StoredConfigurationOptions {
  readonly rows: ConfigurationRows;
  readonly keys: KeyRing;
  /** givenFile is the path of gateway.yaml; undefined: GATEWAY_CONFIG, or none. */
  readonly givenFile?: string | undefined;
  readonly environment?: Environment | undefined;
  /** fileText returns the text of the file that is in force; undefined: it is read. */
  readonly fileText?: (() => string | undefined) | undefined;
  /** excused are the keys of the file whose variables need not be set, for commands. */
  readonly excused?: ReadonlySet<string> | undefined;
  /** onStored is called after a version was added here, before the change is answered. */
  readonly onStored?: (() => Promise<void>) | undefined;
}

/** Version is a version, opened. */
export interface Version extends VersionFacts {
  readonly actor_name: string | null;
  readonly document: Json;
}

/** VersionView is a version as it is shown: all of it masked. */
export interface VersionView {
  /** facts are undefined where nothing was ever stored. */
  readonly facts: (VersionFacts & { readonly actor_name: string | null }) | undefined;
  readonly document: Json;
  readonly file: FilePart;
  readonly effective: Json;
  readonly shadowed: readonly string[];
  /** locked says why it cannot be opened, and so not be changed, and what to do; unset: it can. */
  readonly locked?: string;
}

export interface ChangeOrder {
  /** base is the version that the change was made on. */
  readonly base: number;
  readonly changes: readonly DocumentChange[];
  readonly note: string | undefined;
  readonly isDry: boolean;
  readonly actor: { readonly kind: string; readonly id: string };
  /** now is in milliseconds since 1970. */
  readonly now: number;
}

export type ChangeResult =
  | {
      readonly kind: "changed";
      readonly view: VersionView;
      readonly differences: readonly Difference[];
      readonly parts: readonly string[];
    }
  /** Another version is the highest by now; `differences` are those that it has made since the base. */
  | { readonly kind: "conflict"; readonly highest: number; readonly differences: readonly Difference[] }
  | { readonly kind: "absent"; readonly version: number };

export type Comparison =
  | { readonly kind: "compared"; readonly differences: readonly Difference[] }
  | { readonly kind: "absent"; readonly version: number };

export interface StoredConfiguration {
  /**
   * read reads the file and the highest version anew. `fileText` is what the file holds, where it was read already. Throws a ConfigError
   * where they are wrong, or cannot be opened.
   */
  read(fileText?: string): Promise<ReadConfig & { readonly version: number }>;
  /** view returns a version, masked, the highest unless one is named; undefined where there is none of that number. Throws a ConfigError. */
  view(version?: number): Promise<VersionView | undefined>;
  /** open returns the document of a version with its secrets; undefined where there is none. Throws a ConfigError. */
  open(version?: number): Promise<Version | undefined>;
  /** change makes a version, or only says what would differ. Throws a ConfigError with all faults, or a KeyRingError. */
  change(order: ChangeOrder): Promise<ChangeResult>;
  /** rollBack does the same with the document of an earlier version; 0 is the empty one. */
  rollBack(version: number, order: Omit<ChangeOrder, "changes">): Promise<ChangeResult>;
  /** upstream returns an entry of upstreams that need not be stored, its masks replaced. Throws a ConfigError. */
  upstream(entry: Json): Promise<UpstreamConfig>;
  /** tiers returns a list of tiers as it would be read; null: those that hold by default. Throws a ConfigError. */
  tiers(list: JsonValue): Promise<Config["tiers"]>;
  /** compare returns how a version differs from another; 0 is the empty one. */
  compare(from: number, to: number | undefined): Promise<Comparison>;
}

/** maxCharacters is the most that a document may have as JSON. */
const maxCharacters = 4 * 1024 * 1024;

const empty: Version = {
  version: 0,
  created_at: 0,
  actor_kind: "",
  actor_id: "",
  actor_name: null,
  note: null,
  document: {},
};

/** ReadWith joins the file with a document. Throws a ConfigError. */
type ReadWith = (version: number, document: Json) => ReadConfig;
/**
 * JoinWith does the same unchecked: a version may be wrong beside the file as it is by now, and has to be seen and changed nevertheless.
 * Throws a ConfigError where the file by itself is wrong.
 */
type JoinWith = (version: number, document: Json) => Omit<ReadConfig, "config">;
/** Open opens a version, the highest unless one is named. Throws a ConfigError. */
type Open = (version?: number) => Promise<Version | undefined>;

export function createStoredConfiguration(options: StoredConfigurationOptions): StoredConfiguration {
  const { rows, keys, givenFile, environment, excused, fileText } = options;
  const around = () => ({ givenFile, excused, fileText: fileText?.(), ...(environment && { environment }) });
  const readWith: ReadWith = (version, document) => readConfig({ ...around(), stored: { version, document } });
  const joinWith: JoinWith = (version, document) => {
    const { file } = readConfig(around());
    const { effective, shadowed } = mergedDocument(file, { version, document }, undefined);
    return { file, effective, shadowed };
  };
  const open: Open = async (version) => {
    if (version === 0) return empty;
    const row = await rows.find(version);
    if (!row) return version === undefined ? empty : undefined;
    return { ...row, document: openedRow(row, keys) };
  };
  const highest = async () => (await open()) ?? empty;
  const beside = () => besideOf(readConfig(around()));
  return {
    open,
    ...changing(options, { readWith, joinWith, open, beside }),
    async read(text) {
      const { document, version } = await highest();
      return { ...readConfig({ ...around(), stored: { version, document }, fileText: text }), version };
    },
    async view(version) {
      try {
        const found = await open(version);
        return found && viewOf(found, found.document, joinWith(found.version, found.document));
      } catch (error) {
        const row = error instanceof LockedError ? await rows.find(version) : undefined;
        if (!row) throw error;
        const document = closedRow(row);
        return { ...viewOf(row, document, joinWith(row.version, document)), locked: (error as Error).message };
      }
    },
    async upstream(entry) {
      const { document, version } = await highest();
      const { effective } = joinWith(version, document);
      const { document: asked, faults } = applyChanges({}, [{ kind: "upstream", entry }], noFile);
      const { document: next, faults: ofMasks } = unmasked(asked, effective, changeName);
      if (faults.length + ofMasks.length > 0) throw new ConfigError([...faults, ...ofMasks]);
      return readAlone(next).upstreams[0] as UpstreamConfig;
    },
    tiers: async (list) => readAlone(list === null ? {} : { tiers: list }).tiers,
    async compare(from, to) {
      const [one, other] = [await open(from), await open(to)];
      if (!one || !other) return { kind: "absent", version: one ? (to ?? 0) : from };
      return { kind: "compared", differences: differencesOf(one.document, other.document, beside()) };
    },
  };
}

/** besideOf returns what is in force where nothing is stored. */
function besideOf({ file, config }: Pick<ReadConfig, "file" | "config">): Beside {
  const { dollar, markup } = config.cataloguePrices;
  const prices = { dollar: formatDecimal(dollar), markup: formatDecimal(markup) };
  return { file: file.document, defaults: { catalogue_prices: prices, embedded_models: config.embeddedModels } };
}

interface Reading {
  readonly readWith: ReadWith;
  readonly joinWith: JoinWith;
  readonly open: Open;
  readonly beside: () => Beside;
}

type Order = Omit<ChangeOrder, "changes">;

/** changing returns what makes versions. */
function changing(
  { rows, keys, onStored }: StoredConfigurationOptions,
  { readWith, joinWith, open, beside }: Reading,
): Pick<StoredConfiguration, "change" | "rollBack"> {
  async function conflictWith(base: Version): Promise<ChangeResult> {
    const highest = (await open()) ?? empty;
    const differences = differencesOf(base.document, highest.document, beside());
    return { kind: "conflict", highest: highest.version, differences };
  }

  /** baseOf returns the version that a change was made on, where that is still the highest. */
  async function baseOf(base: number): Promise<Version | ChangeResult> {
    const [highest, named] = [(await open()) ?? empty, await open(base)];
    if (!named) return { kind: "absent", version: base };
    return named.version === highest.version ? named : conflictWith(named);
  }

  async function store(base: Version, next: Json, { isDry, note, actor, now }: Order): Promise<ChangeResult> {
    checkSize(next);
    const differences = differencesOf(base.document, next, beside());
    const read = readWith(base.version + 1, next);
    const parts = changedParts(differences);
    if (isDry || differences.length === 0)
      return { kind: "changed", view: viewOf(base, next, read), differences, parts };
    const { kind: actor_kind, id: actor_id } = actor;
    const facts = { version: base.version + 1, created_at: now, actor_kind, actor_id, note: note ?? null };
    const document = JSON.stringify(secretsOf(next).size > 0 ? sealed(next, keys.seal()) : next);
    const changed = JSON.stringify(parts.slice(0, maxParts));
    if (!(await rows.add({ ...facts, document, changed }))) return conflictWith(base);
    await onStored?.();
    const added: VersionView["facts"] = (await rows.find(facts.version)) ?? { ...facts, actor_name: null };
    return { kind: "changed", view: viewOf(added, next, read), differences, parts };
  }

  return {
    async change(order) {
      const base = await baseOf(order.base);
      if ("kind" in base) return base;
      const { file } = joinWith(base.version, base.document);
      const { document, faults } = applyChanges(base.document, order.changes, file);
      const { document: next, faults: ofMasks } = unmasked(document, base.document, changeName);
      if (faults.length + ofMasks.length > 0) throw new ConfigError([...faults, ...ofMasks]);
      try {
        return await store(base, next, order);
      } catch (error) {
        throw error instanceof ConfigError ? new ConfigError(withRemedies(error.faults, order.changes)) : error;
      }
    },
    async rollBack(version, order) {
      const base = await baseOf(order.base);
      if ("kind" in base) return base;
      const old = await open(version);
      return old ? store(base, old.document, order) : { kind: "absent", version };
    },
  };
}

const noFile: FilePart = { name: undefined, document: {} };

/** readAlone reads a document without the file, the environment and what is stored. */
function readAlone(document: Json): Config {
  return readConfig({ environment: {}, stored: { version: 0, document } }).config;
}

/** maxParts is the most entries and keys that a version tells the names of. */
export const maxParts = 100;

function viewOf(
  facts: VersionView["facts"] & object,
  document: Json,
  { file, effective, shadowed }: Omit<ReadConfig, "config">,
): VersionView {
  return {
    facts: facts.version === 0 ? undefined : facts,
    document: masked(document),
    file: { ...file, document: masked(file.document) },
    effective: masked(effective),
    shadowed,
  };
}

function openedRow({ version, document }: StoredRow, keys: KeyRing): Json {
  const json = JSON.parse(document) as Json;
  if (secretsOf(json).size === 0) return json;
  try {
    return opened(json, keys.open());
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new LockedError([{ file: storedName(version), isStored: true, message: `${error.message}. ${openRemedy}` }]);
  }
}

/** LockedError is the error of a version that cannot be opened: by its key it can. */
export class LockedError extends ConfigError {}

/** closedRow returns a version whose secrets cannot be opened: masks without any of their characters stand for them. */
function closedRow({ document }: StoredRow): Json {
  return mapSecrets(JSON.parse(document) as Json, () => maskOf(""));
}

function checkSize(document: Json): void {
  if (JSON.stringify(document).length <= maxCharacters) return;
  const what = problem("DOCUMENT_TOO_LARGE", { most: maxCharacters });
  throw new ConfigError([{ file: changeName, isStored: true, ...placed("", what) }]);
}

/** withRemedies says of models that lose an upstream what to do about them. */
function withRemedies(faults: readonly Fault[], changes: readonly DocumentChange[]): readonly Fault[] {
  const removed = new Set(changes.flatMap((change) => (change.kind === "remove_upstream" ? [change.name] : [])));
  return faults.map((fault) => {
    const { path = "", reason, parameters: { name = "", model = "" } = {} } = fault;
    if (reason === "UPSTREAM_UNKNOWN" && removed.has(name))
      return { ...fault, ...placed(path, problem("UPSTREAM_REMOVED", { name })) };
    if (reason === "MODEL_WITHOUT_TARGET" && removed.size > 0)
      return { ...fault, ...placed(path, problem("MODEL_LEFT_BEHIND", { model })) };
    return fault;
  });
}
