/**
 * Reads the environment: where to listen, where to keep data, and the keys and addresses of vendors. An empty variable
 * counts as not set.
 */
import { isIPv6 } from "node:net";
import { z } from "zod";
import { atAddress, withVendor } from "./catalogue/vendors.ts";
import { type Environment, type Fault, placed, variableOf } from "./document.ts";
import { type Problem, problem, problemOf } from "./fault-texts.ts";
import type { UpstreamConfig, VendorConfig } from "./schema-models.ts";
import { logLevels } from "./sections/process.ts";
import { type AcceleratorName, acceleratorNames } from "./shape.ts";
import {
  apiKeySchema,
  credentialSchema,
  databaseUrlSchema,
  headerNameSchema,
  readWorkers,
  redisUrlSchema,
  sealKeySchema,
  urlSchema,
} from "./values.ts";

export interface EnvironmentSettings {
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly dataDir: string | undefined;
  readonly logLevel: string | undefined;
  readonly databaseUrl: string | undefined;
  readonly databaseReplicaUrl: string | undefined;
  readonly redisUrl: string | undefined;
  /** sealKey seals the secrets of the stored configuration. */
  readonly sealKey: string | undefined;
  readonly workers: number | "auto" | undefined;
  readonly metricsHost: string | undefined;
  readonly metricsPort: number | "off" | undefined;
  readonly accelerators: ReadonlySet<AcceleratorName>;
  readonly telemetry: { readonly endpoint: string; readonly headers: Readonly<Record<string, string>> } | undefined;
}

export function settingsOf(environment: Environment, faults: Fault[]): EnvironmentSettings {
  const { HOST, PORT, DATA_DIR, LOG_LEVEL, METRICS_HOST, METRICS_PORT, WORKERS } = environment;
  const fault = (name: string, what: Problem) => void faults.push(faultOf(name, what));
  if (PORT && !isPort(PORT)) fault("PORT", problem("NUMBER_WITHIN_EXPECTED", ports));
  if (METRICS_PORT && METRICS_PORT !== "off" && !isPort(METRICS_PORT))
    fault("METRICS_PORT", problem("NUMBER_OR_OFF_EXPECTED", ports));
  if (LOG_LEVEL && !(logLevels as readonly string[]).includes(LOG_LEVEL))
    fault("LOG_LEVEL", problem("ONE_OF_EXPECTED", { values: logLevels.join(", ") }));
  const workers = WORKERS ? readWorkers(WORKERS) : undefined;
  if (WORKERS && workers === undefined) fault("WORKERS", problem("WORKERS_EXPECTED"));
  return {
    host: HOST || undefined,
    port: PORT ? Number(PORT) : undefined,
    dataDir: DATA_DIR || undefined,
    logLevel: LOG_LEVEL || undefined,
    databaseUrl: checked(environment, "DATABASE_URL", databaseUrlSchema, faults),
    databaseReplicaUrl: checked(environment, "DATABASE_REPLICA_URL", databaseUrlSchema, faults),
    redisUrl: checked(environment, "REDIS_URL", redisUrlSchema, faults),
    sealKey: checked(environment, "GATEWAY_CONFIG_KEY", sealKeySchema, faults),
    workers,
    metricsHost: METRICS_HOST || undefined,
    metricsPort: METRICS_PORT === "off" ? "off" : METRICS_PORT ? Number(METRICS_PORT) : undefined,
    accelerators: acceleratorsOf(environment.ACCELERATORS, faults),
    telemetry: telemetryOf(environment, faults),
  };
}

const ports = { least: 0, most: 65_535 } as const;

/** faultOf returns a fault of a variable. */
function faultOf(name: string, what: Problem): Fault {
  return { file: "environment", ...placed(name, what) };
}

/** acceleratorsOf parses `ACCELERATORS`: all if it is not set, none for `off`, else a comma-separated list. */
function acceleratorsOf(text: string | undefined, faults: Fault[]): ReadonlySet<AcceleratorName> {
  if (!text?.trim()) return new Set(acceleratorNames);
  if (text.trim() === "off") return new Set();
  const names = text.split(",").map((name) => name.trim());
  const known = names.filter((name) => (acceleratorNames as readonly string[]).includes(name)) as AcceleratorName[];
  if (known.length < names.length) {
    faults.push(faultOf("ACCELERATORS", problem("ACCELERATORS_EXPECTED", { names: acceleratorNames.join(", ") })));
  }
  return new Set(known);
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65535;
}

/**
 * telemetryOf reads OpenTelemetry's variables: `OTEL_EXPORTER_OTLP_ENDPOINT`, and headers as `name=value,name=value`.
 */
function telemetryOf(environment: Environment, faults: Fault[]): EnvironmentSettings["telemetry"] {
  const endpoint = checked(environment, "OTEL_EXPORTER_OTLP_ENDPOINT", urlSchema, faults);
  if (!endpoint) return undefined;
  const written = checked(environment, "OTEL_EXPORTER_OTLP_HEADERS", credentialSchema, faults) ?? "";
  const pairs = written.split(",").flatMap((pair) => {
    if (pair.trim() === "") return [];
    const at = pair.indexOf("=");
    const name = pair.slice(0, Math.max(0, at)).trim();
    if (headerNameSchema.safeParse(name).success) return [[name, decoded(pair.slice(at + 1).trim())] as const];
    faults.push(faultOf("OTEL_EXPORTER_OTLP_HEADERS", problem("PAIRS_EXPECTED")));
    return [];
  });
  return { endpoint, headers: Object.fromEntries(pairs) };
}

