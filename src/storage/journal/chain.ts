/**
 * The chain of a journal: each line ends in the sum of the line before it (`after`) and in a sum over itself (`sum`), so that one that was
 * altered, lost, or put elsewhere is found.
 *
 * The sums are CRC-32, which finds every change of up to 32 bits in a row and all but one in four thousand million others, for less than
 * half of what SHA-256 costs. They are against faults of disks and of hands; whoever can write the file and has this source can forge them.
 */
import { crc32 } from "../../runtime/files/crc32.ts";

export interface ChainedLine {
  /** The record's own text. */
  readonly text: string;
  readonly after: string;
  readonly sum: string;
  /** isWhole says whether the line is as it was written. */
  readonly isWhole: boolean;
}

/** firstSum returns the sum of what comes before the first line of a node's journal beside a database. */
export function firstSum(database: string, node: string): string {
  return sumOf(`${database} ${node}`);
}

export function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}

/** chained appends the sums to a record's text, which is a JSON object. */
export function chained(text: string, after: string): { readonly line: string; readonly sum: string } {
  const begun = `${text.slice(0, -1)},"after":"${after}"`;
  const sum = sumOf(begun);
  return { line: `${begun},"sum":"${sum}"}`, sum };
}

const pattern = /^(?<begun>.*),"after":"(?<after>[0-9a-f]{8})","sum":"(?<sum>[0-9a-f]{8})"\}$/s;

/** readChained returns undefined for a line without sums. */
export function readChained(line: string): ChainedLine | undefined {
  const { begun, after, sum } = pattern.exec(line)?.groups ?? {};
  if (begun === undefined || after === undefined || sum === undefined) return undefined;
  return { text: `${begun}}`, after, sum, isWhole: sumOf(`${begun},"after":"${after}"`) === sum };
}
