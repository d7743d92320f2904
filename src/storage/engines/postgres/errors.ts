/** Tells what errors of Postgres mean: whether the same may succeed later, and what an operator is told. */
import { codeOf, StorageError } from "../../../runtime/write-trouble.ts";

/** AwayError says that the database did not answer for as long as one waits for it. */
export class AwayError extends Error {
  override readonly name = "AwayError";
  readonly code = "DATABASE_AWAY";

  constructor(cause?: unknown) {
    super("the database does not answer", { cause });
  }
}

/** Codes of five letters and digits are Postgres's. */
const sqlState = /^[0-9A-Z]{5}$/;
/** The system's codes of sockets, and what the driver says of a connection that has ended. */
const ofSocket = /^(?:E[A-Z_]+|ERR_SSL.*|ERR_TLS.*|DATABASE_AWAY)$/;
const ofDriver = /connection (?:terminated|ended)|not queryable|client (?:was|has been) closed|timeout/i;

/** isConnectionError reports whether the connection is at fault, so that nobody knows whether the statement was done. */
export function isConnectionError(error: unknown): boolean {
  const code = codeOf(error);
  // 08: connection; 57P0…: the server stops or starts; 25006: it became a replica; 53: it lacks something; 58, XX: it fails.
  if (sqlState.test(code) && !code.startsWith("E")) return /^(?:08|57P0|25006|53|58|XX)/.test(code);
  return ofSocket.test(code) || ofDriver.test((error as Error | null)?.message ?? "");
}

/** isConflict reports whether the transaction was undone because of others, and may be begun anew. */
export function isConflict(error: unknown): boolean {
  return /^(?:40001|40P01)$/.test(codeOf(error));
}

/** isLocked reports whether somebody else kept a lock for too long. */
export function isLocked(error: unknown): boolean {
  return codeOf(error) === "55P03";
}

const remedies: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, "nobody listens there. Start the server, or correct DATABASE_URL"],
  [/^(?:ENOTFOUND|EAI_AGAIN)$/, "its host is not known. Correct DATABASE_URL, or look at the network"],
  [
    /^(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ECONNRESET|EPIPE)$/,
    "it does not answer. Look at the network, or correct DATABASE_URL",
  ],
  [/^28/, "it refuses the user or the password. Correct DATABASE_URL, or pg_hba.conf"],
  [/^3D000$/, "there is no such database. Create it, or correct DATABASE_URL"],
  [/^42501$/, "the user lacks a right. GRANT CREATE, USAGE ON SCHEMA to it, and let it own the tables"],
  [/^53300$/, "it has no connection left. Raise max_connections, use a pooler, or lower database.pool_size"],
  [/^53100$/, "its disk is full. Make room on it"],
  [/^25006$/, "it is a replica, and cannot be written. Name the primary in DATABASE_URL"],
  [/^57P03$/, "it starts or recovers. Try again in a moment"],
  [
    /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT_LOCALLY)$/,
    "no known authority has signed its certificate. Name that authority's file with sslrootcert",
  ],
  [/^CERT_HAS_EXPIRED$/, "its certificate has expired. Renew it"],
  [
    /^ERR_TLS_CERT_ALTNAME_INVALID$/,
    "its certificate is of another name. Correct the host, or ask for sslmode=verify-ca",
  ],
];

const messages: readonly (readonly [RegExp, string])[] = [
  [/does not support SSL/, "it offers no TLS. Turn TLS on there, or ask for sslmode=disable"],
  [/timeout expired|timeout exceeded/, "it does not answer. Look at the network, or correct DATABASE_URL"],
  [/password must be a string/, "it asks for a password, and DATABASE_URL has none"],
];

/** openingError turns an error of opening a database into one line for its operator, which says what to do. */
export function openingError(name: string, error: unknown): StorageError {
  if (error instanceof StorageError) return error;
  const why = remedyOf(error) ?? (firstCause(error) as Error).message;
  return new StorageError(`the database ${name} cannot be opened: ${why}`, { cause: error });
}

/** remedyOf returns what is wrong and what to do; undefined for an error that is not known. */
export function remedyOf(error: unknown): string | undefined {
  const cause = firstCause(error);
  const code = codeOf(cause);
  const { message } = cause as Error;
  return (
    remedies.find(([pattern]) => pattern.test(code))?.[1] ?? messages.find(([pattern]) => pattern.test(message))?.[1]
  );
}

/** firstCause returns the first of several errors: a name with several addresses fails with one for each. */
function firstCause(error: unknown): unknown {
  return error instanceof AggregateError && error.errors.length > 0 ? error.errors[0] : error;
}
