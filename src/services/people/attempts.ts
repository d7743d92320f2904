/**
 * How often somebody may try a password, a code or a link: so that nobody gets far by guessing, from one place or at
 * one user. An attempt is counted before it is looked at, for those that are made at once would otherwise all be free.
 *
 * Whoever guesses at a user must not lock that user out: what is counted for all places together does not hold where the
 * user is signed in already.
 */
import type { Peer } from "../../call/call.ts";
import { tooManyAttempts } from "../../call/refusals.ts";
import type { Limiter, Rate } from "../../limits/limiter.ts";
import { networkOf } from "../../limits/networks.ts";
import { passwordsWaiting } from "../../runtime/secrets.ts";

/** Each throws a Refusal where there were too many. */
export interface Attempts {
  /** Counts one from this place on the network. Refuses, too, where more wait than are soon looked at, from wherever. */
  from(peer: Peer): Promise<void>;
  /**
   * Counts one to sign in as this e-mail address, whether or not anybody has it. `known` says that the user has a session
   * from the same place.
   */
  as(email: string, peer: Peer, known: boolean): Promise<void>;
  /** Counts one of somebody who is signed in: who has taken a session has not got the password. */
  by(userId: string): Promise<void>;
}

const windowMs = 15 * 60_000;
const perPlace: Rate = { capacity: 30, windowMs };
const perUser: Rate = { capacity: 10, windowMs };
const perUserEverywhere: Rate = { capacity: 50, windowMs };

/** Seconds of work. */
const mostWaiting = 100;
const comeAgainMs = 10_000;

export function createAttempts(limiter: Limiter): Attempts {
  async function count(id: string, rate: Rate): Promise<void> {
    const { allowed, retryAfterMs } = await limiter.take(id, rate, 1);
    if (!allowed) throw tooManyAttempts(retryAfterMs, "sign_in");
  }
  return {
    async from(peer) {
      await count(`from ${networkOf(peer.address)}`, perPlace);
      if (passwordsWaiting() >= mostWaiting) throw tooManyAttempts(comeAgainMs);
    },
    async as(email, peer, known) {
      await count(`as ${email} from ${networkOf(peer.address)}`, perUser);
      if (!known) await count(`as ${email}`, perUserEverywhere);
    },
    by: (userId) => count(`by ${userId}`, perUser),
  };
}
