/**
 * JSON as others may write it: white space, escapes where none are needed, numbers in several spellings, members twice. Most of
 * what is made says the value that it is made of.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { pick, type Random } from "../support/run/random.ts";

export interface Spelling {
  /** How often something is written in another way, from 0 to 1. */
  readonly oddly: number;
  /** How often a member is written twice. */
  readonly twice: number;
}

export function spelled(value: JsonValue, spelling: Spelling, random: Random): string {
  const { oddly, twice } = spelling;
  const isOdd = () => random() < oddly;
  const space = () => (isOdd() ? pick([" ", "\n", "\t", "\r\n", "  "], random) : "");
  const text = (value: string) => (isOdd() ? escaped(value, random) : JSON.stringify(value));
  const write = (value: JsonValue): string => {
    if (typeof value === "string") return text(value);
    if (typeof value === "number") return isOdd() ? numberText(value, random) : JSON.stringify(value);
    if (typeof value !== "object" || value === null) return JSON.stringify(value);
    if (Array.isArray(value)) return `[${space()}${value.map((item) => write(item) + space()).join(`,${space()}`)}]`;
    const members = Object.keys(value).flatMap((key) => {
      const member = () => `${text(key)}${space()}:${space()}${write(value[key] as JsonValue)}${space()}`;
      return random() < twice ? [member(), member()] : [member()];
    });
    return `{${space()}${members.join(`,${space()}`)}}`;
  };
  return space() + write(value) + space();
}

/** Writes some characters as `\u0061`; of a long text only in its first part. */
function escaped(text: string, random: Random): string {
  const [first, rest] = [text.slice(0, 64), text.slice(64)];
  const written = Array.from({ length: first.length }, (_, i) => {
    const code = first.charCodeAt(i);
    return random() < 0.4 ? `\\u${code.toString(16).padStart(4, "0")}` : JSON.stringify(first[i]).slice(1, -1);
  });
  return `"${written.join("")}${JSON.stringify(rest).slice(1, -1)}"`;
}

function numberText(value: number, random: Random): string {
  if (!Number.isFinite(value)) return "1e400";
  const plain = JSON.stringify(value);
  const whole = Number.isInteger(value) && !plain.includes("e") ? [`${plain}.0`, `${plain}e0`, `${plain}00E-2`] : [];
  return pick([plain, value.toExponential(), "-0", "1e-400", "12345678901234567890", ...whole], random);
}
