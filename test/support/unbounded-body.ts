/** The share of a call whose body may be as long as it likes. */
import { createBodyBudget } from "../../src/doors/body/body-budget.ts";

export const unboundedBodies = createBodyBudget({
  maxBytes: Number.POSITIVE_INFINITY,
  maxBytesPerAccount: Number.POSITIVE_INFINITY,
  maxBytesEach: Number.POSITIVE_INFINITY,
});

export const unboundedBody = unboundedBodies.open("");
