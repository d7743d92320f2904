/** All functions, each after those that it calls. */
import { abandon } from "./abandon.ts";
import { available } from "./available.ts";
import { budgetLeft } from "./budgets.ts";
import { decide } from "./decide.ts";
import { type BooksFunction, clock } from "./function.ts";
import { isLeased, leave, recall, releaseLeases } from "./leases.ts";
import { expire, merge, mergeOf, renew, touch } from "./upkeep.ts";
import { write } from "./write.ts";
import { writeAlone } from "./write-alone.ts";

export const booksFunctions: readonly BooksFunction[] = [
  ...[clock, available, budgetLeft, releaseLeases, isLeased, decide, write, writeAlone],
  ...[mergeOf, merge, expire, renew, recall, leave, abandon, touch],
];
