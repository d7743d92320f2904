/**
 * One Postgres server: cores that work on transactions in the order in which they come, a log whose flush commits all that wait for it,
 * and the rows of accounts that many nodes want, each of which one transaction at a time has until it is committed.
 *
 * A transaction of many short statements, and reads, are not simulated one by one: they slow the cores down by what they take.
 */
import type { Calendar } from "./events.ts";

export interface Transaction {
  /** cpu is the time of a core, in microseconds; bytes is the length in the log. */
  readonly cpu: number;
  readonly bytes: number;
  /** isHot is whether it changes the row of the account that most scarce calls are of. */
  readonly isHot: boolean;
  readonly done: () => void;
}

export interface DatabaseOptions {
  readonly calendar: Calendar;
  readonly cores: number;
  /** taken is the share of all cores that statements take which are not simulated one by one. */
  readonly taken: number;
  readonly flushUs: number;
  readonly logBytes: number;
}

export interface Database {
  run(transaction: Transaction): void;
  used(): Used;
}

/** Used adds up since the beginning. */
export interface Used {
  readonly cpu: number;
  readonly bytes: number;
  readonly commits: number;
  readonly flushes: number;
  /** hotUs is for how long a transaction had the row of that account, in microseconds. */
  readonly hotUs: number;
}

export function createDatabase(options: DatabaseOptions): Database {
  const { calendar, cores, taken, flushUs, logBytes } = options;
  const used = { cpu: 0, bytes: 0, commits: 0, flushes: 0, hotUs: 0 };
  const ready = createQueue<Transaction>();
  const wanting = createQueue<Transaction>();
  let working = 0;
  let isHotTaken = false;
  let hotSince = 0;
  let committing: Transaction[] = [];
  let isFlushing = false;
  const speed = Math.max(0.02, 1 - taken);

  function work(): void {
    while (working < cores && ready.size() > 0) {
      const transaction = ready.shift() as Transaction;
      working++;
      used.cpu += transaction.cpu;
      calendar.after(transaction.cpu / speed, () => {
        working--;
        committing.push(transaction);
        flush();
        work();
      });
    }
  }

  function flush(): void {
    if (isFlushing || committing.length === 0) return;
    const batch = committing;
    committing = [];
    isFlushing = true;
    const bytes = batch.reduce((sum, transaction) => sum + transaction.bytes, 0);
    used.bytes += bytes;
    used.flushes++;
    used.commits += batch.length;
    calendar.after(flushUs + (bytes / logBytes) * 1e6, () => {
      isFlushing = false;
      for (const transaction of batch) end(transaction);
      flush();
    });
  }

  function end(transaction: Transaction): void {
    if (transaction.isHot) {
      used.hotUs += calendar.now() - hotSince;
      isHotTaken = false;
      begin(wanting.shift());
    }
    transaction.done();
  }

  function begin(transaction: Transaction | undefined): void {
    if (!transaction) return;
    if (transaction.isHot) {
      if (isHotTaken) {
        wanting.push(transaction);
        return;
      }
      isHotTaken = true;
      hotSince = calendar.now();
    }
    ready.push(transaction);
    work();
  }

  return { run: begin, used: () => ({ ...used }) };
}

interface Queue<T> {
  push(item: T): void;
  shift(): T | undefined;
  size(): number;
}

/** An array whose front moves: `shift` of a long array copies it. */
function createQueue<T>(): Queue<T> {
  let items: T[] = [];
  let front = 0;
  return {
    push: (item) => void items.push(item),
    shift() {
      if (front >= items.length) return undefined;
      const item = items[front++];
      if (front > 1024 && front * 2 > items.length) {
        items = items.slice(front);
        front = 0;
      }
      return item;
    },
    size: () => items.length - front,
  };
}
