/** Divides what the configuration lets a gateway take among its workers. */
import type { Config } from "../../config/config.ts";
import { packConfig } from "./child.ts";
import type { Configured } from "./contract.ts";

/** configuredFor returns what each of so many workers serves by. `fileText` is the text of the file in the configuration; null for none. */
export function configuredFor(workers: number, config: Config, fileText: string | null): Configured {
  return { config: packConfig(shareOf(config, workers)), fileText };
}

/**
 * shareOf returns the configuration of each of so many workers. What is of the whole gateway is divided: connections, and the memory of
 * bodies, answers and what connections remember. What is of an account is not, for its calls may all come to one worker.
 */
export function shareOf(config: Config, workers: number): Config {
  const part = (whole: number, least = 1) => Math.max(least, Math.ceil(whole / workers));
  const { maxConnections, maxBodyBytes, bodiesInFlight, responsesSocket, backgroundResponses, cache } = config;
  const divided = <T extends { readonly maxBytes: number; readonly maxBytesPerAccount: number }>(memory: T): T => {
    const maxBytes = part(memory.maxBytes, maxBodyBytes);
    return { ...memory, maxBytes, maxBytesPerAccount: Math.min(maxBytes, memory.maxBytesPerAccount) };
  };
  return {
    ...config,
    maxConnections: maxConnections === undefined ? undefined : part(maxConnections),
    bodiesInFlight: divided(bodiesInFlight),
    responsesSocket: divided(responsesSocket),
    backgroundResponses: { ...divided(backgroundResponses), max: part(backgroundResponses.max) },
    cache: cache && { ...cache, maxBytes: part(cache.maxBytes) },
  };
}
