/** Registers what is known of the Postgres that a fleet shares. It is read when metrics are collected. */
import type { Registry } from "prom-client";
import { registerCounter, registerCounters, registerGauge } from "./register.ts";

export interface DatabaseGauges {
  readonly isUp: () => boolean;
  /** nodes returns how many nodes live, as last known. */
  readonly nodes: () => number;
  /** kept returns how many records this machine keeps until the database answers again. */
  readonly kept: () => number;
  /** batches returns totals since the start: `decide` of turns that decide on calls, `write` of records of what calls came to. */
  readonly batches: () => { readonly decide: BatchCounts; readonly write: BatchCounts };
  /** repeats returns how many batches were sent again, after a conflict or over another connection. */
  readonly repeats: () => number;
  /** recalls returns for how many accounts this node has asked others to give their leases back. */
  readonly recalls: () => number;
  /** replica is the replica that usage is read from; undefined without one. */
  readonly replica?: ReplicaGauges | undefined;
}

export interface ReplicaGauges {
  /** trouble returns why it is not read from; undefined where it is. */
  readonly trouble: () => string | undefined;
  /** lagSeconds returns how far it is behind; undefined where nobody knows. */
  readonly lagSeconds: () => number | undefined;
  /** reads returns totals since the start, by where they went. */
  readonly reads: () => { readonly replica: number; readonly primary: number };
}

export interface BatchCounts {
  readonly batches: number;
  readonly items: number;
  /** seconds is the time from sending a batch to its answer, of all batches. */
  readonly seconds: number;
}

export function registerDatabase(registry: Registry, gauges: DatabaseGauges): void {
  const { isUp, nodes, kept, batches, repeats, recalls, replica } = gauges;
  if (replica) registerReplica(registry, replica);
  registerGauge(
    registry,
    {
      name: "model_gateway_database_up",
      help: "Whether Postgres answers; absent without Postgres.",
      aggregator: "min",
    },
    (set) => set(Number(isUp())),
  );
  registerGauge(
    registry,
    {
      name: "model_gateway_database_nodes",
      help: "Nodes that live over the same Postgres, as last known.",
      aggregator: "max",
    },
    (set) => set(nodes()),
  );
  registerGauge(
    registry,
    {
      name: "model_gateway_database_kept_records",
      help: "Records of what calls cost that this machine keeps until Postgres answers again.",
    },
    (set) => set(kept()),
  );
  const counters = (name: string, help: string, of: keyof BatchCounts) =>
    registerCounters(registry, { name: `model_gateway_database_${name}_total`, help, label: "kind" }, () => {
      const { decide, write } = batches();
      return { decide: decide[of], write: write[of] };
    });
  counters("batches", "Batches of money: decide (on calls), write (what they came to).", "batches");
  counters("batch_items", "What was in batches of money: holds, captures, releases; records.", "items");
  counters("batch_seconds", "Time until Postgres answered batches of money, of all, in seconds.", "seconds");
  const counter = (name: string, help: string, read: () => number) =>
    registerCounter(registry, `model_gateway_database_${name}_total`, help, read);
  counter("repeats", "Batches of money that were sent again, after a conflict or over another connection.", repeats);
  counter("recalls", "Accounts whose leases this node asked other nodes to give back.", recalls);
}

function registerReplica(registry: Registry, { trouble, lagSeconds, reads }: ReplicaGauges): void {
  registerGauge(
    registry,
    {
      name: "model_gateway_database_replica_up",
      help: "Whether usage is read from the replica; absent without DATABASE_REPLICA_URL.",
    },
    (set) => set(Number(trouble() === undefined)),
  );
  registerGauge(
    registry,
    {
      name: "model_gateway_database_replica_lag_seconds",
      help: "How far the replica is behind, as of the last look, in seconds; NaN where nobody knows.",
    },
    (set) => set(lagSeconds() ?? Number.NaN),
  );
  const help = "Reads of usage that may go to the replica, by where they went: replica, primary.";
  registerCounters(registry, { name: "model_gateway_database_usage_reads_total", help, label: "from" }, () => ({
    ...reads(),
  }));
}
