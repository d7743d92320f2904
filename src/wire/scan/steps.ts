/**
 * What a scanner has done, counted: a step is a byte that it looked at, searched or copied. Its work is linear where the steps
 * are in proportion to the bytes, whatever these are; `test/wire/scan/linear.test.ts` holds every scanner to that.
 */
export interface Steps {
  count: number;
}
