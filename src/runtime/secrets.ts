/**
 * Creates API keys, tokens and passwords, and hashes them for storage.
 *
 * A key is `sk-` and 256 random bits; only its SHA-256 is stored, which suffices for a secret that cannot be guessed. A
 * password is stored as argon2id, with its salt and costs, in the PHC string format.
 */
import { argon2, hash, randomBytes, timingSafeEqual } from "node:crypto";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";

/** newKeySecret makes the secret of a new API key. It is shown once and stored nowhere. */
export function newKeySecret(): string {
  return `sk-${randomBytes(32).toString("base64url")}`;
}

/** newToken makes the token of a session cookie or a one-time link: 256 random bits. */
export function newToken(): string {
  return randomBytes(32).toString("base64url");
}

/** hashToken returns the form in which such a token is stored. */
export function hashToken(token: string): string {
  return hash("sha256", token, "hex");
}

/** hashKeySecret returns the form in which a key's secret is stored. */
export function hashKeySecret(secret: string): string {
  return hash("sha256", secret, "hex");
}

/** maskKeySecret returns the form in which lists show a secret: its first and last four characters. */
export function maskKeySecret(secret: string): string {
  return `${secret.slice(0, 4)}…${secret.slice(-4)}`;
}

/** newPassword makes a password that a person can copy. */
export function newPassword(): string {
  return randomBytes(12).toString("base64url");
}

// RFC 9106 and the OWASP password storage advice: 19 MiB, two passes, one lane.
const cost = { memory: 19 * 1024, passes: 2, parallelism: 1, tagLength: 32 };
const deriveNow = promisify(argon2);

/**
 * atOnce is how many passwords are hashed at a time, however many people sign in. DNS look-ups and file reads have half of Node's worker
 * threads, and the event loop has a core.
 */
const atOnce = Math.min(2, Math.max(1, availableParallelism() - 1));
let running = 0;
const waiting: (() => void)[] = [];

/** Derives a hash, at most `atOnce` at a time. */
async function derive(...args: Parameters<typeof deriveNow>): Promise<Buffer> {
  if (running >= atOnce) await new Promise<void>((resolve) => waiting.push(resolve));
  else running++;
  try {
    return await deriveNow(...args);
  } finally {
    const next = waiting.shift();
    if (next) next();
    else running--;
  }
}

/** passwordsWaiting returns how many passwords wait to be hashed. */
export function passwordsWaiting(): number {
  return waiting.length;
}

/** hashPassword returns the form in which a password is stored. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await derive("argon2id", { message: password, nonce, ...cost });
  const { memory, passes, parallelism } = cost;
  return `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$${unpadded(nonce)}$${unpadded(tag)}`;
}

/** verifyPassword reports whether a password is the stored one. It is hashed at the cost that the stored one was. */
export async function verifyPassword(password: string, kept: string): Promise<boolean> {
  const match = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([^$]+)\$([^$]+)$/.exec(kept);
  if (!match) throw new Error("a stored password has an unknown format");
  const [, memory, passes, parallelism, nonce = "", tag = ""] = match;
  const expected = Buffer.from(tag, "base64");
  const actual = await derive("argon2id", {
    message: password,
    nonce: Buffer.from(nonce, "base64"),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  });
  return timingSafeEqual(actual, expected);
}

function unpadded(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}
