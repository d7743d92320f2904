/** The parts of money over SQLite, which all books of an engine share. */
import type { Engine } from "../../engine.ts";
import { createJournalRows, type JournalRows } from "../journal/journal-rows.ts";
import { type Apply, createApply } from "./apply.ts";
import { type BudgetBooks, createBudgetBooks } from "./budgets.ts";
import { createInsertCalls } from "./insert-calls.ts";
import { createPendingTotals, type PendingTotals } from "./pending-totals.ts";
import { type LedgerStatements, ledgerStatements } from "./statements.ts";
import { createSteps, type Steps } from "./steps.ts";

export interface BooksParts {
  readonly engine: Engine;
  readonly statements: LedgerStatements;
  readonly steps: Steps;
  readonly pendingTotals: PendingTotals;
  readonly apply: Apply;
  readonly rows: JournalRows;
  readonly budgets: BudgetBooks;
  /** own are the nodes whose books are open in this process. */
  readonly own: Set<string>;
}

export function createBooksParts(engine: Engine): BooksParts {
  const { books } = engine;
  const statements = ledgerStatements(books);
  const pendingTotals = createPendingTotals(books, statements);
  const budgets = createBudgetBooks(engine, pendingTotals.of);
  const steps = createSteps(books, statements, budgets);
  const apply = createApply({
    statements,
    pendingTotals,
    budgets,
    insertCalls: createInsertCalls(statements),
    holdAlone: steps.holdAgain,
    captureAlone: (call) => steps.capture(call),
  });
  return { engine, statements, steps, pendingTotals, apply, rows: createJournalRows(books), budgets, own: new Set() };
}
