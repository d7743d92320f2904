/**
 * Encrypts what is kept of an answer with a key that comes of the request it answers, so that what is kept alone tells
 * nobody what was answered: AES-256-GCM, under a key of its own for each answer by HKDF-SHA256. What is long is compressed.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { promisify } from "node:util";
import { zstdCompress, zstdDecompress } from "node:zlib";

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);

/** Below it, compressing saves less than it costs. */
const leastCompressed = 4096;

const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = saltBytes + nonceBytes + tagBytes;

/** The first byte of what is encrypted: what is done to the rest. */
const [plain, compressed] = [0, 1] as const;

/** `bound` is what the answer belongs to: it opens in no other place. */
export async function seal(answer: Buffer, secret: Buffer, bound: string): Promise<Buffer> {
  const isLong = answer.length >= leastCompressed;
  const kept = isLong ? await compress(answer) : answer;
  const salt = randomBytes(saltBytes);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv("aes-256-gcm", keyOf(secret, salt), nonce).setAAD(Buffer.from(bound));
  const text = [cipher.update(Buffer.of(isLong ? compressed : plain)), cipher.update(kept), cipher.final()];
  return Buffer.concat([salt, nonce, cipher.getAuthTag(), ...text]);
}

/** Throws where it was sealed with another secret, or for another place. `mostBytes` bounds what comes out. */
export async function open(sealed: Buffer, secret: Buffer, bound: string, mostBytes: number): Promise<Buffer> {
  const salt = sealed.subarray(0, saltBytes);
  const nonce = sealed.subarray(saltBytes, saltBytes + nonceBytes);
  const decipher = createDecipheriv("aes-256-gcm", keyOf(secret, salt), nonce).setAAD(Buffer.from(bound));
  decipher.setAuthTag(sealed.subarray(saltBytes + nonceBytes, headBytes));
  const opened = Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]);
  const kept = opened.subarray(1);
  return opened[0] === compressed ? decompress(kept, { maxOutputLength: mostBytes }) : kept;
}

function keyOf(secret: Buffer, salt: Buffer): Buffer {
  return Buffer.from(hkdfSync("sha256", secret, salt, "model-gateway replay", 32));
}
