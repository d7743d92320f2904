/** Tells why a server could not be asked, by the error of its connection. Nothing of what the server sent is told. */

/** ConnectionReason is a reason of the contract (`TestReason`). */
export type ConnectionReason =
  | "HOST_NOT_FOUND"
  | "CONNECTION_REFUSED"
  | "HOST_UNREACHABLE"
  | "CONNECTION_BROKEN"
  | "CONNECTION_FAILED"
  | "TLS_NOT_SPOKEN"
  | "TLS_EXPECTED"
  | "CERTIFICATE_REFUSED"
  | "NO_ANSWER";

const reasonsByCode: ReadonlyMap<string, ConnectionReason> = new Map([
  ...as("HOST_NOT_FOUND", "ENOTFOUND", "EAI_AGAIN", "EAI_NODATA", "EAI_NONAME", "EAI_FAIL"),
  ...as("CONNECTION_REFUSED", "ECONNREFUSED"),
  ...as("HOST_UNREACHABLE", "ENETUNREACH", "EHOSTUNREACH", "ENETDOWN", "EHOSTDOWN", "EADDRNOTAVAIL", "EACCES"),
  ...as("CONNECTION_BROKEN", "ECONNRESET", "ECONNABORTED", "EPIPE", "UND_ERR_SOCKET", "ERR_STREAM_PREMATURE_CLOSE"),
  ...as("NO_ANSWER", "ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"),
  ...as("TLS_NOT_SPOKEN", "ERR_SSL_WRONG_VERSION_NUMBER", "ERR_SSL_PACKET_LENGTH_TOO_LONG"),
  ...as("CERTIFICATE_REFUSED", "ERR_TLS_CERT_ALTNAME_INVALID", "HOSTNAME_MISMATCH", "INVALID_CA", "INVALID_PURPOSE"),
]);

function as(reason: ConnectionReason, ...codes: readonly string[]) {
  return codes.map((code) => [code, reason] as const);
}

/** OpenSSL's errors of certificates. */
const ofCertificate = /^(?:CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_|PATH_LENGTH_)/;

/** protocolError is Node's code for OpenSSL's errors during a write. The message tells which error it is. */
const protocolError = "EPROTO";
const noTls = /wrong version number|packet length too long/;

/** connectionReason returns the reason of a connection's error; undefined where it is no such error. */
export function connectionReason(error: unknown): ConnectionReason | undefined {
  const { name, code, message = "" } = (error ?? {}) as Partial<NodeJS.ErrnoException>;
  if (name === "TimeoutError") return "NO_ANSWER";
  if (typeof code !== "string") return undefined;
  // A server that speaks TLS answers a plain request with an alert, which is not HTTP.
  if (name === "HTTPParserError" || code.startsWith("HPE_")) return "TLS_EXPECTED";
  if (code === protocolError && noTls.test(message)) return "TLS_NOT_SPOKEN";
  if (ofCertificate.test(code)) return "CERTIFICATE_REFUSED";
  return reasonsByCode.get(code) ?? "CONNECTION_FAILED";
}

/** hostOf returns the host of an address, with its port where that is not the usual one. */
export function hostOf(address: string): string {
  return URL.parse(address)?.host ?? address;
}
