/** Notes the parameters of a deployment that nothing carries over. */
import type { Notes } from "../notes.ts";
import { isOff } from "../source.ts";
import type { Deployment } from "./deployments.ts";
import { namesIn } from "./names.ts";
import { isCost } from "./prices.ts";

/** read are the parameters that are carried over, or that mean what the gateway does anyway. */
const read = namesIn(`
  model api_key api_base base_url api_version organization headers extra_headers custom_llm_provider
  litellm_credential_name timeout stream_timeout max_parallel_requests rpm tpm weight order additional_drop_params
  base_model drop_params max_retries search_context_cost_per_query azure_ad_token tenant_id client_id client_secret
  azure_username azure_password azure_scope use_in_pass_through merge_reasoning_content_in_choices
  allowed_openai_params use_litellm_proxy input_cost_per_token output_cost_per_token`);

/** requests are parameters of a request: the callers' own, here. */
const requests = namesIn(`
  temperature top_p top_k max_tokens max_completion_tokens seed stop n user stream presence_penalty frequency_penalty
  logit_bias response_format reasoning_effort thinking tools tool_choice parallel_tool_calls extra_body metadata
  service_tier keep_alive num_ctx modalities`);

const others: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    max_budget: "an account's balance and a key's credit limit bound what is spent",
    budget_duration: "an account's balance and a key's credit limit bound what is spent",
    tags: "make a model of its own for each tag, and permit it to keys",
    cache_control_injection_points: "the callers mark what is cached",
    mock_response: "the embedded models answer without an upstream (embedded_models)",
    model_info: "it stands beside litellm_params",
    region_name: "write the address of the region as api_base",
    ssl_verify: "the gateway checks certificates. NODE_EXTRA_CA_CERTS names others to trust",
    configurable_clientside_auth_params: "upstreams' keys are the operator's",
  }),
);

export function noteParams({ name, params }: Deployment, notes: Notes): void {
  for (const [key, value] of params.members ?? []) {
    if (read.has(key) || isCost(key) || isOff(value)) continue;
    const other = others.get(key);
    const remedy = other ?? (requests.has(key) ? "the callers' requests say it" : "there is no such parameter");
    notes.leftOut(value, `"${name}": ${key}: ${remedy}`);
  }
}
