/** Reads DATABASE_URL. Its password is never a part of a message. */
import { readFileSync } from "node:fs";
import type { ConnectionOptions } from "node:tls";
import { diskMessage, StorageError } from "../../../runtime/write-trouble.ts";

/** Address is where a database is, and how it is connected to. */
export interface Address {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  /** password is undefined where the environment or a password file has it. */
  readonly password: string | undefined;
  /** False for a connection in the clear. */
  readonly tls: ConnectionOptions | false;
  readonly applicationName: string;
  readonly connectTimeoutMs: number;
  /** `host:port/database`, for messages. */
  readonly name: string;
}

const defaultPort = 5432;
const defaultConnectSeconds = 5;
const parameters = ["sslmode", "sslrootcert", "sslcert", "sslkey", "application_name", "connect_timeout", "host"];
const modes = ["disable", "require", "verify-ca", "verify-full"];

/** readUrl throws a StorageError, in one line, where the address cannot be used. */
export function readUrl(text: string): Address {
  const url = parsed(text);
  const given = Object.fromEntries(url.searchParams) as Partial<Record<string, string>>;
  const unknown = Object.keys(given).find((name) => !parameters.includes(name));
  if (unknown !== undefined) {
    throw wrong(`it has the parameter "${unknown}", which is not known. Known are ${parameters.join(", ")}`);
  }
  const host = given.host ?? decoded(url.hostname.replace(/^\[(.*)\]$/, "$1"));
  const database = decoded(url.pathname.slice(1));
  if (host === "" || database === "") throw wrong("it lacks a host or a database");
  const port = url.port === "" ? defaultPort : Number(url.port);
  const seconds = Number(given.connect_timeout ?? defaultConnectSeconds);
  if (!(seconds > 0)) throw wrong("connect_timeout is no number of seconds");
  return {
    host,
    port,
    database,
    user: decoded(url.username) || "postgres",
    password: url.password === "" ? undefined : decoded(url.password),
    tls: tlsOf(given, host),
    applicationName: given.application_name ?? "model-gateway",
    connectTimeoutMs: 1000 * seconds,
    name: `${host.startsWith("/") ? host : `${host}:${port}`}/${database}`,
  };
}

/** isPostgresUrl reports whether a database's address is one of Postgres. */
export function isPostgresUrl(text: string): boolean {
  return /^postgres(?:ql)?:/i.test(text);
}

function parsed(text: string): URL {
  if (!isPostgresUrl(text)) throw wrong("it does not begin with postgres://");
  try {
    return new URL(text);
  } catch {
    throw wrong("a character of its user, password or host is not encoded, such as / as %2F, or its port is no number");
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw wrong("a % in it is not followed by two digits of a code; write it as %25");
  }
}

/** tlsOf follows libpq: `require` encrypts, and checks the server's name only where an authority is given. */
function tlsOf(given: Partial<Record<string, string>>, host: string): ConnectionOptions | false {
  const { sslmode: mode = "disable", sslrootcert, sslcert, sslkey } = given;
  if (!modes.includes(mode)) throw wrong(`sslmode is "${mode}". It may be ${modes.join(", ")}`);
  if (mode === "disable") {
    if (sslrootcert ?? sslcert ?? sslkey) throw wrong("it names a certificate, and sslmode does not ask for TLS");
    return false;
  }
  const ca = read(sslrootcert);
  const isProved = mode !== "require" || ca !== undefined;
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(sslcert === undefined ? {} : { cert: read(sslcert) }),
    ...(sslkey === undefined ? {} : { key: read(sslkey) }),
    ...(host.startsWith("/") || /^[\d.:]+$/.test(host) ? {} : { servername: host }),
    rejectUnauthorized: isProved,
    ...(mode === "verify-full" ? {} : { checkServerIdentity: () => undefined }),
  };
}

function read(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw wrong(diskMessage(error) ?? `${path} cannot be read`);
  }
}

function wrong(why: string): StorageError {
  return new StorageError(`DATABASE_URL cannot be used: ${why}`);
}
