/** The sums that the database keeps against sums of the test's own: what was credited, less what rows of calls cost. */
import type { Line } from "../report.ts";
import type { Run } from "./judge.ts";

export function moneyLines({ stage: { accounts }, load: { recharges }, settled }: Run): readonly Line[] {
  const faults: string[] = [];
  const spentOf = new Map<string, number>();
  const costOf = new Map<string, number>();
  for (const { account_id, key_id, cost } of settled.rows) {
    costOf.set(account_id, (costOf.get(account_id) ?? 0) + cost);
    spentOf.set(key_id, (spentOf.get(key_id) ?? 0) + cost);
  }
  for (const { id, kind, credits } of accounts) {
    const sums = settled.accounts.get(id);
    const credited = kind === "rated" ? 0 : credits.reduce((sum, { amount }) => sum + amount, 0);
    const balance = credited - (costOf.get(id) ?? 0);
    if (sums?.credited !== credited) faults.push(`${kind} ${id}: credited ${sums?.credited}, told ${credited}`);
    if (sums?.balance !== balance || sums.held !== 0)
      faults.push(`${kind} ${id}: balance ${sums?.balance}, held ${sums?.held}; ${balance} and 0 follow`);
    if (balance < 0 && kind !== "rated" && kind !== "postpaid") faults.push(`${kind} ${id}: overdrawn, ${balance}`);
  }
  for (const [id, { spent, held }] of settled.keys) {
    const due = spentOf.get(id) ?? 0;
    if (spent !== due || held !== 0) faults.push(`key ${id}: spent ${spent}, held ${held}; ${due} and 0 follow`);
  }
  const { code, text } = settled.proof;
  const cost = [...costOf.values()].reduce((sum, one) => sum + one, 0);
  return [
    {
      what: "balances and spends are right to the digit",
      figure: `${accounts.length} accounts, ${settled.keys.size} keys, ${(cost / 1e6).toFixed(6)} charged, ${recharges.told} recharges (${recharges.repeated} repeats)`,
      faults,
    },
    {
      what: "every gateway ends when it is asked to",
      figure: `exit codes ${settled.exitCodes.join(", ")}`,
      faults: settled.exitCodes.flatMap((code, node) => (code === 0 ? [] : [`node ${node}: ${code ?? "was killed"}`])),
    },
    {
      what: "nothing is held when all is over",
      figure: `${settled.holds} holds; ${settled.overdue} that nobody ended while nodes served`,
      faults: settled.holds + settled.overdue > 0 ? ["there should be none"] : [],
    },
    {
      what: "`model-gateway reconcile --full` is clean",
      figure: text.trim().split("\n").at(-1) ?? "",
      faults: code === 0 ? [] : [`it ended with ${code}`, ...text.split("\n").slice(0, 20)],
    },
  ];
}
