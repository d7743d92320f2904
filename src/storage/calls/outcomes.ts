/** Outcomes of calls and attempts, as rows have them: numbers of the proto's Outcome, which storage does not import. */

/** answered is how nearly all calls end. */
export const answered = 1;
/** failed is of a call that got no byte, by the fault of the upstream or the gateway. */
export const failed = 2;
/** broken is of an answer that the upstream broke off. */
export const broken = 3;
/** lost is of a call whose gateway died: nobody knows how its last attempt ended. */
export const lost = 5;
