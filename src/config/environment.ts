/**
 * What the environment says: where to listen, where to keep data, and which vendors there are keys or addresses for.
 * A variable that is empty counts as not set.
 */
import type { Environment, Fault } from "./document.ts";
import { credentialSchema, logLevels, type UpstreamConfig, urlSchema, type VendorConfig } from "./schema.ts";

export interface EnvironmentSettings {
  readonly host: string | undefined;
  readonly port: number | undefined;
  readonly dataDir: string | undefined;
  readonly logLevel: string | undefined;
}

export function settingsOf({ HOST, PORT, DATA_DIR, LOG_LEVEL }: Environment, faults: Fault[]): EnvironmentSettings {
  const fault = (message: string) => void faults.push({ file: "environment", message });
  if (PORT && !(/^\d{1,5}$/.test(PORT) && Number(PORT) <= 65535)) {
    fault("PORT: expected a whole number from 0 to 65535");
  }
  if (LOG_LEVEL && !(logLevels as readonly string[]).includes(LOG_LEVEL)) {
    fault(`LOG_LEVEL: expected one of ${logLevels.join(", ")}`);
  }
  return {
    host: HOST || undefined,
    port: PORT ? Number(PORT) : undefined,
    dataDir: DATA_DIR || undefined,
    logLevel: LOG_LEVEL || undefined,
  };
}

/** Returns an upstream for every vendor whose key or address the environment has. */
export function upstreamsOf(vendors: readonly VendorConfig[], environment: Environment, faults: Fault[]) {
  return vendors.flatMap((vendor): UpstreamConfig[] => {
    const key = checked(environment, vendor.key_variable, credentialSchema, faults);
    const address = vendor.url_variable && checked(environment, vendor.url_variable, urlSchema, faults);
    if (!key && !address) return [];
    const base_url = address ? withSuffix(address, vendor.url_suffix ?? "") : vendor.base_url;
    const discover = vendor.discover_elsewhere === true && base_url !== vendor.base_url;
    return [{ name: vendor.name, kind: vendor.kind, base_url, api_key: key, discover }];
  });
}

function checked(
  environment: Environment,
  name: string,
  schema: typeof credentialSchema | typeof urlSchema,
  faults: Fault[],
): string | undefined {
  const text = environment[name];
  if (!text?.trim()) return undefined;
  const { data, error } = schema.safeParse(text.trim());
  if (error) faults.push({ file: "environment", message: `${name}: ${error.issues[0]?.message}` });
  return data;
}

/** Some clients want the suffix in the variable, and some do not. */
function withSuffix(address: string, suffix: string): string {
  return address.endsWith(suffix) ? address : `${address}${suffix}`;
}
