/** Says in words why Redis is away, and what to do about it. The words never hold what a URL or an answer does. */

/**
 * causeOf returns the words for an error of the connection, or for one that Redis answered. `isTls`: of a connection that was to be
 * encrypted.
 */
export function causeOf(error: unknown, isTls: boolean): string {
  const cause = wordsOf(error);
  // A server without TLS waits for the rest of what it takes for a command.
  return cause === silent && isTls ? `${silent}, or does not speak TLS (redis://)` : cause;
}

function wordsOf(error: unknown): string {
  const { code, message = "", name } = (error ?? {}) as { code?: unknown; message?: string; name?: string };
  if (typeof code === "string") return byCode.get(code) ?? (/CERT|SIGN|ISSUER/.test(code) ? certificate : code);
  const found = byText.find(([pattern]) => pattern.test(message));
  if (found) return found[1];
  return byName.get(name ?? "") ?? byClass.get((error as object | undefined)?.constructor?.name ?? "") ?? "it failed";
}

const certificate =
  "its certificate is not trusted, or is for another host: name the authority's file in NODE_EXTRA_CA_CERTS";
const silent = "it does not answer in time";
const closed = "it closed the connection: perhaps it wants TLS (rediss://)";

const byCode: ReadonlyMap<string, string> = new Map([
  ["ECONNREFUSED", "nothing listens at that address"],
  ["ENOTFOUND", "its host is not known"],
  ["EAI_AGAIN", "its host cannot be looked up now"],
  ["EHOSTUNREACH", "its host cannot be reached"],
  ["ENETUNREACH", "its network cannot be reached"],
  ["ETIMEDOUT", silent],
  ["ECONNRESET", closed],
  ["EPIPE", closed],
  ["ERR_SSL_WRONG_VERSION_NUMBER", "it does not speak TLS: use redis:// for it"],
  ["ERR_SSL_PACKET_LENGTH_TOO_LONG", "it does not speak TLS: use redis:// for it"],
]);

/** Redis begins an error with a word that says which it is. */
const byText: readonly (readonly [RegExp, string])[] = [
  [/^WRONGPASS|invalid password/, "it refuses the user or the password of the URL"],
  [/^NOAUTH/, "it wants a password: add it to the URL"],
  [/^NOPERM/, "its user may not run the gateway's scripts, or not on these keys"],
  [/unknown command|^NOPROTO/, "it is older than Redis 6.2"],
  [/^MOVED|^CROSSSLOT|^ASK /, "it is a node of a cluster: say so with redis.cluster: true"],
  [/cluster support disabled/, "it is no cluster: leave redis.cluster out"],
  [/^CLUSTERDOWN/, "its cluster is down"],
  [/^READONLY/, "it is a replica, or has become one: use the address of the primary"],
  [/^OOM/, "its memory is full: raise maxmemory"],
  [/^MISCONF/, "it cannot save its data, and refuses writes"],
  [/^LOADING/, "it is loading its data"],
  [/^BUSY/, "it is busy with another's script"],
  [/^MASTERDOWN/, "its primary is down"],
  [/DB index is out of range/, "it has no database of that number"],
  [/max number of clients/, "it has too many clients: raise maxclients"],
];

const byName: ReadonlyMap<string, string> = new Map([["TimeoutError", silent]]);

const byClass: ReadonlyMap<string, string> = new Map([
  ["ConnectionTimeoutError", silent],
  ["SocketClosedUnexpectedlyError", closed],
  ["DisconnectsClientError", closed],
  ["ClientOfflineError", closed],
  ["ClientClosedError", closed],
]);
