/** The settings of LiteLLM that are read elsewhere here, mean what the gateway does anyway, or have no counterpart. */
import { namesIn } from "./names.ts";

/** carriedOver are the settings that other files of this folder read. */
const carriedOver = namesIn(`
  model_list credential_list router_settings litellm_settings general_settings environment_variables num_retries
  allowed_fails cooldown_time disable_cooldowns fallbacks default_fallbacks context_window_fallbacks
  content_policy_fallbacks model_group_alias model_alias_map timeout request_timeout stream_timeout
  default_max_parallel_requests default_litellm_params cache cache_params success_callback failure_callback callbacks
  service_callbacks audit_log_callbacks master_key max_request_size_mb maximum_spend_logs_retention_period
  completion_model embedding_model`);

/** doneAnyway mean what the gateway does: what a server does not take is left out and named, log lines are JSON without prompts. */
const doneAnyway = namesIn(`
  drop_params modify_params json_logs set_verbose debug_level turn_off_message_logging telemetry
  redact_user_api_key_info redact_messages_in_exceptions disable_master_key_return suppress_debug_info
  disable_adding_master_key_hash_to_db enable_pre_call_checks enable_pre_call_check client_ttl user_api_key_cache_ttl`);

/** ofItsDatabase say how LiteLLM's database is written. */
const ofItsDatabase = namesIn(`
  proxy_batch_write_at disable_prisma_schema_update database_connection_pool_limit database_connection_timeout
  maximum_spend_logs_retention_interval proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time
  allow_requests_on_db_unavailable disable_hf_tokenizer_download disable_error_logs disable_spend_logs`);

/** sameHere are the settings of which nothing is to be said: they are carried over, or nothing has to be. */
export const sameHere: ReadonlySet<string> = carriedOver.union(doneAnyway).union(ofItsDatabase);

const redis =
  "one process, or the workers of one machine, need no Redis. Several machines share rates over `redis`, and a cache is of each process";
const keys = "accounts, and the bounds of each key (docs/migrating.md)";
const budget =
  "an account's balance, a key's credit limit, and budgets of both by the day, week or month bound what is spent (docs/migrating.md)";
const people = "people sign in with a password and a second factor; invite them with `users invite`";
const ips =
  "each key may be bound to addresses (`keys update --allow-ip`); for all of them, a proxy or a firewall in front decides";
const alerts = "deploy/ has alerts for Prometheus, whose Alertmanager sends them";
const secrets =
  "texts of gateway.yaml may name variables of the environment; let the supervisor fill it from the key management";
const routes = "keys are restricted to models and families; operators' RPCs need the operator's credential";

/** instead says what to do in place of a setting, by its key. */
export const instead: ReadonlyMap<string, string> = new Map(
  Object.entries<string>({
    routing_strategy: "targets are drawn by weight, and of two the one that is quicker and has less to do is taken",
    routing_strategy_args: "the choice among targets has no settings but priority and weight",
    routing_groups: "give the targets of a model their priorities and weights",
    redis_host: redis,
    redis_port: redis,
    redis_password: redis,
    redis_url: redis,
    redis_db: redis,
    cache_kwargs: redis,
    retry_policy: "which failures are tried again follows from what they mean (docs/upstreams.md)",
    model_group_retry_policy: "which failures are tried again follows from what they mean (docs/upstreams.md)",
    allowed_fails_policy: "which failures count for the breaker follows from what they mean (docs/upstreams.md)",
    retry_after: "a pause is what the upstream asks for, or grows from 125 ms",
    max_fallbacks: "retries.attempts bounds the attempts of a call",
    enable_tag_filtering: "make a model of its own for each tag, and permit it to keys",
    tag_filtering_match_any: "make a model of its own for each tag, and permit it to keys",
    optional_pre_call_checks: "a conversation stays at one of equal targets where its prompt cache is cheaper (sticky)",
    provider_budget_config: budget,
    default_priority: "calls of a higher tier go first",
    max_budget: budget,
    budget_duration: budget,
    max_internal_user_budget: budget,
    internal_user_budget_duration: budget,
    max_end_user_budget: budget,
    max_user_budget: budget,
    default_internal_user_params: keys,
    default_key_generate_params: keys,
    upperbound_key_generate_params: keys,
    default_team_settings: "an account for each team (docs/migrating.md)",
    default_team_params: "an account for each team (docs/migrating.md)",
    key_generation_settings: keys,
    guardrails: "put a service that checks prompts in front of the gateway, or behind it as an upstream",
    mcp_servers: "the gateway relays tools, and runs none",
    mcp_aliases: "the gateway relays tools, and runs none",
    vector_store_registry: "the gateway searches no vector stores",
    prompts: "prompts are the callers'",
    search_tools:
      "the gateway runs no searches of its own; vendors' searches are relayed, where web_search has a price",
    callback_settings: "telemetry sets the collector; prompts and answers are never sent there",
    database_url:
      "accounts, keys and money are in a SQLite file in data_dir, or in a Postgres of their own (`database`). Nothing is read from " +
      "LiteLLM's (docs/migrating.md): unset its DATABASE_URL for the gateway, which would make its tables there",
    store_model_in_db: "models are in gateway.yaml. Those in LiteLLM's database are not in this import: add them",
    supported_db_objects: "models are in gateway.yaml. Those in LiteLLM's database are not in this import: add them",
    store_prompts_in_spend_logs: "prompts and answers are never stored",
    forward_client_headers_to_llm_api: "callers' headers are not passed on, but for trace context",
    forward_openai_org_id: "callers' headers are not passed on, but for trace context",
    alerting: alerts,
    alerting_threshold: alerts,
    alerting_args: alerts,
    alert_types: alerts,
    alert_to_webhook_url: alerts,
    spend_report_frequency: "usage by day, model and key is in the dashboard and in requests.csv",
    background_health_checks:
      "health_check of an upstream asks for a path that costs nothing. Add it where the server has one",
    health_check_interval: "health_check.interval_seconds of an upstream",
    max_parallel_requests: "queue.max_concurrent of an upstream bounds its calls",
    global_max_parallel_requests: "bodies_in_flight and queue bound what is under way",
    custom_auth: "callers have API keys of the gateway; a proxy in front may exchange others for them",
    enable_jwt_auth: "callers have API keys of the gateway; a proxy in front may exchange tokens for them",
    litellm_jwtauth: "callers have API keys of the gateway; a proxy in front may exchange tokens for them",
    enable_oauth2_auth: "callers have API keys of the gateway; a proxy in front may exchange tokens for them",
    litellm_key_header_name: "keys come in Authorization or x-api-key",
    allow_client_side_credentials: "upstreams' keys are the operator's",
    custom_sso: people,
    ui_access_mode: people,
    allowed_ips: ips,
    use_x_forwarded_for: "trusted_proxies names the proxies whose X-Forwarded-For is believed",
    allowed_routes: routes,
    public_routes: routes,
    admin_only_routes: routes,
    pass_through_endpoints: "only the endpoints of docs/api.md are served. Let clients call others directly",
    key_management_system: secrets,
    key_management_settings: secrets,
    use_azure_key_vault: secrets,
    use_google_kms: secrets,
    enforce_user_param: "calls are counted by key; give each user one",
    max_response_size_mb: "answers are passed on as they come",
    image_generation_model: "the gateway has no endpoint for images",
    moderation_model: "the gateway has no endpoint for moderation",
  }),
);
