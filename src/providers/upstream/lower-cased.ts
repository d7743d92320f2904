/** lowerCased returns headers by their names in lower case. */
export function lowerCased<T>(headers: Readonly<Record<string, T>> = {}): Record<string, T> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
