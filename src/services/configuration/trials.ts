/** The operator's RPCs that change nothing: upstreams on trial, tiers before they hold, and what the catalogue knows. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  ListBuiltInModelsResponseSchema,
  ListVendorsResponseSchema,
  PreviewTiersResponseSchema,
  TestOutcome,
  TestStepKind,
  type TestStepSchema,
  TestUpstreamResponseSchema,
} from "../../../gen/modelgateway/v1/configuration_pb.ts";
import type { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { conflict, invalidValue, resourceNotFound } from "../../call/refusals.ts";
import type { Tier } from "../../call/tiers.ts";
import { builtInCatalogue } from "../../config/catalogue/built-in.ts";
import { inUnits } from "../../config/catalogue/currency.ts";
import { modelAsWritten } from "../../config/catalogue/written.ts";
import type { Config, UpstreamConfig } from "../../config/config.ts";
import { type Json, memberOf } from "../../config/stored/documents.ts";
import type { StoredConfiguration } from "../../config/stored/stored-configuration.ts";
import type { AccountStore } from "../../storage/accounts.ts";
import { whole } from "../whole.ts";
import { orRefusal } from "./configuration.ts";
import { objectOf } from "./configuration-messages.ts";
import { changedRanges, changeOfTiers } from "./tier-changes.ts";

type Rpcs = Pick<
  ServiceImplementation<typeof OperatorService>,
  "testUpstream" | "previewTiers" | "listVendors" | "listBuiltInModels"
>;

export interface TestOptions {
  /** config has the models that are configured, by which one is chosen that nobody has named. */
  readonly config: Config;
  readonly model: string | undefined;
  readonly kind: "chat" | "embedding" | "speech" | undefined;
  readonly skipsList: boolean;
  readonly skipsCall: boolean;
}

/** TestedStep is what came of a step of a test. */
export interface TestedStep {
  readonly kind: "list_models" | "call";
  readonly outcome: "ok" | "failed" | "unknown" | "skipped";
  readonly words: string;
  readonly latencyMs: number;
  readonly modelCount?: number | undefined;
  readonly models?: readonly string[] | undefined;
  readonly model?: string | undefined;
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
  readonly status?: number | undefined;
}

/** TestUpstream tries an upstream. Never throws. */
export type TestUpstream = (upstream: UpstreamConfig, options: TestOptions) => Promise<readonly TestedStep[]>;

export interface TrialParts {
  readonly stored: StoredConfiguration;
  readonly accounts: Pick<AccountStore, "recharged">;
  /** tiers returns the tiers in force, lowest first. */
  readonly tiers: () => readonly Tier[];
  /** testUpstream is absent in processes that ask no upstream. */
  readonly testUpstream?: TestUpstream | undefined;
}

export function trialRpcs({
  stored,
  accounts,
  tiers,
  testUpstream,
}: TrialParts): Pick<Rpcs, "testUpstream" | "previewTiers"> {
  return {
    async testUpstream({ request }) {
      const { name, upstream: entry, model, kind, skipList = false, skipCall = false } = request.message();
      if (!testUpstream) throw conflict("Upstreams are tested by a gateway that serves. Ask one.");
      if ((name === undefined) === (entry === undefined))
        throw invalidValue("upstream", "expected either `name` or `upstream`");
      const { config } = await orRefusal(stored.read());
      const upstream = entry
        ? await orRefusal(stored.upstream(entry as unknown as Json))
        : config.upstreams.find((one) => one.name === name);
      if (!upstream) throw resourceNotFound("upstream", name ?? "", "name");
      const skips = { skipsList: skipList, skipsCall: skipCall };
      const steps = await testUpstream(upstream, { config, model: model || undefined, kind: kindOf(kind), ...skips });
      return whole(TestUpstreamResponseSchema, {
        ok: steps.every(({ outcome }) => outcome !== "failed"),
        steps: steps.map(stepMessage),
      });
    },
    async previewTiers({ request }) {
      const { settings } = request.message();
      const asked = memberOf(settings as unknown as Json | undefined, "tiers");
      const after = await orRefusal(stored.tiers(asked ?? null));
      const before = tiers();
      const found = await accounts.recharged(changedRanges(before, after), maxChanges);
      return whole(PreviewTiersResponseSchema, {
        total: found.total,
        accounts: found.accounts,
        changes: found.list.map((account) => changeOfTiers(account, before, after)),
      });
    },
  };
}

/** catalogueRpcs tell what the built-in catalogue knows, and what of it is served. */
export function catalogueRpcs({ stored }: Pick<TrialParts, "stored">): Pick<Rpcs, "listVendors" | "listBuiltInModels"> {
  return {
    async listVendors() {
      const { vendors, inDollars } = builtInCatalogue();
      const counts = Map.groupBy(inDollars, ({ vendor }) => vendor);
      return whole(ListVendorsResponseSchema, {
        vendors: [...vendors]
          .sort((a, b) => a.name.localeCompare(b.name))
          .map((vendor) => ({
            name: vendor.name,
            kind: vendor.kind,
            baseUrl: vendor.base_url ?? "",
            urlSuffix: vendor.url_suffix ?? "",
            needsKey: vendor.base_url !== undefined,
            keyVariable: vendor.key_variable,
            models: counts.get(vendor.name)?.length ?? 0,
            discovers: vendor.discover_elsewhere ?? false,
          })),
      });
    },
    async listBuiltInModels({ request }) {
      const { vendor: asked } = request.message();
      const { config } = await orRefusal(stored.read());
      const { catalogue, cataloguePrices } = config;
      const known = new Set(catalogue.map(({ id }) => id));
      const replaced = builtInCatalogue().inDollars.filter(({ id }) => !known.has(id));
      const all = [
        ...catalogue.map((model) => ({ model, isReplaced: false })),
        ...replaced.map((model) => ({ model: inUnits(model, cataloguePrices), isReplaced: true })),
      ];
      const models = all.filter(({ model }) => asked === undefined || model.vendor === asked);
      return whole(ListBuiltInModelsResponseSchema, {
        models: models.map(({ model, isReplaced }) => ({
          id: model.id,
          vendor: model.vendor ?? "",
          model: objectOf(modelAsWritten(model)),
          replaced: isReplaced,
        })),
      });
    },
  };
}

/** The most accounts that a preview tells of. */
const maxChanges = 100;

function kindOf(kind: string | undefined): TestOptions["kind"] {
  return kind === "chat" || kind === "embedding" || kind === "speech" ? kind : undefined;
}

const kinds = { list_models: TestStepKind.LIST_MODELS, call: TestStepKind.CALL } as const;
const outcomes = {
  ok: TestOutcome.OK,
  failed: TestOutcome.FAILED,
  unknown: TestOutcome.UNKNOWN,
  skipped: TestOutcome.SKIPPED,
} as const;

function stepMessage(step: TestedStep): MessageInitShape<typeof TestStepSchema> {
  const { modelCount, model, inputTokens, outputTokens, status } = step;
  return {
    kind: kinds[step.kind],
    outcome: outcomes[step.outcome],
    words: step.words,
    latencyMs: Math.round(step.latencyMs),
    models: [...(step.models ?? [])],
    ...(modelCount === undefined ? {} : { modelCount }),
    ...(model === undefined ? {} : { model }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(status === undefined ? {} : { status }),
  };
}
