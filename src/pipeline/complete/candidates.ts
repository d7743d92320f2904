/**
 * The candidates of a call, in the order in which they are tried: the targets of the model that it names, then those of its
 * fallback models (`models`). The key must be permitted to call every one of these models: otherwise the call is refused at
 * once, and not when its first model fails.
 */
import type { Call } from "../../call/call.ts";
import { type Operation, operations } from "../../call/operations.ts";
import { internal, invalidType, invalidValue, modelNotFound, Refusal } from "../../call/refusals.ts";
import type { Provider, RequestFitter, Speak } from "../../providers/contract.ts";
import type { Catalog, Model, Target } from "../../targets/catalog.ts";
import type { RefusedKeys } from "../../targets/further-keys.ts";
import type { TargetState, Targets } from "../../targets/targets.ts";
import type { JsonObject } from "../../wire/json.ts";
import { authorizeModel } from "../admit/authorize.ts";
import { type TranslationPath, translationPathsTo } from "../attempt/translation-paths.ts";
import { conversationOf } from "./conversation.ts";
import { countParts } from "./parts.ts";
import { route } from "./route.ts";

/** Candidate is a target of a model, and how a call is put to it. */
export interface Candidate {
  readonly model: Model;
  readonly target: Target;
  /** The API that its upstream speaks. */
  readonly kind: string;
  readonly path: TranslationPath;
  /** The operation that the upstream is asked: where the path ends. */
  readonly operation: Operation;
  readonly speak: Speak<Operation>;
  /** fitting is what the upstream accepts of a request; undefined: requests are sent as they are. */
  readonly fitting: RequestFitter | undefined;
  /** refused is what is left out besides: its server has refused that. */
  readonly refused?: RefusedKeys | undefined;
  /** hasQueue is whether calls may queue at the upstream. */
  readonly hasQueue: boolean;
  readonly state: TargetState;
  /** The candidate that is asked instead where the upstream turns out not to serve the operation. */
  readonly spare?: Candidate | undefined;
}

