/** Finds where a deployment of LiteLLM is asked: the address that the gateway puts its own paths behind. */
import type { Provider } from "./providers.ts";

/** Address is a part of an upstream of gateway.yaml. */
export interface Address {
  readonly base_url: string;
  readonly kind?: "anthropic";
  readonly vendor?: string | undefined;
  readonly credential?: string | undefined;
  readonly query?: Readonly<Record<string, string>>;
  /** changed says what is other than it was. */
  readonly changed?: string;
}

export interface Asked {
  readonly name: string;
  readonly provider: Provider;
  /** base is `api_base`, as gateway.yaml writes it. */
  readonly base: string | undefined;
  readonly model: string;
  readonly apiVersion: string | undefined;
}

/** addressOf returns the address, or why there is none. */
export function addressOf(asked: Asked): Address | { readonly refused: string } {
  const { name, provider, base } = asked;
  const { kind, vendor, credential, isFixed, base_url, address, suffix = "" } = provider;
  const own = withoutOperation(base ?? "");
  if (name === "azure" || name === "azure_text") return azureAddress(asked, own || `\${${address}}`);
  if (name === "azure_ai") return foundryAddress(asked, own || `\${${address}}`);
  const facts = { ...(kind && { kind }), credential };
  if (own === "") {
    const known = base_url ?? (address === undefined ? undefined : `\${${address}}`);
    if (known === undefined) return { refused: "it has no api_base, and its provider has no address of its own" };
    return { ...facts, vendor, base_url: known };
  }
  if (isFixed)
    return {
      refused: `at an api_base of its own, ${name} speaks an API that the gateway does not. Leave api_base out`,
    };
  const at = own.endsWith(suffix) ? own : `${own}${suffix}`;
  return { ...facts, vendor: vendorAt(name, vendor, own, base_url), base_url: at };
}

/** vendorAt returns the vendor of an upstream: a server elsewhere that speaks OpenAI's API need not be OpenAI's. */
function vendorAt(name: string, vendor: string | undefined, own: string, base_url: string | undefined) {
  const isOpenAi = name === "openai" || name === "text-completion-openai";
  return isOpenAi && !own.startsWith(new URL(base_url ?? "").origin) ? undefined : vendor;
}

/** withoutOperation removes what the gateway adds itself. */
function withoutOperation(base: string): string {
  const operations = /\/(?:chat\/completions|completions|embeddings|responses|messages|api\/(?:chat|generate))$/;
  return base.replace(/\/+$/, "").replace(operations, "").replace(/\/+$/, "");
}

const azureHosts =
  /^https:\/\/[^/]+\.(?:openai\.azure\.com|cognitiveservices\.azure\.com|services\.ai\.azure\.com)(?=\/|$)/;
const variable = /^\$\{\w+\}/;

/** azureAddress returns the address of Azure's current API, or, behind another host, the path of the deployment as LiteLLM asks it. */
function azureAddress({ model, apiVersion, provider }: Asked, base: string): Address {
  const { vendor, credential } = provider;
  const [host] = azureHosts.exec(base) ?? variable.exec(base) ?? [];
  if (host !== undefined) {
    const isPreview = apiVersion === "preview" || apiVersion === "latest";
    return {
      base_url: `${host}/openai/v1`,
      vendor,
      ...(isPreview && { query: { "api-version": apiVersion } }),
      ...(apiVersion !== undefined &&
        !isPreview && { changed: "Azure is asked at /openai/v1, which needs no api_version" }),
    };
  }
  const root = base.replace(/\/openai(?:\/deployments\/[^/]+)?$/, "");
  return {
    base_url: `${root}/openai/deployments/${model}`,
    vendor,
    credential,
    query: { "api-version": apiVersion ?? "2024-10-21" },
  };
}

/** foundryAddress returns the address of a model in Azure AI Foundry: a resource, or a server of one model. */
function foundryAddress({ model, provider: { credential } }: Asked, base: string): Address {
  const [host] = azureHosts.exec(base) ?? [];
  if (host !== undefined && /^claude/i.test(model)) {
    return { base_url: `${host}/anthropic/v1`, kind: "anthropic", vendor: "anthropic", credential: "x-api-key" };
  }
  if (host !== undefined) {
    return { base_url: `${host}/openai/v1`, credential, changed: "Azure AI Foundry is asked at /openai/v1" };
  }
  const isServer = /\.models\.ai\.azure\.com$/.test(base);
  return isServer ? { base_url: `${base}/v1` } : { base_url: base, credential };
}
