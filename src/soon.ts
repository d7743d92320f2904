/**
 * What is there already, or will be: who has it goes on at once. A call passes some twenty places where something may have to
 * be waited for and hardly ever has, and each wait costs a promise and a turn of the microtask queue.
 *
 * A promise here is one of the platform's own. In async functions `isLater(soon) ? await soon : soon` says so; elsewhere
 * `whenThere` goes on.
 */
export type Soon<T> = T | Promise<T>;

export function isLater<T>(soon: Soon<T>): soon is Promise<T> {
  return soon instanceof Promise;
}

/** Goes on with what is there, now or later. Throws what `goOn` throws now. */
export function whenThere<T, R>(soon: Soon<T>, goOn: (value: T) => Soon<R>): Soon<R> {
  return isLater(soon) ? soon.then(goOn) : goOn(soon);
}
