/** The target of a request, checked before it is written. */

const forbidden = /[^\x21-\x7e]/;

/** Throws TypeError for a path with characters that would end or split the request line. */
export function checkPath(path: string): void {
  if (forbidden.test(path)) throw new TypeError("the path of a request has forbidden characters");
}
