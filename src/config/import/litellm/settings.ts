/** Carries LiteLLM's settings over: `router_settings`, `litellm_settings`, `general_settings`, and the rest of the file. */
import type { ModelDraft, SettingsDraft } from "../draft.ts";
import type { Notes } from "../notes.ts";
import { isOff, isOn, memberOf, numberOf, type Source, textOf } from "../source.ts";
import { settingOf } from "./routing.ts";
import { plainText, secretText, variableIn } from "./secrets.ts";
import { instead, sameHere } from "./settings-elsewhere.ts";

/** settingsOf returns the settings, and notes those that have no counterpart. */
export function settingsOf(root: Source, models: readonly ModelDraft[], notes: Notes): SettingsDraft {
  const settings = {
    ...retriesOf(root, models, notes),
    ...breakerOf(root, notes),
    ...cacheOf(root, notes),
    ...callbacksOf(root, notes),
    ...generalOf(root, models, notes),
  };
  for (const section of ["router_settings", "litellm_settings", "general_settings"]) {
    for (const [key, value] of memberOf(root, section)?.members ?? []) noteRest(section, key, value, notes);
  }
  for (const [key, value] of root.members ?? []) {
    // LiteLLM heeds no other keys at the top: they hold anchors.
    if (instead.has(key)) noteRest("", key, value, notes);
  }
  return settings;
}

/** noteVariables notes the variables that LiteLLM sets for itself and that the gateway needs. */
export function noteVariables(root: Source, needed: readonly string[], notes: Notes): void {
  for (const [name, value] of memberOf(root, "environment_variables")?.members ?? []) {
    if (needed.includes(name))
      notes.toDo(value, `LiteLLM set ${name} for itself. Set it in the environment of the gateway`);
  }
}

/** noteRest notes a setting that nothing here has read. */
function noteRest(section: string, key: string, value: Source, notes: Notes): void {
  const name = section === "" ? key : `${section}.${key}`;
  if (isOff(value) || sameHere.has(key)) return;
  const remedy = instead.get(key) ?? "there is no such setting";
  notes.leftOut(value, `${name}: ${remedy}`);
}

function retriesOf(root: Source, models: readonly ModelDraft[], notes: Notes): Pick<SettingsDraft, "retries"> {
  const written = settingOf(root, "num_retries");
  const retries = numberOf(written);
  if (!written || retries === undefined) return {};
  const most = Math.max(1, ...models.map(({ targets }) => targets.length));
  const attempts = Math.min(10, Math.max(Math.trunc(retries) + 1, Math.min(most, 10)));
  if (attempts !== retries + 1) {
    notes.changed(
      written,
      `num_retries: ${attempts} attempts in all, so that each target can be tried, and at most 10`,
    );
  }
  return { retries: { attempts } };
}

function breakerOf(root: Source, notes: Notes): Pick<SettingsDraft, "breaker"> {
  const [fails, seconds] = [settingOf(root, "allowed_fails"), settingOf(root, "cooldown_time")];
  const [allowed, rest] = [numberOf(fails), numberOf(seconds)];
  if (isOn(settingOf(root, "disable_cooldowns"))) return { breaker: { failures: 1_000_000_000 } };
  if (fails && allowed !== undefined) {
    notes.changed(fails, "allowed_fails: failures in a row count, whenever they come, and not those of a minute");
  }
  const breaker = {
    ...(allowed !== undefined && { failures: Math.max(1, Math.trunc(allowed) + 1) }),
    ...(rest !== undefined && { open_seconds: Math.min(600, Math.max(0.1, rest)) }),
  };
  if (seconds && rest !== undefined && rest > 600) notes.changed(seconds, "cooldown_time: ten minutes at most");
  return Object.keys(breaker).length > 0 ? { breaker } : {};
}

/** cacheBytes is the size of the cache, which LiteLLM counts in entries. */
const cacheBytes = 256 * 1024 ** 2;

function cacheOf(root: Source, notes: Notes): Pick<SettingsDraft, "cache"> {
  const written = memberOf(root, "litellm_settings", "cache");
  if (!isOn(written) || !written) return {};
  const params = memberOf(root, "litellm_settings", "cache_params");
  const [type = "local", mode] = [textOf(memberOf(params, "type")), textOf(memberOf(params, "mode"))];
  const calls = memberOf(params, "supported_call_types")?.items?.map((item) => textOf(item) ?? "");
  const isChat = !calls || calls.some((call) => /^a?completion$|responses|messages/.test(call));
  if (mode === "default_off" || !isChat || /semantic/.test(type)) {
    const why =
      "only the same request is answered from the cache here, and for all callers; they opt out by Cache-Control";
    notes.leftOut(params ?? written, `litellm_settings.cache: ${why}`);
    return {};
  }
  const where = type === "local" ? "" : `, not in ${/^[\w-]{1,30}$/.test(type) ? type : "another store"}`;
  notes.changed(
    written,
    `litellm_settings.cache: answers are kept in memory, of each account for itself${where}; one from the cache costs nothing`,
  );
  const seconds = numberOf(memberOf(params, "ttl")) ?? 600;
  return { cache: { max_bytes: cacheBytes, seconds: Math.min(86_400, Math.max(1, seconds)) } };
}

