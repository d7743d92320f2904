/**
 * Encrypts stored answers with a secret that is derived from the request, so that the database alone does not reveal them:
 * AES-256-GCM, with a key for each answer by HKDF-SHA256. Long answers are compressed first.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Shorter answers, in bytes, are not worth compressing. */
const minCompressed = 4096;

const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = saltBytes + nonceBytes + tagBytes;

/** The first byte of the plain text says whether the rest is compressed. */
const [plain, compressed] = [0, 1] as const;

/** seal encrypts an answer. `bound` is authenticated with the answer, which opens only with the same. */
export async function seal(answer: Buffer, secret: Buffer, bound: string): Promise<Buffer> {
  const isLong = answer.length >= minCompressed;
  const kept = isLong ? await compress(answer) : answer;
  const salt = randomBytes(saltBytes);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", keyOf(secret, salt), nonce).setAAD(Buffer.from(bound));
  const text = [cipher.update(Buffer.of(isLong ? compressed : plain)), cipher.update(kept), cipher.final()];
  return Buffer.concat([salt, nonce, cipher.getAuthTag(), ...text]);
}

/** open rejects where the answer was sealed with another secret or `bound`. `maxBytes` bounds the decompressed answer. */
export async function open(sealed: Buffer, secret: Buffer, bound: string, maxBytes: number): Promise<Buffer> {
  const salt = sealed.subarray(0, saltBytes);
  const nonce = sealed.subarray(saltBytes, saltBytes + nonceBytes);
  const decipher = createDecipheriv("aes-256-gcm", keyOf(secret, salt), nonce).setAAD(Buffer.from(bound));
  decipher.setAuthTag(sealed.subarray(saltBytes + nonceBytes, headBytes));
  const opened = Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]);
  const kept = opened.subarray(1);
  return opened[0] === compressed ? decompress(kept, { maxOutputLength: maxBytes }) : kept;
}

function keyOf(secret: Buffer, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, salt, "model-gateway replay", 32));
}
