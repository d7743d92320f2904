/** All functions, each after those that it calls. */
import { available } from "./available.ts";
import { decide } from "./decide.ts";
import { type BooksFunction, clock } from "./functions.ts";
import { abandon, expire, isLeased, leave, merge, mergeOf, recall, releaseLeases, renew, touch } from "./upkeep.ts";
import { write } from "./write.ts";
import { writeAlone } from "./write-alone.ts";

export const booksFunctions: readonly BooksFunction[] = [
  ...[clock, available, releaseLeases, isLeased, decide, write, writeAlone],
  ...[mergeOf, merge, expire, renew, recall, leave, abandon, touch],
];
