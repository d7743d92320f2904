/**
 * LiveConfig is the configuration in force. It is replaced whole and never changed, so whoever reads it once has one version of it.
 *
 * Parts of the gateway read from it at each use, and keep nothing of it that may change while the gateway serves. Those with a state of
 * their own (providers, queues, breakers, the cache) are told of a change: `composition/live/apply-config.ts` is the one place.
 */
import { type Config, type OperationalMember, operationalKeys, type ProcessMember, processKeys } from "../shape.ts";

export interface LiveConfig {
  current(): Config;
  /** Calls `listener` with each configuration that takes the place of another. Returns a function that ends that. */
  onChange(listener: ConfigListener): () => void;
}

/**
 * ConfigListener is told what is to be in force, and what is until then. It may throw: then nothing changes, for anybody. What it
 * returns is called once all listeners agree, in the same step of the event loop, and must not throw.
 */
export type ConfigListener = (next: Config, before: Config) => (() => void) | undefined;

export interface ReplaceableConfig extends LiveConfig {
  /**
   * Puts another configuration in force, whole. Members that are bound to the process stay as they are. Throws what a listener
   * throws; then nothing has changed.
   */
  replace(next: Config): void;
}

export function createLiveConfig(first: Config): ReplaceableConfig {
  let current = first;
  const listeners = new Set<ConfigListener>();
  return {
    current: () => current,
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    replace(given) {
      const before = current;
      const next = withOperational(before, given);
      const commits = [...listeners].map((listener) => listener(next, before));
      current = next;
      for (const commit of commits) commit?.();
    },
  };
}

/**
 * withOperational returns a configuration with the version and the operational members of another. Members that have not changed stay
 * the same objects: what was made of them holds on.
 */
export function withOperational(config: Config, other: Config): Config {
  const taken = operationalMembers.map(
    (member) => [member, isUnchanged(config[member], other[member]) ? config[member] : other[member]] as const,
  );
  const operational = Object.fromEntries(taken) as Pick<Config, OperationalMember>;
  return Object.freeze({ ...config, ...operational, version: other.version });
}

const operationalMembers = Object.keys(operationalKeys) as OperationalMember[];

/** changedOperationalKeys returns the keys of gateway.yaml that may change while the gateway serves, and differ. */
export function changedOperationalKeys(one: Config, other: Config): string[] {
  const changed = operationalMembers.filter((member) => !isUnchanged(one[member], other[member]));
  return [...new Set(changed.map((member) => operationalKeys[member]))];
}

/**
 * changedProcessKeys returns the keys of gateway.yaml that are bound to the process and differ: a change of them takes effect at the
 * next start.
 */
export function changedProcessKeys(one: Config, other: Config): string[] {
  const members = Object.keys(processKeys) as ProcessMember[];
  return members.filter((member) => !isUnchanged(one[member], other[member])).map((member) => processKeys[member]);
}

/** isUnchanged compares values of configurations: both are plain data, made with their members in the same order. */
function isUnchanged(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one, plain) === JSON.stringify(other, plain);
}

const plain = (_: string, value: unknown) => (value instanceof Set ? [...value].sort() : value);
