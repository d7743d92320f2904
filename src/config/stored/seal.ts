/**
 * Seals secrets with AES-256-GCM before they are stored. A sealed text names the key that it was sealed by, and is bound to its place:
 * moved to another it cannot be opened.
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Json } from "./documents.ts";
import { keyName, type SealKeys } from "./seal-keys.ts";
import { mapSecrets } from "./secrets.ts";

const prefix = "sealed:1:";
const [nonceBytes, tagBytes] = [12, 16];

/** SealError is thrown where a sealed text cannot be opened. Its message holds nothing of the text. */
export class SealError extends Error {
  override readonly name = "SealError";
}

/** sealed returns a document whose secrets are sealed. */
export function sealed(document: Json, keys: SealKeys): Json {
  const [key] = keys;
  return mapSecrets(document, (secret, path) => {
    if (!key) throw new SealError("there is no key to seal it by");
    return sealText(secret, path, key);
  });
}

/** opened returns a document with its secrets as they were. Throws a SealError. */
export function opened(document: Json, keys: SealKeys): Json {
  return mapSecrets(document, (text, path) => openText(text, path, keys));
}

function sealText(secret: string, path: string, key: Buffer): string {
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(path));
  const bytes = [nonce, cipher.update(secret, "utf8"), cipher.final(), cipher.getAuthTag()];
  return `${prefix}${keyName(key)}:${Buffer.concat(bytes).toString("base64url")}`;
}

function openText(text: string, path: string, keys: SealKeys): string {
  const [name = "", body = ""] = text.startsWith(prefix) ? text.slice(prefix.length).split(":") : [];
  const key = keys.find((one) => keyName(one) === name);
  if (body === "") throw new SealError(`${path} is not sealed`);
  if (!key) throw new SealError(`${path} was sealed by the key ${name}, which is not here`);
  const bytes = Buffer.from(body, "base64url");
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes });
  try {
    decipher.setAAD(Buffer.from(path)).setAuthTag(bytes.subarray(-tagBytes));
    return decipher.update(bytes.subarray(nonceBytes, -tagBytes), undefined, "utf8") + decipher.final("utf8");
  } catch {
    throw new SealError(`${path} is damaged, or was sealed for another place`);
  }
}
