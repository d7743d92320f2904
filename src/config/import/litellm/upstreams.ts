/** Makes upstreams of LiteLLM's deployments: those that are asked at the same address, with the same key, in the same way share one. */
import { urlSchema } from "../../values.ts";
import type { TimeoutsDraft, UpstreamDraft } from "../draft.ts";
import type { Notes } from "../notes.ts";
import { memberOf, numberOf, type Source, textOf } from "../source.ts";
import { type Address, addressOf } from "./addresses.ts";
import type { Deployment } from "./deployments.ts";
import { isSecretName, plainText, referenceOf, secretText, variableOf } from "./secrets.ts";

/** Defaults are the settings of all deployments that have none of their own. */
export interface Defaults {
  readonly timeout: Source | undefined;
  readonly streamTimeout: Source | undefined;
  readonly maxParallel: Source | undefined;
}

export interface Upstreams {
  /** of returns the upstream of a deployment, a new one or a known one; undefined, with a note, where it cannot be asked. */
  of(deployment: Deployment): UpstreamDraft | undefined;
  /** all are the upstreams, in the order in which they came. */
  readonly all: readonly UpstreamDraft[];
}

export function createUpstreams(defaults: Defaults, notes: Notes): Upstreams {
  const known = new Map<string, UpstreamDraft>();
  const counts = new Map<string, number>();
  const nameOf = (provider: string) => {
    const count = (counts.get(provider) ?? 0) + 1;
    counts.set(provider, count);
    return `${provider}-${count}`;
  };
  return {
    of(deployment) {
      const { params, place, name, providerName, provider } = deployment;
      const base = plainText(memberOf(params, "api_base") ?? memberOf(params, "base_url"), notes);
      const apiVersion = plainText(memberOf(params, "api_version"), notes);
      const address = addressOf({ name: providerName, provider, base, model: deployment.model, apiVersion });
      const fault = "refused" in address ? address.refused : urlFault(address.base_url);
      if (fault !== undefined || "refused" in address) {
        notes.leftOut(place, `"${name}": ${fault}`);
        return undefined;
      }
      const [, variable, suffix] = /^\$\{(\w+)\}(\/.+)$/.exec(address.base_url) ?? [];
      if (variable !== undefined) {
        notes.toDo(place, `${variable} is an address without a slash at its end: ${suffix} is put behind it here`);
      }
      if (address.changed) notes.changed(place, address.changed);
      const bounds = boundsOf(deployment, defaults, notes);
      // Its key is compared as it is written, and goes no further than this.
      const secrets = ["api_key", "organization", "extra_headers", "headers"].map((key) =>
        content(memberOf(params, key)),
      );
      if (secrets[0] === undefined && provider.key && !provider.keyIsOptional)
        secrets[0] = `os.environ/${provider.key}`;
      const same = JSON.stringify([providerName, address, bounds, secrets, bounds.queue && deployment.model]);
      const before = known.get(same);
      if (before) return before;
      const upstream = upstreamOf(nameOf(providerName), deployment, address, notes);
      known.set(same, Object.assign(upstream, bounds));
      return upstream;
    },
    get all() {
      return [...known.values()];
    },
  };
}

function content(source: Source | undefined): unknown {
  return source?.members ? [...source.members].map(([key, value]) => [key, content(value)]) : source?.text;
}

function upstreamOf(name: string, deployment: Deployment, address: Address, notes: Notes): UpstreamDraft {
  const { kind = "openai", base_url, vendor, credential, query } = address;
  const key = keyOf(name, deployment, notes);
  const headers = headersOf(name, deployment, notes);
  // Azure's header is a fact of the vendor in the catalogue.
  const isKnown = vendor === "azure" || credential === undefined;
  return {
    name,
    kind,
    base_url,
    ...(vendor !== undefined && { vendor }),
    ...(key !== undefined && { api_key: key }),
    ...(!isKnown && { credential }),
    ...(Object.keys(headers).length > 0 && { headers }),
    ...(query && { query }),
  };
}