export interface CandidatesOptions {
  readonly catalog: Catalog;
  /** Returns the providers in force, by the upstream's name. They change in one step with the catalogue. */
  readonly providers: () => ReadonlyMap<string, Provider>;
  readonly targets: Targets;
  /** random returns a number from 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** CandidatesFor returns the candidates of a call, one at least; all of them ask their upstreams in the same number of requests. Throws a Refusal. */
export type CandidatesFor = (asked: Operation, call: Call) => readonly [Candidate, ...Candidate[]];

export function createCandidatesFor(options: CandidatesOptions): CandidatesFor {
  const { catalog, targets, random } = options;
  const candidateAt = createCandidateAt(options);

  /** Adds a candidate for each target that can be asked. Nearly every call has one, so no list is made in between. */
  function addTo(candidates: Candidate[], asked: Operation, model: Model, call: Call): void {
    const isSticky = model.sticky && model.targets.length > 1;
    const conversation = isSticky ? conversationOf(asked, call) : undefined;
    for (const target of route(model, { targets, random, conversation })) {
      const candidate = candidateAt(asked, model, target, call);
      if (candidate) candidates.push(candidate);
    }
  }

  return (asked, call) => {
    const models = modelsOf(asked, call, catalog);
    const candidates: Candidate[] = [];
    for (const model of models) addTo(candidates, asked, model, call);
    const [first, ...others] = candidates;
    if (!first) throw modelNotFound(namedIn(call.request.outline()).model ?? "");
    const parts = countParts(first.path, call);
    if (models.length > 1 && parts > 1) {
      throw invalidValue("models", "several prompts go to one model: send them one by one, or omit `models`");
    }
    return others.length === 0 ? [first] : [first, ...others.filter(({ path }) => hasParts(parts, path, call))];
  };
}

/** hasParts reports whether a path asks its upstream in so many requests. A path that cannot take the call does not. */
function hasParts(parts: number, path: TranslationPath, call: Call): boolean {
  try {
    return countParts(path, call) === parts;
  } catch {
    return false;
  }
}

/** Named is how a request of any operation names its models. */
interface Named {
  readonly model?: string | null;
  readonly models?: readonly string[] | null;
}

/** namedIn reads the names. `models` may be unchecked: the contracts of some operations do not have it. Throws a Refusal. */
function namedIn({ model, models }: JsonObject): Named {
  const isList = Array.isArray(models) && models.every((name) => typeof name === "string");
  if ((models ?? null) !== null && !isList) throw invalidType("models", "expected a list of names");
  return { model: typeof model === "string" ? model : null, models: isList ? (models as string[]) : null };
}

/** modelsOf returns the models that a call names, in its order, each once. Throws a Refusal where its key may not call one of them. */
export function modelsOf(
  asked: Operation,
  call: Pick<Call, "caller" | "request">,
  catalog: Catalog,
): readonly [Model, ...Model[]] {
  const { kind } = operations[asked];
  const { model, models } = namedIn(call.request.outline());
  const find = (name: string) => {
    // Permission comes first: the kind of a model is told only to keys that may use it.
    authorizeModel(call.caller, catalog.get(name), name);
    return catalog.find(name, kind);
  };
  const first = find(model ?? "");
  if (!models || models.length === 0) return [first];
  const found = models.map((name, i) => {
    try {
      return find(name);
    } catch (error) {
      throw error instanceof Refusal ? error.with({ param: `models[${i}]` }) : error;
    }
  });
  return [first, ...new Set(found.filter((further) => further !== first))];
}

/** Returns the candidate for an operation; undefined where the target cannot be asked it. */
type CandidateAt = (
  asked: Operation,
  model: Model,
  target: Target,
  call: Pick<Call, "request">,
) => Candidate | undefined;

/** The candidates of one target: nearly always one. */
interface TargetCandidates {
  readonly usual: Candidate;
  readonly other?: { readonly candidate: Candidate; readonly takes: (request: JsonObject) => boolean } | undefined;
}

/**
 * Candidates of a model are made once, by the first call that asks for them. Where one of its upstreams changes, the catalogue makes
 * another model.
 */
function createCandidateAt(options: CandidatesOptions): CandidateAt {
  const made = new WeakMap<Model, Map<Operation, Map<Target, TargetCandidates>>>();
  return (asked, model, target, { request }) => {
    const ofModel = made.get(model) ?? new Map<Operation, Map<Target, TargetCandidates>>();
    const known = ofModel.get(asked);
    const ofTargets = known ?? candidatesByTarget(asked, model, options);
    if (!known) made.set(model, ofModel.set(asked, ofTargets));
    const { usual, other } = ofTargets.get(target) ?? {};
    return other?.takes(request.outline()) ? other.candidate : usual;
  };
}

function candidatesByTarget(
  asked: Operation,
  model: Model,
  { providers, targets }: CandidatesOptions,
): Map<Target, TargetCandidates> {
  const candidates = new Map<Target, TargetCandidates>();
  for (const target of model.targets) {
    const provider = providerOf(target, providers());
    const { speaks, kind, hasQueue = false } = provider;
    const fitting = provider.fitter?.(target.model, model.reasons);
    const state = targets.of(target);
    const paths = translationPathsTo(asked, model, target.upstream, provider, fitting);
    if (!paths) continue;
    const candidateBy = (path: TranslationPath, sparePath?: TranslationPath): Candidate => {
      const operation = path.at(-1)?.to ?? asked;
      const speak = speaks[operation] as Speak<Operation>;
      const spare = sparePath && operation === "responses" ? candidateBy(sparePath) : undefined;
      return { model, target, kind, path, operation, speak, fitting, hasQueue, state, spare };
    };
    const { usual, other, spare } = paths;
    const further = other && { candidate: candidateBy(other.path, spare), takes: other.takes };
    candidates.set(target, { usual: candidateBy(usual, spare), other: further });
  }
  return candidates;
}

function providerOf({ upstream }: Target, providers: ReadonlyMap<string, Provider>): Provider {
  const provider = providers.get(upstream);
  if (!provider) throw internal(new Error(`no provider for the upstream ${upstream}`));
  return provider;
}
