/** Reads LiteLLM's `model_list`: each deployment with its provider, its credential joined in. */
import type { Notes } from "../notes.ts";
import { memberOf, type Source, textOf } from "../source.ts";
import { bareNames, type Provider, providers } from "./providers.ts";
import { variableIn } from "./secrets.ts";

/** Deployment is one way in which a model is served. */
export interface Deployment {
  /** name is what callers ask for. */
  readonly name: string;
  readonly place: Source;
  /** params are `litellm_params`, with those of its credential and the defaults. */
  readonly params: Source;
  readonly info: Source | undefined;
  /** model is the name at the provider; `*` or `prefix*` for all that there are. */
  readonly model: string;
  readonly providerName: string;
  readonly provider: Provider;
}

/** readDeployments reads all of them. Those that cannot be served are noted. */
export function readDeployments(root: Source, notes: Notes): Deployment[] {
  const credentials = credentialsOf(root);
  const defaults = memberOf(root, "router_settings", "default_litellm_params");
  return (memberOf(root, "model_list")?.items ?? []).flatMap((entry) => {
    const written = memberOf(entry, "litellm_params");
    const model = textOf(memberOf(written, "model"));
    const name = textOf(memberOf(entry, "model_name")) ?? model;
    if (!written?.members || name === undefined || model === undefined) {
      notes.leftOut(entry, "an entry of model_list without litellm_params.model");
      return [];
    }
    const credential = textOf(memberOf(written, "litellm_credential_name"));
    if (credential !== undefined && !credentials.has(credential)) {
      notes.toDo(
        entry,
        `"${name}": its litellm_credential_name is not in credential_list, but perhaps in LiteLLM's database`,
      );
    }
    const params = joined(written, defaults, credentials.get(credential ?? ""));
    const found = providerOf(model, textOf(memberOf(params, "custom_llm_provider")));
    const refused = refusalOf(model, found);
    if (refused !== undefined || !found) {
      notes.leftOut(entry, `"${name}": ${refused}`);
      return [];
    }
    const info = memberOf(entry, "model_info");
    const { provider, providerName } = found;
    return perOrganization({ name, place: entry, params, info, model: found.model, provider, providerName });
  });
}

function credentialsOf(root: Source): ReadonlyMap<string, Source> {
  const listed = (memberOf(root, "credential_list")?.items ?? []).flatMap((entry) => {
    const [name, values] = [textOf(memberOf(entry, "credential_name")), memberOf(entry, "credential_values")];
    return name === undefined || !values ? [] : [[name, values] as const];
  });
  return new Map(listed);
}

/** joined returns the parameters with others besides; the later of those win, and the parameters' own win over all. */
function joined(params: Source, ...others: readonly (Source | undefined)[]): Source {
  const more = others.flatMap((other) => [...(other?.members ?? [])]);
  return { ...params, members: new Map([...more, ...(params.members ?? [])]) };
}

interface Found {
  readonly providerName: string;
  readonly provider: Provider;
  readonly model: string;
}

/** providerOf finds the provider of `provider/model`, or of a bare name; undefined where it is not known. */
function providerOf(text: string, custom: string | undefined): Found | undefined {
  const slash = text.indexOf("/");
  const prefix = slash < 0 ? undefined : text.slice(0, slash);
  const name = custom ?? (prefix !== undefined && providers.has(prefix) ? prefix : undefined);
  if (name === undefined) {
    const [, bare] = bareNames.find(([pattern]) => pattern.test(text)) ?? [];
    const provider = bare === undefined ? undefined : providers.get(bare);
    return provider && { providerName: bare as string, provider, model: text };
  }
  const provider = providers.get(name);
  const rest = prefix === name ? text.slice(slash + 1) : text;
  // `openai/responses/gpt-5` names the endpoint, which a profile chooses here.
  return provider && { providerName: name, provider, model: rest.replace(/^responses\//, "") };
}

function refusalOf(model: string, found: Found | undefined): string | undefined {
  if (variableIn(model) !== undefined) return "its model is in the environment. Write it into the file";
  if (found) return found.provider.refused;
  if (model === "*")
    return "any model of any provider: write an upstream for each vendor whose key you have, and its catalogue is served";
  return "its provider is not known here. If it has an OpenAI-compatible address, write openai/ before the model, and that address as api_base";
}

/** perOrganization returns a deployment for each of several organizations. */
function perOrganization(deployment: Deployment): Deployment[] {
  const { params } = deployment;
  const several = memberOf(params, "organization")?.items;
  if (!several) return [deployment];
  return several.map((organization) => {
    const members = new Map([...(params.members ?? []), ["organization", organization] as const]);
    return { ...deployment, params: { ...params, members } };
  });
}