/** decoded decodes a percent-encoded value, as the specification allows; an invalid encoding is left unchanged. */
function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}

/**
 * upstreamsOf returns an upstream for every vendor whose key or address is set, with the catalogue's facts about it.
 */
export function upstreamsOf(vendors: readonly VendorConfig[], environment: Environment, faults: Fault[]) {
  return vendors.flatMap((vendor): UpstreamConfig[] => {
    const own = keyOf(vendor, environment, faults);
    const address = addressOf(vendor, environment, faults);
    const base_url = address ? withSuffix(address, vendor.url_suffix ?? "") : vendor.base_url;
    // An operator's own server has only the address that is set.
    if ((!own.api_key && !address) || base_url === undefined) return [];
    const upstream = { name: vendor.name, kind: vendor.kind, base_url, ...own };
    const isElsewhere = vendor.discover_elsewhere === true && base_url !== vendor.base_url;
    if (!isElsewhere) return [{ ...withVendor(upstream, vendors), ...(vendor.discover && { discover: true }) }];
    return [{ ...atAddress(upstream, vendors), discover: true }];
  });
}

/** addressOf returns the first address that is set: by the vendor's usual name, or by another that its tools read. */
function addressOf(vendor: VendorConfig, environment: Environment, faults: Fault[]): string | undefined {
  const { url_port: port, base_url: own } = vendor;
  const schema =
    port === undefined
      ? urlSchema
      : z
          .string()
          .transform((text) => (own && isHostOf(text, own) ? new URL(own).origin : hostAddress(text, port)))
          .pipe(urlSchema);
  for (const name of urlVariablesOf(vendor)) {
    const address = checked(environment, name, schema, faults);
    if (address) return address;
  }
  return undefined;
}

function urlVariablesOf({ url_variable: usual, other_url_variables: others }: VendorConfig): readonly string[] {
  return usual === undefined ? others : [usual, ...others];
}

/** isHostOf reports whether a text is the host of the vendor's own service alone, which has a scheme and a port of its own. */
function isHostOf(text: string, url: string): boolean {
  return text.replace(/\/$/, "").toLowerCase() === new URL(url).host;
}

/**
 * hostAddress returns the address of a host as Ollama's tools read it: `localhost`, `:11435` and `::1`, too. A server that listens everywhere is
 * asked at this machine. An address with a scheme has the scheme's port.
 */
function hostAddress(text: string, port: number): string {
  const [, scheme, host = text] = /^(\w+:\/\/)(.*)$/s.exec(text) ?? [];
  const bracketed = isIPv6(host) ? `[${host}]` : host;
  const [, name = "", own = "", path = ""] = /^(\[[^\]]*\]|[^:/]*)(:\d+)?(.*)$/s.exec(bracketed) ?? [];
  const local = { "": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]" }[name] ?? name;
  return `${scheme ?? "http://"}${local}${own || (scheme ? "" : `:${port}`)}${path}`;
}

/** keyOf returns the first key that is set: by the vendor's usual name, by another of its SDK, or a token, which is sent as a bearer's. */
function keyOf(
  { key_variable, other_key_variables, token_variable }: VendorConfig,
  environment: Environment,
  faults: Fault[],
): Pick<UpstreamConfig, "api_key" | "credential"> {
  for (const name of [key_variable, ...other_key_variables]) {
    const api_key = keyIn(environment, name, faults);
    if (api_key) return { api_key };
  }
  const token = token_variable && keyIn(environment, token_variable, faults);
  return token ? { api_key: `Bearer ${token}`, credential: "authorization" } : { api_key: undefined };
}

function keyIn(environment: Environment, name: string, faults: Fault[]): string | undefined {
  const key = checked(environment, name, apiKeySchema, faults);
  if (/^bearer\s/i.test(key ?? "")) faults.push(faultOf(name, problem("CREDENTIAL_WITH_SCHEME")));
  return key;
}

/** unaddressedKeys returns the variables with keys of servers whose address is not known: an operator's own server has none but what is set. */
export function unaddressedKeys(vendors: readonly VendorConfig[], environment: Environment): readonly string[] {
  const isSet = (name: string | undefined) =>
    name !== undefined && Boolean(variableOf(environment, name).value?.trim());
  return vendors
    .filter((vendor) => !vendor.base_url && isSet(vendor.key_variable) && !urlVariablesOf(vendor).some(isSet))
    .map(({ key_variable }) => key_variable);
}

function checked(
  environment: Environment,
  name: string,
  schema: z.ZodType<string>,
  faults: Fault[],
): string | undefined {
  const { value: text, fault } = variableOf(environment, name);
  if (fault) faults.push({ file: "environment", ...placed("", fault) });
  if (!text?.trim()) return undefined;
  const { data, error } = schema.safeParse(text.trim());
  if (error) faults.push(faultOf(name, problemOf(error.issues[0]?.message ?? "") ?? problem("VALUE_INVALID")));
  return data;
}

/** withSuffix appends the suffix unless the variable already has it: some clients expect it there, and some do not. */
function withSuffix(address: string, suffix: string): string {
  return address.endsWith(suffix) ? address : `${address}${suffix}`;
}
