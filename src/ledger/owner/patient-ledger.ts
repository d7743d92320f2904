/**
 * The ledger of a worker whose owner may stand still: a hold that has to be decided is refused once the owner has been silent for some
 * seconds, as where there is none. What it decides later is released. What ended calls cost waits for it, or for the next owner.
 */
import type { Link } from "../../runtime/ipc/link.ts";
import { isPromise } from "../../runtime/maybe-promise.ts";
import { maxWaitMs } from "../../storage/money/books.ts";
import type { Ledger } from "../contract.ts";

export function patientLedger(
  ledger: Ledger,
  { hearing }: Pick<Link, "hearing">,
  onError: (error: unknown) => void,
): Ledger {
  return {
    ...ledger,
    hold(request) {
      const making = ledger.hold(request);
      if (!isPromise(making)) return making;
      return hearing.whileHeard(making, maxWaitMs, (made) => {
        if (made.kind === "held") ledger.release(made).catch(onError);
      });
    },
  };
}
