/** The parts of gateway.yaml that an import makes, as they are written there: amounts are decimal strings, secrets are references. */

/** FileDraft is what an import makes. */
export interface FileDraft {
  readonly settings: SettingsDraft;
  readonly upstreams: readonly UpstreamDraft[];
  readonly models: readonly ModelDraft[];
}

/** SettingsDraft is the rest of gateway.yaml. */
export interface SettingsDraft {
  log_level?: string;
  max_body_bytes?: number;
  operator_key?: string;
  retries?: { readonly attempts: number };
  breaker?: { readonly failures?: number; readonly open_seconds?: number };
  cache?: { readonly max_bytes: number; readonly seconds: number };
  metrics?: { readonly enabled: boolean };
  telemetry?: { readonly endpoint: string; readonly headers?: Readonly<Record<string, string>> };
  retention?: { readonly requests_days: number };
  default_models?: { completion?: string; embedding?: string };
}

/** UpstreamDraft is an upstream as gateway.yaml has it. */
export interface UpstreamDraft {
  name: string;
  kind: string;
  base_url: string;
  vendor?: string;
  api_key?: string;
  api_keys?: string[];
  credential?: string;
  headers?: Record<string, string>;
  query?: Readonly<Record<string, string>>;
  discover?: boolean;
  timeouts?: TimeoutsDraft;
  queue?: { readonly max_concurrent: number };
  profile?: { models: { match: string[]; refuses: string[] }[] };
}

export interface TimeoutsDraft {
  readonly first_byte_seconds?: number;
  readonly idle_seconds?: number;
}

/** ModelDraft is a model as gateway.yaml has it. */
export interface ModelDraft {
  id: string;
  aliases?: string[];
  family: string;
  kind: string;
  completions?: string;
  context_window?: number;
  max_output_tokens?: number;
  dimensions?: number;
  reasoning?: boolean;
  price?: PriceDraft;
  targets: TargetDraft[];
}

export interface TargetDraft {
  readonly upstream: string;
  readonly model: string;
  readonly priority?: number;
  readonly weight?: number;
}

/** PriceDraft is a price as gateway.yaml has it: decimal strings, bands and cards. */
export interface PriceDraft {
  [column: string]: string | PriceDraft | BandDraft[] | undefined;
}
export type BandDraft = { above: number } & { [column: string]: string | number };