function keyOf(name: string, { params, place, provider, name: model }: Deployment, notes: Notes): string | undefined {
  const written = memberOf(params, "api_key");
  const otherWay = ["azure_ad_token", "client_secret", "azure_username"].find((key) => memberOf(params, key));
  if (written) return secretText(written, variableOf(name, "api_key"), notes);
  if (otherWay) {
    notes.toDo(
      place,
      `"${model}": the gateway does not sign in to Microsoft Entra. Put a key of the resource into ${provider.key}`,
    );
  }
  return provider.key === undefined || provider.keyIsOptional ? undefined : referenceOf(provider.key);
}

function headersOf(name: string, { params }: Deployment, notes: Notes): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const key of ["headers", "extra_headers"]) {
    for (const [header, value] of memberOf(params, key)?.members ?? []) {
      const isSecret = isSecretName(header);
      const text = isSecret ? secretText(value, variableOf(name, header), notes) : plainText(value, notes);
      if (text !== undefined) headers[header] = text;
    }
  }
  const organization = plainText(memberOf(params, "organization"), notes);
  return organization === undefined ? headers : { ...headers, "OpenAI-Organization": organization };
}

/** boundsOf returns the times and the queue of a deployment. */
function boundsOf({ params, place }: Deployment, defaults: Defaults, notes: Notes) {
  const timeout = secondsOf(memberOf(params, "timeout") ?? defaults.timeout, notes);
  const stream = secondsOf(memberOf(params, "stream_timeout") ?? defaults.streamTimeout, notes) ?? timeout;
  const timeouts: TimeoutsDraft = {
    ...(timeout !== undefined && { first_byte_seconds: timeout }),
    ...(stream !== undefined && { idle_seconds: stream }),
  };
  const parallel = numberOf(memberOf(params, "max_parallel_requests") ?? defaults.maxParallel);
  const queue = parallel !== undefined && Number.isInteger(parallel) && parallel >= 1 && parallel <= 100_000;
  if (memberOf(params, "max_parallel_requests")) {
    notes.changed(
      place,
      "max_parallel_requests is a queue before the upstream: 100 calls wait for a minute at most, others are refused",
    );
  }
  return {
    ...(Object.keys(timeouts).length > 0 && { timeouts }),
    ...(queue && { queue: { max_concurrent: parallel } }),
  };
}

function secondsOf(source: Source | undefined, notes: Notes): number | undefined {
  if (!source) return undefined;
  const seconds = numberOf(source);
  if (seconds === undefined || seconds <= 0) {
    notes.leftOut(source, "a timeout that is no number of seconds. Set timeouts of the upstream");
    return undefined;
  }
  return Math.min(86_400, Math.max(0.001, seconds));
}

/** urlFault returns what is wrong with an address; undefined where nothing is, or its beginning is in the environment. */
function urlFault(url: string): string | undefined {
  if (url.startsWith("${")) return undefined;
  const [issue] = urlSchema.safeParse(url).error?.issues ?? [];
  return issue && `its api_base is no address that can be used: ${issue.message}`;
}

/** dropParams carries `additional_drop_params` over: what the server refuses is left out, and named to the caller. */
export function dropParams(upstream: UpstreamDraft, { params, model, name }: Deployment, notes: Notes): void {
  const dropped = memberOf(params, "additional_drop_params");
  if (!dropped) return;
  const keys = (dropped.items ?? []).flatMap((item) => textOf(item)?.replaceAll("[*]", "[]") ?? []);
  const usable = keys.filter((key) => /^[\w.[\]-]{1,100}$/.test(key));
  if (upstream.kind !== "openai" || usable.length < keys.length || usable.length === 0) {
    notes.leftOut(
      dropped,
      `"${name}": additional_drop_params. What an upstream of kind ${upstream.kind} refuses cannot be said so`,
    );
    return;
  }
  const rules = upstream.profile?.models ?? [];
  if (rules.some(({ match }) => match.includes(model))) return;
  upstream.profile = { models: [...rules, { match: [model], refuses: usable }] };
}
