/** The keys that secrets of the stored configuration are sealed by (`stored/seal.ts`), as the environment and files hold them. */
import { createHash, randomBytes } from "node:crypto";

/** SealKeys are keys of 32 bytes. The first seals, and any of them opens. */
export type SealKeys = readonly Buffer[];

const keyBytes = 32;

/** keyName returns what sealed texts call a key. It tells nothing of the key. */
export function keyName(key: Buffer): string {
  return createHash("sha256").update("model-gateway configuration key:").update(key).digest("hex").slice(0, 8);
}

/**
 * readSealKeys reads keys of 32 bytes, in hex or base64, with commas or spaces between them. Returns undefined where the text is
 * anything else.
 */
export function readSealKeys(text: string): SealKeys | undefined {
  const words = text.split(/[\s,]+/).filter((word) => word !== "");
  const keys = words.map((word) => (/^[\da-f]{64}$/i.test(word) ? Buffer.from(word, "hex") : base64Of(word)));
  return keys.length > 0 && keys.every((key) => key?.length === keyBytes) ? (keys as Buffer[]) : undefined;
}

function base64Of(word: string): Buffer | undefined {
  return /^[\w+/-]{43}=?$/.test(word) ? Buffer.from(word, "base64") : undefined;
}

/** newSealKey returns a key in hex. */
export function newSealKey(): string {
  return randomBytes(keyBytes).toString("hex");
}
