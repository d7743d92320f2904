/** Numbers of money that every engine keeps to. */

/** What may be held of an account before a call, and by one, at most: the sum of both is still exact. */
export const maxHeld = 4e15;

/** A number of the proto's Outcome, which storage does not import: of a call that was lost with its process. */
export const lost = 5;
