/** Shares among tests of vendors' SDKs the texts that they send, and how they read refusals and the log. */
import { z } from "zod";
import type { TestGateway } from "../gateway.ts";

export const sentence = "The quick brown fox jumps over the lazy dog, 世界! 👋";
/** A picture of one pixel: a PNG, in base64. */
export const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** One try: what the gateway says is what the test sees. */
export const oneTry = { maxRetries: 0 };

/** Recipe is the form of a structured answer. */
export const Recipe = z.object({
  title: z.string(),
  minutes: z.number().int().min(1).max(600),
  vegan: z.boolean(),
  difficulty: z.enum(["easy", "hard"]),
  steps: z.array(z.object({ text: z.string(), tool: z.string().nullable() })),
});

/** Returns the error that an SDK throws, which is of its kind of errors. */
export async function thrownBy<E>(work: PromiseLike<unknown>, isOfSdk: (error: unknown) => error is E): Promise<E> {
  const error = await Promise.resolve(work).then(
    () => new Error("it was answered"),
    (reason: unknown) => reason,
  );
  if (isOfSdk(error)) return error;
  throw error;
}

/** Returns the log lines of calls so far. */
export function callsOf({
  logged,
}: TestGateway): { rpc: string; status: number; request_id: string; reason?: string }[] {
  const lines = logged().split("\n").filter(Boolean);
  return lines.map((line) => JSON.parse(line)).filter(({ rpc }) => rpc !== undefined);
}
