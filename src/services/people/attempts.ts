/**
 * Limits attempts to guess a password, a code or a link, for each network and for each user. An attempt is counted
 * before it is checked; otherwise simultaneous attempts would all be free.
 *
 * Guessing must not lock the user out: the limit over all networks does not apply where the user is already signed in.
 */
import type { Peer } from "../../call/call.ts";
import { tooManyAttempts } from "../../call/refusals.ts";
import type { Limiter, Rate } from "../../limits/limiter.ts";
import { networkOf } from "../../runtime/net/networks.ts";
import { passwordsWaiting } from "../../runtime/secrets.ts";
import { dayMs, minuteMs } from "../../runtime/time/durations.ts";

/** Attempts counts attempts. Each method throws a Refusal when there were too many. */
export interface Attempts {
  /** countPeer counts an attempt from a network address. It also refuses as refuseBusy does. */
  countPeer(peer: Peer): Promise<void>;
  /**
   * refuseBusy refuses when too many passwords are waiting to be hashed, whoever sent them. It is asked right before one is hashed, too: many
   * attempts may have passed countPeer at once, and wait for the database.
   */
  refuseBusy(): void;
  /**
   * countSignIn counts an attempt to sign in with an e-mail address, whether or not a user has it. `known` is whether
   * the user has a session from the same network.
   */
  countSignIn(email: string, peer: Peer, known: boolean): Promise<void>;
  /**
   * countCode counts a code of a second factor, after the right password: of a million codes three are right at a time, so those who know the
   * password may try few in a day, from however many networks.
   */
  countCode(userId: string): Promise<void>;
  /** countUser counts an attempt by a signed-in user: a stolen session does not include the password. */
  countUser(userId: string): Promise<void>;
}

const windowMs = 15 * minuteMs;
const perNetwork: Rate = { capacity: 30, windowMs };
const perUser: Rate = { capacity: 10, windowMs };
const perUserEverywhere: Rate = { capacity: 50, windowMs };
const codesPerUser: Rate = { capacity: 50, windowMs: dayMs };

/** maxPasswordsWaiting amounts to some seconds of hashing. */
const maxPasswordsWaiting = 100;
const busyRetryMs = 10_000;

export function createAttempts(limiter: Limiter): Attempts {
  async function count(id: string, rate: Rate): Promise<void> {
    const { allowed, retryAfterMs } = await limiter.take(id, rate, 1);
    if (!allowed) throw tooManyAttempts(retryAfterMs, "sign_in");
  }
  function refuseBusy(): void {
    if (passwordsWaiting() >= maxPasswordsWaiting) throw tooManyAttempts(busyRetryMs);
  }
  return {
    async countPeer(peer) {
      await count(`from ${networkOf(peer.address)}`, perNetwork);
      refuseBusy();
    },
    refuseBusy,
    async countSignIn(email, peer, known) {
      await count(`as ${email} from ${networkOf(peer.address)}`, perUser);
      if (!known) await count(`as ${email}`, perUserEverywhere);
    },
    countCode: (userId) => count(`code of ${userId}`, codesPerUser),
    countUser: (userId) => count(`by ${userId}`, perUser),
  };
}
