/** Bounds of money that every engine keeps to. */

/** What may be held of an account before a call, and by one, at most: the sum of both is still exact. */
export const maxHeld = 4e15;

/** A number of the proto's Outcome, which storage does not import: of a call that was lost with its process. */
export const lost = 5;

/**
 * The most that any sum of money may come to, or be owed: a double still holds it exactly. Beyond it holds are refused: those of an account
 * that is billed afterwards and owes so much, and of a key that has spent so much.
 */
export const maxSum = 9e15;
