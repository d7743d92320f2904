/** Tells whether the field `host`, or the `:authority` of HTTP/2, names a host as RFC 9110, section 7.2, and RFC 3986, section 3.2, have it. */

/** A name, which may be empty, or an address in brackets, and a port. User information is no part of it. */
const hostField = /^(?:\[[\w.:~!$&'()*+,;=%-]+\]|(?:[\w.~!$&'()*+,;=-]|%[\dA-Fa-f]{2})*)(?::\d*)?$/;

/** isHostField takes linear time, whatever the text is. */
export function isHostField(text: string): boolean {
  return hostField.test(text);
}
