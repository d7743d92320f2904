/**
 * Passwords of users whom tests make: to hash them as the gateway does takes a twentieth of a second of a core, each time that one signs
 * in.
 */
import { argon2Sync, randomBytes } from "node:crypto";

/** quickHash returns what is kept of a password, made at the least cost. A password is verified at the cost that is kept with it. */
export function quickHash(password: string): string {
  const nonce = randomBytes(16);
  const tag = argon2Sync("argon2id", { message: password, nonce, memory: 8, passes: 1, parallelism: 1, tagLength: 32 });
  return `$argon2id$v=19$m=8,t=1,p=1$${nonce.toString("base64")}$${tag.toString("base64")}`;
}
