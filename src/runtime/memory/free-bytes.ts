/** Frees memory without V8, which collects it late: what long bodies leave behind would take several times what is in flight. */

/**
 * freeBytes frees the memory of bytes that nobody needs any more: they have no length then. Memory that they share with others stays. Bytes
 * that are being written to a socket may not be freed.
 */
export function freeBytes({ buffer, byteLength }: Buffer): void {
  if (byteLength > 0 && buffer.byteLength === byteLength) (buffer as ArrayBuffer).transfer(0);
}
