/**
 * The head of a journal's file, of a fixed length: whose journal it is, and how far it must reach. It is written again with every
 * record, so that a file whose end is missing is found, even where it ends between two lines.
 */
import { sumOf } from "./chain.ts";

export interface Head {
  /** The database that it belongs to, and the process that writes it. */
  readonly database: string;
  readonly node: string;
  /** The sum of the line before its first one. */
  readonly base: string;
  /** The number and the sum of its last record, also where that was posted and is gone. */
  readonly seq: number;
  readonly last: string;
  /** The last sign of life of its process, in milliseconds since 1970. */
  readonly at: number;
}

/** headBytes is the length of a head, in bytes, with its line end. */
export const headBytes = 256;

const format = 1;

export function textOfHead({ database, node, base, seq, last, at }: Head): string {
  const begun = `{"journal":${format},"database":"${database}","node":"${node}","base":"${base}","seq":${seq},"last":"${last}","at":${at}`;
  return `${`${begun},"sum":"${sumOf(begun)}"}`.padEnd(headBytes - 1)}\n`;
}

/** ReadHead is what the first bytes of a file turned out to be. */
export type ReadHead =
  | { readonly kind: "head"; readonly head: Head }
  /** A file of an older version, or one that was taken out of a back-up: its lines begin at once. */
  | { readonly kind: "none" }
  | { readonly kind: "damaged" };

const pattern = /^(?<begun>\{"journal":1,.*),"sum":"(?<sum>[0-9a-f]{8})"\} *\n$/;

/** readHead reads the first `headBytes` of a file, or all of a shorter one. */
export function readHead(text: string): ReadHead {
  if (text === "" || text.startsWith("\n")) return { kind: "none" };
  const { begun, sum } = pattern.exec(text)?.groups ?? {};
  if (begun === undefined || sumOf(begun) !== sum) return { kind: "damaged" };
  return { kind: "head", head: JSON.parse(`${begun}}`) as Head };
}