/** callbacksOf carries over what callbacks are for: metrics and traces. */
function callbacksOf(root: Source, notes: Notes): Pick<SettingsDraft, "metrics" | "telemetry"> {
  const keys = ["success_callback", "failure_callback", "callbacks", "service_callbacks", "audit_log_callbacks"];
  const items = keys.flatMap((key) => {
    const written = memberOf(root, "litellm_settings", key);
    return written?.items ?? (written ? [written] : []);
  });
  const asked: Pick<SettingsDraft, "metrics" | "telemetry"> = {};
  for (const item of items) {
    const name = textOf(item) ?? "";
    if (name === "prometheus") {
      asked.metrics = { enabled: true };
      notes.changed(
        item,
        "the callback prometheus: metrics are at port 9464, without a credential, under names of their own (deploy/README.md)",
      );
    } else if (/^(?:otel|opentelemetry)$/.test(name)) {
      const telemetry = telemetryOf(root, item, notes);
      if (telemetry) asked.telemetry = telemetry;
    } else {
      const shown = /^[\w.-]{1,60}$/.test(name) ? ` ${name}` : "";
      notes.leftOut(
        item,
        `the callback${shown}: calls are in the log, in requests.csv, and in traces by OTLP (telemetry); prompts and answers are in none`,
      );
    }
  }
  return asked;
}

function telemetryOf(root: Source, place: Source, notes: Notes): SettingsDraft["telemetry"] {
  const variables = memberOf(root, "environment_variables");
  const written = memberOf(variables, "OTEL_EXPORTER_OTLP_ENDPOINT") ?? memberOf(variables, "OTEL_ENDPOINT");
  const endpoint = plainText(written, notes)?.replace(/\/v1\/(?:traces|metrics)\/?$/, "");
  if (endpoint && /^https?:\/\/[^?#@]+$/.test(endpoint)) {
    notes.changed(
      place,
      "the callback otel: traces and metrics are sent by OTLP over HTTP (JSON), without prompts and answers",
    );
    return { endpoint };
  }
  notes.toDo(
    place,
    "the callback otel: set OTEL_EXPORTER_OTLP_ENDPOINT, or telemetry, to a collector that takes OTLP over HTTP",
  );
  return undefined;
}

function generalOf(root: Source, models: readonly ModelDraft[], notes: Notes): SettingsDraft {
  const general = (key: string) => memberOf(root, "general_settings", key);
  const megabytes = numberOf(general("max_request_size_mb"));
  const days = daysOf(general("maximum_spend_logs_retention_period"));
  const operatorKey = operatorKeyOf(general("master_key"), notes);
  const defaults = {
    ...defaultModel("completion", general("completion_model"), models, notes),
    ...defaultModel("embedding", general("embedding_model"), models, notes),
  };
  const level = logLevelOf(root);
  return {
    ...(level && { log_level: level }),
    ...(megabytes && { max_body_bytes: Math.round(Math.min(1024, Math.max(0.001, megabytes)) * 1024 ** 2) }),
    ...(operatorKey && { operator_key: operatorKey }),
    ...(days && { retention: { requests_days: days } }),
    ...(Object.keys(defaults).length > 0 && { default_models: defaults }),
  };
}

function operatorKeyOf(written: Source | undefined, notes: Notes): string | undefined {
  const text = textOf(written);
  if (!written || text === undefined) return undefined;
  notes.changed(
    written,
    "the master_key is the operator_key: it reaches OperatorService and calls no model. Make API keys for callers",
  );
  if (variableIn(text) === undefined && text.length < 32) {
    notes.toDo(
      written,
      "the operator_key needs at least 32 characters: this one is shorter. Make another, and set operator_key to it",
    );
    return undefined;
  }
  const key = secretText(written, "OPERATOR_KEY", notes);
  if (variableIn(text) !== undefined)
    notes.toDo(written, "the operator_key needs at least 32 characters. See that the variable has them");
  return key;
}

function defaultModel(
  key: "completion" | "embedding",
  written: Source | undefined,
  models: readonly ModelDraft[],
  notes: Notes,
) {
  const name = textOf(written);
  if (!written || name === undefined) return {};
  if (models.some(({ id, aliases = [] }) => id === name || aliases.includes(name))) return { [key]: name };
  notes.leftOut(written, `the default model "${name}": it is not served here`);
  return {};
}

/** daysOf reads `30d`, `12h` and the like. */
function daysOf(written: Source | undefined): number | undefined {
  const [, count, unit = ""] = /^(\d+)([smhdw]|mo)$/.exec(textOf(written) ?? "") ?? [];
  const days = { s: 1 / 86_400, m: 1 / 1440, h: 1 / 24, d: 1, w: 7, mo: 30 }[unit];
  return count === undefined || days === undefined
    ? undefined
    : Math.max(0.01, Number((Number(count) * days).toFixed(2)));
}

function logLevelOf(root: Source): string | undefined {
  const level = textOf(memberOf(root, "environment_variables", "LITELLM_LOG"))?.toLowerCase();
  return level !== undefined && ["debug", "info", "warn", "error"].includes(level) ? level : undefined;
}
