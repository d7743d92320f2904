/** How the codes and words of errors are looked up, and those that tell several things of an error. */
import type { ErrorFields } from "./error-fields.ts";

/** Characters of a message that are read. */
export const lookedAt = 300;

/** wordsOf finds these words where they do not go on from others. */
export function wordsOf(...patterns: readonly string[]): RegExp {
  return new RegExp(`(?<!\\w)(?:${patterns.join("|")})`, "i");
}

/** plainCode returns a code as it is looked up, without the namespace that AWS puts before it: `com.amazon.coral.service#ThrottlingException`. */
export function plainCode(code: string | number): string {
  return `${code}`.toLowerCase().replace(/^[\w.]*#/, "");
}

/** A provider that refuses the content says so with the status of a wrong key. */
export const moderated = wordsOf(
  "flagged|moderation|content[ _]policy",
  "violat(?:es?|ed|ing) (?:\\w+ ){0,3}(?:usage|content|safety|acceptable)|safety[ _]check",
);

/** serversOfTools finds what is said of tools that a vendor calls, and unfetched of an address that cannot be read. */
export const serversOfTools = /\bmcp server|\bconnector\b/i;
export const unfetched = wordsOf(
  "(?:error|timeout|time[ -]?out|failure) (?:while |when |in )?(?:download|fetch|retriev)ing",
  "(?:failed|unable|could not|couldn't|cannot|can't) (?:to )?(?:download|fetch|retrieve)\\b(?! (?:the )?model)",
  "(?:failed|unable|could not|couldn't|cannot|can't) (?:to )?(?:load|open|access) (?:the |an? )?(?:image|picture|file|video|audio|media|url)\\b",
);

/**
 * isThrottled reports that Alibaba's limit a minute is reached, of which it speaks by OpenAI's code for an account without credit.
 *
 * Source: https://help.aliyun.com/en/model-studio/error-code-start
 */
export function isThrottled({ message = "" }: ErrorFields): boolean {
  return /^allocated quota exceeded|error-code#token-limit\b/i.test(message.slice(0, lookedAt));
}
