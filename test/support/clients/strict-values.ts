/** Checks single values for the checks of strict clients' requirements: each throws where a value is not as it has to be. */
import { expect } from "vitest";
import type { SseFrame } from "../../../src/wire/sse.ts";

// biome-ignore lint/suspicious/noExplicitAny: what is checked here is whether it has the form at all.
export type Any = any;

export const text = expect.any(String);
export const count = (value: unknown, what: string) => {
  if (!Number.isInteger(value) || (value as number) < 0) throw new Error(`${what} is no count: ${value}`);
};

export function oneOf(value: unknown, words: readonly unknown[], what: string): void {
  if (!words.includes(value)) throw new Error(`${what} is none of ${words.join(", ")}: ${JSON.stringify(value)}`);
}

export function nonEmpty(value: unknown, what: string): void {
  if (typeof value !== "string" || value === "") throw new Error(`${what} is no text, or empty: ${value}`);
}

/** Throws unless a key is there at all: null will do. */
export function present(value: object, ...keys: readonly string[]): void {
  for (const key of keys) if (!(key in value)) throw new Error(`${key} is missing in ${JSON.stringify(value)}`);
}

export function absentOrText(value: unknown, what: string): void {
  if (value !== undefined && value !== null && typeof value !== "string") throw new Error(`${what} is no text`);
}

/** Returns the events of a stream; each frame names the type of what it holds. */
export function eventsIn(frames: readonly SseFrame[]): Any[] {
  return frames.map(({ event, data }) => {
    const json = JSON.parse(data.toString());
    expect(json.type).toBe(event);
    return json;
  });
}
