/** Lists what the proof of the sums may find: each kind with what it means and what to do about it, in plain words. */
import { summedColumns } from "../columns.ts";

/** Finding is something in the books that should not be. */
export interface Finding {
  readonly kind: FindingKind;
  /** what names what is concerned, such as "balance of acc_…". */
  readonly what: string;
  /** written is what is stored, in millionths of the unit; 0, like `derived`, where the finding is no sum of money. */
  readonly written: number;
  /** derived is what it should be by what it follows from, in millionths of the unit. */
  readonly derived: number;
  /** means says what the finding means. */
  readonly means: string;
  /** repair says what to do about it. */
  readonly repair: string;
  /** isRepairable is whether `model-gateway reconcile --repair` puts it right. */
  readonly isRepairable: boolean;
}

/** Subject is whose sum a finding concerns: what a repair changes. */
export interface Subject {
  /** The account, the key or the call. */
  readonly id: string;
  readonly accountId?: string | undefined;
  /** The hour of usage, and what is missing from it. */
  readonly hour?: (HourKey & { readonly by: Counts }) | undefined;
  /** spentIn is when the hour began in which what counts for budgets differs. */
  readonly spentIn?: number | undefined;
}

/** counted are the columns of an hour of usage that are proved. */
export const counted = ["requests", ...summedColumns] as const;
export type Counts = Record<(typeof counted)[number], number>;

/** HourKey names a row of the sums of usage. */
export interface HourKey {
  readonly account_id: string;
  readonly key_id: string;
  readonly model: string;
  /** hour is when the hour began, in milliseconds since 1970. */
  readonly hour: number;
}

/** Found is a finding with its subject, as the proof and the repair know it. */
export interface Found extends Finding {
  readonly subject?: Subject | undefined;
}

interface KindTexts {
  readonly means: string;
  readonly repair: string;
}

const restoreBackup = "restore a back-up of before if rows were lost";
const missingCharges =
  "Else compare the log of that time with the calls that are recorded: those that are missing are not charged.";
const byEntry = "put the account right by a grant or a refund with a note";

