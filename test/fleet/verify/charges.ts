/**
 * What clients were told against the rows of calls.
 *
 * An answer that arrived in full has exactly one row, with the cost that was told. Beyond those only this is charged: a call that its
 * client left or lost, once, for no more than the whole, and in full only where the upstream answered to the end. What was refused
 * has no row, unless its node died before it had undone the hold: then one that says that the call was lost, and costs nothing.
 */
import { Outcome } from "../../../gen/modelgateway/v1/usage_pb.ts";
import type { ClientCall } from "../call.ts";
import type { Line } from "../report.ts";
import type { CallRow } from "../settle.ts";
import { chatOf, costOf } from "../upstream.ts";
import type { Run } from "./judge.ts";

export function kindOf({ form }: Pick<ClientCall, "form">): "chat" | "embeddings" {
  return form === "embeddings" ? "embeddings" : "chat";
}

export function wholeCostOf(call: Pick<ClientCall, "form" | "number">): number {
  return costOf(call.number, kindOf(call));
}

/** Matches rows with calls: by the id where the client knows it, and else by what the call used, which the upstream told. */
function matchRows(calls: readonly ClientCall[], rows: readonly CallRow[], answered: ReadonlySet<number>) {
  const ofCall = new Map<ClientCall, CallRow[]>();
  const strangers: CallRow[] = [];
  const byId = new Map(calls.filter(({ id }) => id !== undefined).map((call) => [call.id, call]));
  const unnamed = calls.filter(({ id }) => id === undefined);
  const chats = new Map(unnamed.filter((call) => kindOf(call) === "chat").map((call) => [call.number, call]));
  const embeddings = Map.groupBy(
    // What several of them used is alike: one that was not answered is none that was charged.
    unnamed.filter((call) => kindOf(call) === "embeddings" && answered.has(call.number)),
    (call) => `${call.account.id} ${wholeCostOf(call)}`,
  );
  for (const row of rows) {
    const call = byId.get(row.id) ?? ofUnnamed(row);
    if (call) ofCall.set(call, [...(ofCall.get(call) ?? []), row]);
    // A call that was lost without a head says nothing of itself, and costs nothing.
    else if (row.cost > 0 || !unanswered.has(row.outcome)) strangers.push(row);
  }
  function ofUnnamed(row: CallRow): ClientCall | undefined {
    if (row.operation === "embeddings") return embeddings.get(`${row.account_id} ${row.cost}`)?.pop();
    return row.cost > 0 ? chats.get(chatOf(row.input, row.output)) : undefined;
  }
  return { ofCall, strangers };
}

export function chargeLines({ load: { calls }, settled: { rows }, stage: { upstream } }: Run): readonly Line[] {
  const { ofCall, strangers } = matchRows(calls, rows, upstream.answered);
  const told: string[] = [];
  const others: string[] = strangers.map((row) => `${wordsOf(row)}: nobody's call`);
  let [whole, left, leftCharged, undelivered, lost, refused] = [0, 0, 0, 0, 0, 0];
  for (const call of calls) {
    const own = ofCall.get(call) ?? [];
    if (call.end === "whole") {
      whole++;
      told.push(...wholeFaults(call, own));
      continue;
    }
    others.push(...otherFaults(call, own, upstream.answered.has(call.number)));
    const isCharged = own.some(({ cost }) => cost > 0);
    if (call.end === "left") left++;
    if (call.end === "left" && isCharged) leftCharged++;
    if (call.end === "broken" && isCharged) undelivered++;
    if (call.status !== undefined && call.status !== 200) refused++;
  }
  lost = rows.filter(({ outcome }) => outcome === Outcome.LOST).length;
  const waived = rows.filter((row) => row.waived > 0);
  const figures = `${left} left (${leftCharged} charged), ${undelivered} cut and charged, ${lost} lost and free, ${refused} refused`;
  return [
    {
      what: "every answer that arrived is charged once, as told",
      figure: `${whole} of ${calls.length} calls`,
      faults: told,
    },
    { what: "nothing else is charged, but by the rules", figure: figures, faults: others },
    {
      what: "no call cost more than it held",
      figure: `${waived.length} rows with a loss of the operator's`,
      faults: waived.map((row) => `${wordsOf(row)}: waived ${row.waived}`),
    },
  ];
}

function wholeFaults(call: ClientCall, rows: readonly CallRow[]): readonly string[] {
  const due = wholeCostOf(call);
  const [row] = rows;
  if (!row || rows.length > 1) return [`${callWords(call)}: ${rows.length} rows`];
  const faults =
    row.outcome === Outcome.ANSWERED && row.cost === due ? [] : [`${callWords(call)}: ${wordsOf(row)} of ${due}`];
  return call.cost === undefined || call.cost === due
    ? faults
    : [...faults, `${callWords(call)}: told ${call.cost} of ${due}`];
}

function otherFaults(call: ClientCall, rows: readonly CallRow[], isAnswered: boolean): readonly string[] {
  if (rows.length > 1) return [`${callWords(call)}: ${rows.length} rows`];
  const [row] = rows;
  if (!row) return [];
  const due = wholeCostOf(call);
  const isRefused = call.status !== undefined && call.status !== 200;
  if (row.cost === 0 && row.outcome === Outcome.LOST) return [];
  if (isRefused) return [`${callWords(call)}: ${wordsOf(row)}`];
  if (row.outcome === Outcome.ANSWERED)
    return row.cost === due && isAnswered ? [] : [`${callWords(call)}: ${wordsOf(row)} of ${due}`];
  if (row.outcome === Outcome.LEFT) return row.cost <= due ? [] : [`${callWords(call)}: ${wordsOf(row)} of ${due}`];
  return [`${callWords(call)}: ${wordsOf(row)}`];
}

export function callWords({ number, form, account, node, status, end }: ClientCall): string {
  return `call ${number} (${form}, ${account.kind}, node ${node}, ${status ?? "no status"}, ${end})`;
}

function wordsOf({ id, outcome, cost }: CallRow): string {
  return `row ${id}, ${outcomes.get(outcome)}, charged ${cost}`;
}

const unanswered: ReadonlySet<number> = new Set([Outcome.LOST, Outcome.LEFT, Outcome.FAILED, Outcome.REJECTED]);

const outcomes = new Map(Object.entries(Outcome).map(([name, number]) => [number as number, name.toLowerCase()]));
