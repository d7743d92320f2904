/**
 * Lists and sums of calls are read from a replica; one call by its id, which somebody may have made a moment ago, is read from the
 * primary.
 */
import { pagesOf, type RequestStore } from "./requests.ts";

/** Read reads from the replica, or else from the primary. */
type Read = <T>(here: () => Promise<T>, primary: () => Promise<T>) => Promise<T>;

export function requestsOnReplica(replica: RequestStore, primary: RequestStore, read: Read): RequestStore {
  const page: RequestStore["page"] = (...of) =>
    read(
      () => replica.page(...of),
      () => primary.page(...of),
    );
  return {
    find: primary.find,
    findAny: primary.findAny,
    page,
    pageOfAll: (...of) =>
      read(
        () => replica.pageOfAll(...of),
        () => primary.pageOfAll(...of),
      ),
    pages: pagesOf(page),
    sums: (filter) =>
      read(
        () => replica.sums(filter),
        () => primary.sums(filter),
      ),
    useOf: (...of) =>
      read(
        () => replica.useOf(...of),
        () => primary.useOf(...of),
      ),
    summarize: (...of) =>
      read(
        () => replica.summarize(...of),
        () => primary.summarize(...of),
      ),
    measureAttempts: (...of) =>
      read(
        () => replica.measureAttempts(...of),
        () => primary.measureAttempts(...of),
      ),
    losses: (...of) =>
      read(
        () => replica.losses(...of),
        () => primary.losses(...of),
      ),
  };
}
