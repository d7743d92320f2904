/**
 * Steps counts the work of a scanner: each byte that it looks at, searches or copies. `test/wire/scan/linear.test.ts`
 * holds every scanner to steps proportional to the bytes, whatever the bytes are.
 */
export interface Steps {
  count: number;
}
