/** All tables and views, as the newest version of the gateway has them. */
import { summedColumns } from "../../columns.ts";
import * as accounts from "./accounts.ts";
import * as answers from "./answers.ts";
import * as calls from "./calls.ts";
import { configurations } from "./configurations.ts";
import * as money from "./money.ts";
import * as moves from "./moves.ts";
import { changedNames, changes, nodes, recalls } from "./nodes.ts";
import * as people from "./people.ts";
import type { Dialect, Schema, TableShape, ViewShape } from "./shape.ts";

const tables: readonly TableShape[] = [
  accounts.accounts,
  people.users,
  accounts.apiKeys,
  answers.responses,
  money.holds,
  money.ledgerEntries,
  money.spentByQuarter,
  calls.requests,
  calls.usageHours,
  calls.refusedMinutes,
  calls.refusedCalls,
  money.redeemCodes,
  accounts.idempotencyKeys,
  people.sessions,
  people.links,
  people.acts,
  answers.replays,
  answers.replaySizes,
  money.keptFrom,
  money.closedPeriods,
  money.prices,
  money.journals,
  money.databaseIdentity,
  money.setAside,
  ...calls.dueOfSqlite,
  calls.dueOfPostgres,
  answers.backgroundResponses,
  configurations,
  moves.moves,
  moves.movedTables,
  nodes,
  recalls,
  changes,
  changedNames,
];

const hourColumns = ["account_id", "hour", "key_id", "model", "requests", ...summedColumns];
const keyColumns = Object.keys(accounts.apiKeys.columns);
const accountColumns = Object.keys(accounts.accounts.columns);

/** views add what is due to sums, for readers. */
const views: readonly ViewShape[] = [
  {
    name: "due_now",
    columns: [...hourColumns, "spent", "freed"],
    query: (dialect) =>
      dialect === "sqlite"
        ? `SELECT ${hourColumns.join(", ")}, spent, freed
           FROM due_sums s JOIN due_merged m ON m.part = s.part WHERE s.batch > m.batch`
        : `SELECT ${hourColumns.join(", ")}, spent, freed FROM due_sums`,
  },
  {
    name: "usage_hours_now",
    columns: hourColumns,
    query: (dialect) => {
      // On Postgres a call that is lost, too, has its hour in what is due.
      const condition = dialect === "sqlite" ? "requests > 0" : "model <> ''";
      return `SELECT ${hourColumns.join(", ")} FROM usage_hours
        UNION ALL SELECT ${hourColumns.join(", ")} FROM due_now WHERE ${condition}`;
    },
  },
  {
    name: "api_keys_now",
    columns: keyColumns,
    query: (dialect) => {
      const columns = keyColumns.map((name) => {
        if (name === "spent") return `k.spent + coalesce(d.spent, 0)${whole(dialect)} AS spent`;
        if (name === "held") return `k.held - coalesce(d.freed, 0)${whole(dialect)} AS held`;
        return `k.${name}`;
      });
      return `SELECT ${columns.join(", ")}
        FROM api_keys k LEFT JOIN (SELECT key_id, sum(spent) AS spent, sum(freed) AS freed FROM due_now GROUP BY key_id) d
          ON d.key_id = k.id`;
    },
  },
  {
    name: "accounts_now",
    columns: accountColumns,
    query: (dialect) => {
      if (dialect === "sqlite") return `SELECT ${accountColumns.join(", ")} FROM accounts`;
      const columns = accountColumns.map((name) => {
        if (name === "balance") return "a.balance - coalesce(d.paid, 0)::bigint AS balance";
        if (name === "held") return "a.held - coalesce(d.released, 0)::bigint AS held";
        return `a.${name}`;
      });
      return `SELECT ${columns.join(", ")} FROM accounts a LEFT JOIN
        (SELECT account_id, sum(paid) AS paid, sum(released) AS released FROM due_sums GROUP BY account_id) d
          ON d.account_id = a.id`;
    },
  },
  {
    name: "spent_now",
    columns: ["subject", "quarter_start", "spent"],
    query: (dialect) => {
      const written = "SELECT subject, quarter_start, spent FROM spent_by_quarter";
      if (dialect === "sqlite") return written;
      const due = (subject: string) => `SELECT ${subject}, ${calls.dueQuarter}, cost FROM due_sums WHERE cost <> 0`;
      return `${written} UNION ALL ${due("account_id")} UNION ALL ${due("key_id")}`;
    },
  },
];

/** Postgres sums to another type. */
function whole(dialect: Dialect): string {
  return dialect === "postgres" ? "::bigint" : "";
}

export const schema: Schema = { tables, views };

/** tablesOf returns the tables that an engine has. */
export function tablesOf(dialect: Dialect): TableShape[] {
  return tables.filter(({ only = dialect }) => only === dialect);
}
