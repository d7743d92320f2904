/** The operator's RPCs that show what a change would do: an upstream is tested, and tiers are compared with those in force. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  PreviewTiersResponseSchema,
  type TestedUpstreamSchema,
  TestOutcome,
  TestStepKind,
  type TestStepSchema,
  TestUpstreamResponseSchema,
} from "../../../gen/modelgateway/v1/configuration_pb.ts";
import type { OperatorService } from "../../../gen/modelgateway/v1/operator_pb.ts";
import { TestReason } from "../../../gen/modelgateway/v1/reasons_pb.ts";
import type { ServiceImplementation } from "../../call/call.ts";
import { conflict, invalidValue, resourceNotFound } from "../../call/refusals.ts";
import type { Tier } from "../../call/tiers.ts";
import type { UpstreamConfig } from "../../config/config.ts";
import { type Json, memberOf } from "../../config/stored/documents.ts";
import type { StoredConfiguration } from "../../config/stored/stored-configuration.ts";
import type { AccountStore } from "../../storage/accounts.ts";
import { whole } from "../whole.ts";
import { orRefusal } from "./configuration.ts";
import { testMessage } from "./test-reasons.ts";
import type { TestedStep, TestOptions, TestUpstream } from "./test-upstream.ts";
import { changedRanges, changeOfTiers } from "./tier-changes.ts";

type Rpcs = Pick<ServiceImplementation<typeof OperatorService>, "testUpstream" | "previewTiers">;

export interface PreviewParts {
  readonly stored: StoredConfiguration;
  readonly accounts: Pick<AccountStore, "recharged">;
  /** tiers returns the tiers in force, lowest first. */
  readonly tiers: () => readonly Tier[];
  /** testUpstream is absent in processes that ask no upstream. */
  readonly testUpstream?: TestUpstream | undefined;
}

export function previewRpcs({ stored, accounts, tiers, testUpstream }: PreviewParts): Rpcs {
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
        tested: testedMessage(upstream, steps),
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

/** testedMessage says which upstream was tested. Its address may have been written with a secret. */
function testedMessage(
  { name, kind, base_url }: UpstreamConfig,
  steps: readonly TestedStep[],
): MessageInitShape<typeof TestedUpstreamSchema> {
  const models = steps.flatMap(({ kind, model }) => (kind === "call" && model !== undefined ? [model] : []));
  return { name, kind, baseUrl: addressOf(base_url), models };
}

function addressOf(baseUrl: string): string {
  const { origin, pathname } = new URL(baseUrl);
  return `${origin}${pathname}`;
}

function stepMessage(step: TestedStep): MessageInitShape<typeof TestStepSchema> {
  const { parameters = {}, modelCount, model, inputTokens, outputTokens, status } = step;
  return {
    kind: kinds[step.kind],
    outcome: outcomes[step.outcome],
    message: testMessage(step.reason, parameters),
    reason: TestReason[step.reason],
    parameters,
    latencyMs: Math.round(step.latencyMs),
    models: [...(step.models ?? [])],
    ...(modelCount === undefined ? {} : { modelCount }),
    ...(model === undefined ? {} : { model }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(status === undefined ? {} : { status }),
  };
}
