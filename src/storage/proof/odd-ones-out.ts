/**
 * Tells sums that alone are wrong from sums that others contradict too. Only the former can be put right without a decision: what they
 * follow from (entries, calls, holds) is whole, for other sums over the same agree with it.
 *
 * A balance, what keys have spent and what hours cost all follow from the same calls. If a call was lost, all three differ, and the stored
 * ones are the right ones; if one of them differs alone, it is the wrong one.
 */
import type { Database } from "../engines/scope.ts";
import { type FindingKind, type Found, oddOneOut } from "./finding.ts";

/** contradicting are the kinds that a repair may put right, each with those of the same account that leave open which side is right. */
export const contradicting: Partial<Record<FindingKind, readonly FindingKind[]>> = {
  balance: ["recharged", "key_spent", "hour_cost", "charged_twice", "charge_without_call", "code_without_recharge"],
  recharged: ["balance", "code_without_recharge"],
  // Holds are rows of their own. One of nobody is released when it expires.
  account_held: ["balance"],
  key_held: [],
  key_spent: ["balance", "hour_cost", "charged_twice", "charge_without_call"],
  hour_cost: ["balance", "key_spent", "price"],
  hour_usage: ["balance", "key_spent", "hour_cost", "price"],
  operators_loss: ["balance", "key_spent", "hour_cost", "price"],
  budget_spent: ["balance", "key_spent", "hour_cost", "price"],
};

/** oddOnesOut marks the findings that a repair puts right. */
export async function oddOnesOut(db: Database, findings: readonly Found[]): Promise<Found[]> {
  if (findings.length === 0) return [];
  const accountOf = await accountsOf(db, findings);
  const kindsOf = new Map<string, Set<FindingKind>>();
  for (const finding of findings) {
    const account = accountOf(finding);
    if (account !== undefined) kindsOf.set(account, (kindsOf.get(account) ?? new Set()).add(finding.kind));
  }
  return findings.map((finding) => {
    const doubts = contradicting[finding.kind];
    const account = accountOf(finding);
    if (!doubts || account === undefined || doubts.some((kind) => kindsOf.get(account)?.has(kind))) return finding;
    // A double does not count such sums exactly, so a repair would write a wrong one: it is left to a person.
    if (!Number.isSafeInteger(finding.written) || !Number.isSafeInteger(finding.derived)) return finding;
    const subject = finding.subject && { ...finding.subject, accountId: account };
    return { ...finding, ...oddOneOut, isRepairable: true, subject };
  });
}

/** accountsOf returns what tells the account of a finding; undefined for one of an account or a key that does not exist. */
async function accountsOf(db: Database, findings: readonly Found[]): Promise<(finding: Found) => string | undefined> {
  const idsOf = (pick: (finding: Found) => string | undefined) => [
    ...new Set(findings.flatMap((one) => pick(one) ?? [])),
  ];
  const accounts = new Set<string>();
  for (const ids of chunks(idsOf(({ subject }) => subject?.accountId))) {
    const rows = await db.selectFrom("accounts").select("id").where("id", "in", ids).execute();
    for (const { id } of rows) accounts.add(id);
  }
  const keys = new Map<string, string>();
  for (const ids of chunks(idsOf(({ kind, subject }) => (isOfKey(kind) ? subject?.id : undefined)))) {
    const rows = await db.selectFrom("api_keys").select(["id", "account_id"]).where("id", "in", ids).execute();
    for (const { id, account_id } of rows) keys.set(id, account_id);
  }
  return ({ kind, subject }) => {
    const account = isOfKey(kind) ? keys.get(subject?.id ?? "") : subject?.accountId;
    return account !== undefined && (accounts.has(account) || isOfKey(kind)) ? account : undefined;
  };
}

function isOfKey(kind: FindingKind): boolean {
  return kind === "key_held" || kind === "key_spent";
}

/** Databases bound the values of a query. */
function* chunks(ids: readonly string[]): Generator<string[]> {
  const most = 500;
  for (let at = 0; at < ids.length; at += most) yield ids.slice(at, at + most);
}
