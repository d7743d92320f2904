/** The calendar of a simulation: what happens next, by a heap of moments. Times are microseconds. */

export interface Calendar {
  now(): number;
  /** Has something happen after a delay. What is due at one moment happens in the order in which it was asked for. */
  after(delay: number, happen: () => void): void;
  /** Lets everything happen that is due until the moment. */
  runUntil(end: number): void;
}

interface Due {
  readonly at: number;
  readonly place: number;
  readonly happen: () => void;
}

const isBefore = (a: Due, b: Due) => a.at < b.at || (a.at === b.at && a.place < b.place);

export function createCalendar(): Calendar {
  const heap: Due[] = [];
  let now = 0;
  let places = 0;

  function push(due: Due): void {
    let i = heap.push(due) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!isBefore(due, heap[parent] as Due)) break;
      heap[i] = heap[parent] as Due;
      i = parent;
    }
    heap[i] = due;
  }

  function pop(): Due {
    const first = heap[0] as Due;
    const last = heap.pop() as Due;
    if (heap.length === 0) return first;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1] as Due, heap[child] as Due)) child++;
      if (!isBefore(heap[child] as Due, last)) break;
      heap[i] = heap[child] as Due;
      i = child;
    }
    heap[i] = last;
    return first;
  }

  return {
    now: () => now,
    after: (delay, happen) => push({ at: now + delay, place: places++, happen }),
    runUntil(end) {
      while (heap.length > 0 && (heap[0] as Due).at <= end) {
        const due = pop();
        now = due.at;
        due.happen();
      }
      now = end;
    },
  };
}
