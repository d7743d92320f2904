/** Makes headers. The platform's own errors quote the value at fault, which may be a secret, into logs: these name none. */

/** Throws a TypeError. */
export function headersFrom(...inits: readonly (HeadersInit | undefined)[]): Headers {
  try {
    const all = new Headers();
    for (const init of inits) {
      new Headers(init).forEach((value, name) => {
        all.set(name, value);
      });
    }
    return all;
  } catch {
    throw new TypeError("A header of the call has a name or a value that HTTP does not allow.");
  }
}

/** Returns a key without the spaces and line breaks around it, as a file has them. Throws a TypeError for what can be none. */
export function readKey(apiKey: string): string {
  const key = apiKey.trim();
  if (key === "") throw new TypeError("The API key is empty. Leave it out, or read it from where it is kept.");
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new TypeError("The API key has a space, a line break or a sign that no key has. Copy it anew.");
  }
  return key;
}