/** kinds are all that may be found. Their words are stable: programs that read `--json` know them. */
export const kinds = {
  balance: {
    means:
      "The account's balance is not the sum of its ledger entries less what its calls cost, and other findings contradict both.",
    repair: `Look at the other findings of the account first: ${restoreBackup}; else ${byEntry}.`,
  },
  recharged: {
    means: "What counts for the account's tier is not the sum of its recharges less its refunds.",
    repair: `Look at the account's entries: one was changed or lost. ${capital(restoreBackup)}.`,
  },
  account_held: {
    means: "What is held of the account is not the sum of the holds and leases that are recorded.",
    repair: "Repeat it with --repair.",
  },
  key_held: {
    means: "What is held of the key is not the sum of the holds and leases that are recorded.",
    repair: "Repeat it with --repair.",
  },
  key_spent: {
    means: "What the key has spent is not the sum of what its calls cost, and other findings contradict both.",
    repair: `Look at the other findings of its account first: ${restoreBackup}.`,
  },
  hour_cost: {
    means: "What an hour of usage cost is not the sum of its calls, and other findings contradict both.",
    repair: `A call of that hour was lost, changed or moved: ${restoreBackup}.`,
  },
  hour_usage: {
    means: "The calls or tokens of an hour of usage are not the sum of its calls. No charge depends on them.",
    repair: `Reports of that hour are wrong: ${restoreBackup}.`,
  },
  operators_loss: {
    means:
      "The operator's loss of an hour is not the sum of what its calls cost beyond their holds. No charge depends on it.",
    repair: `The operator's total is wrong by that: ${restoreBackup}.`,
  },
  budget_spent: {
    means:
      "What an account or a key spent in an hour, as its budgets count it, is not what its calls of that hour cost. No charge depends on it.",
    repair: "Look at the other findings of the account first: where those are put right, repeat it with --repair.",
  },
  charged_twice: {
    means: "A call has its charge in its own row, and a second time in an entry of the ledger.",
    repair: "Grant the account what it was charged too much, with the id of the call in the note.",
  },
  charge_without_call: {
    means: "An entry of the ledger charges a call that should still be kept and is not there.",
    repair: `The call's row was lost: ${restoreBackup}. The charge itself stands in the ledger.`,
  },
  set_aside: {
    means:
      "What came of calls could not be written, and was put into the table set_aside. Those calls are not charged.",
    repair:
      "Look at its body for the calls, and why they were refused. Charge what is due by a refund entry or let it be, then delete the row.",
  },
  no_number: {
    means: "What stands in the place of an amount is no whole number. It counts as its first digits, or as 0.",
    repair: `Somebody has changed the row by hand: set it to a whole number of millionths, or ${restoreBackup}.`,
  },
  overdrawn: {
    means:
      "A prepaid account, which never was postpaid, has less than its holds: its calls were let through without credit.",
    repair: "Suspend the account or have it recharged, and report this: no sequence of calls leads there.",
  },
  over_limit: {
    means: "A key has spent and holds more than its credit limit, which is never set below that.",
    repair:
      "Raise the limit to what is spent and held, or disable the key, and report this: no sequence of calls leads there.",
  },
  below_zero: {
    means: "A sum that only ever counts up or is given back is below 0.",
    repair: `A row that it sums was changed or lost: ${restoreBackup}, or repeat it with --repair where the sum itself differs.`,
  },
  abandoned_hold: {
    means: "A hold or a lease has outlived its process for more than an hour: no gateway has released it.",
    repair:
      "Start a gateway on this database: it releases what has expired within seconds. If one runs, look at its log.",
  },
  code_without_recharge: {
    means: "An account has claimed redeem codes that no recharge of the same moment and amount stands for.",
    repair: "Recharge the account by what the code is worth, with the code's id in the note.",
  },
  code_contradicts: {
    means:
      "A redeem code is claimed and revoked, or claimed by an account at no moment, or at a moment by none: it may be claimed again.",
    repair:
      "Look for its recharge among the entries of the account. If it is there, set claimed_at and claimed_by of the code to the entry's, else clear both.",
  },
  forgotten_usage: {
    means: "The sums of an hour are not what they were when its calls, which are forgotten by now, proved them.",
    repair: `Somebody has changed usage_hours: ${restoreBackup}. No balance depends on it.`,
  },
  price: {
    means: "A call did not cost what its own usage comes to by the price that is kept with it.",
    repair:
      "Look at the call in the dashboard. Grant the account what it was charged too much, with the call's id in the note.",
  },
  price_card: {
    means:
      "A price that calls were charged by is gone or was changed, so that they cannot be priced again. No balance depends on it.",
    repair: `Somebody has changed the table prices: ${restoreBackup}.`,
  },
  journal_unposted: {
    means: "Calls that callers were told of are in a journal, and in no table: their process died or cannot write.",
    repair:
      "Start a gateway on this database: a minute and a half after their process died it posts them. If one ran so long, look at its log.",
  },
  journal_unreadable: {
    means: "A line of a journal is no record. If it was one, the charges in it are lost.",
    repair:
      "Look at the file that ends in .rejected beside the database, put right what was lost, and remove the file.",
  },
  journal_lost: {
    means:
      "The database knows of a journal that was begun and has not ended, and its file is gone. What it alone had is not charged.",
    repair: `Put the folder that ends in .notes back beside the database, or ${restoreBackup}. ${missingCharges}`,
  },
  journal_cut: {
    means:
      "A journal ends before the record that its head says it reaches. The charges of the missing end are not in the database.",
    repair: `Put back the whole file, or ${restoreBackup}. ${missingCharges}`,
  },
  journal_gap: {
    means: "A line of a journal does not follow the one before it: lines between them are missing, or were altered.",
    repair: `Put back the whole file, or ${restoreBackup}. ${missingCharges}`,
  },
  journal_head: {
    means:
      "The head of a journal is damaged. Its lines are read as far as they go, and nobody knows whether its end is there.",
    repair: `Put back the whole file, or ${restoreBackup}. ${missingCharges}`,
  },
  journal_foreign: {
    means: "A file among the journals belongs to another database or another process. Nothing of it was applied.",
    repair: "Move the file to the database that it belongs to, and put back the one that it replaced.",
  },
  journal_elsewhere: {
    means: "A journal does not go on from where the database has it: the one is older than the other.",
    repair: `Put the database and its journals of the same moment together, or ${restoreBackup}. ${missingCharges}`,
  },
} as const satisfies Readonly<Record<string, KindTexts>>;

export type FindingKind = keyof typeof kinds;

/** oddOneOut is what is said of a sum that alone is wrong, while all that it follows from agrees. */
export const oddOneOut: KindTexts = {
  means:
    "The stored sum alone differs: everything else that follows from the same entries, calls and holds agrees with them.",
  repair: "`model-gateway reconcile --repair` sets it to what follows, and records that in the audit log.",
};

/** found makes a finding of a kind. */
export function found(
  kind: FindingKind,
  { what, written = 0, derived = 0, subject }: Partial<Found> & Pick<Found, "what">,
): Found {
  return { kind, what, written, derived, ...kinds[kind], isRepairable: false, subject };
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
