/**
 * Where a call may be sent, in the order in which it tries: the targets of the model that it names, and then those of the
 * models that it names further (`models`). Each of these is one that the key may call: otherwise the call is refused at
 * once, and not when its first model fails.
 */
import type { Call } from "../../call/call.ts";
import { type Input, type Operation, operations } from "../../call/operations.ts";
import { internal, invalidType, invalidValue, modelNotFound, Refusal } from "../../call/refusals.ts";
import type { Provider, RequestFitter, Speak } from "../../providers/contract.ts";
import type { Catalog, Model, Target } from "../../targets/catalog.ts";
import type { TargetState, Targets } from "../../targets/targets.ts";
import type { JsonObject } from "../../wire/json.ts";
import { authorizeModel } from "../admit/authorize.ts";
import { type Way, waysTo } from "../attempt/ways.ts";
import { conversationOf } from "./conversation.ts";
import { partsOf } from "./each-prompt.ts";
import { route } from "./route.ts";

/** A target of a model, and the way to what its upstream speaks. */
export interface Candidate {
  readonly model: Model;
  readonly target: Target;
  /** The API that its upstream speaks. */
  readonly kind: string;
  readonly way: Way;
  readonly operation: Operation;
  readonly speak: Speak<Operation>;
  /** What its upstream takes; undefined where a request goes as it is. */
  readonly fitting: RequestFitter | undefined;
  /** Whether calls may have to wait for one another there. */
  readonly hasQueue: boolean;
  readonly state: TargetState;
  /** What is asked in its place where the upstream turns out not to have the operation. */
  readonly spare?: Candidate | undefined;
}

export interface CandidatesOptions {
  readonly catalog: Catalog;
  /** By the upstream's name. */
  readonly providers: ReadonlyMap<string, Provider>;
  readonly targets: Targets;
  /** From 0 (inclusive) to 1 (exclusive). */
  readonly random: () => number;
}

/** At least one lead, and all of them ask their upstreams in the same number of requests. Throws a Refusal. */
export type CandidatesFor = <O extends Operation>(
  asked: O,
  call: Call<Input<O>>,
) => readonly [Candidate, ...Candidate[]];

export function createCandidatesFor(options: CandidatesOptions): CandidatesFor {
  const { catalog, targets, random } = options;
  const leadAt = createLeadAt(options);

  /** Adds a lead for each target that can be asked: nearly every call has one, for which no list is made in between. */
  function addTo<O extends Operation>(leads: Candidate[], asked: O, model: Model, call: Call<Input<O>>): void {
    const isSticky = model.sticky && model.targets.length > 1;
    const conversation = isSticky ? conversationOf(asked, call as unknown as Call) : undefined;
    for (const target of route(model, { targets, random, conversation })) {
      const lead = leadAt(asked, model, target, call);
      if (lead) leads.push(lead);
    }
  }

  return <O extends Operation>(asked: O, call: Call<Input<O>>) => {
    const models = modelsOf(asked, call, catalog);
    const leads: Candidate[] = [];
    for (const model of models) addTo(leads, asked, model, call);
    const [first] = leads;
    if (!first) throw modelNotFound(namedIn(call.request.outline()).model ?? "");
    const parts = partsOf(first.way, call);
    if (models.length > 1 && parts > 1) {
      throw invalidValue(
        "models",
        "of several prompts all are asked of one model: send them one by one, or leave it out",
      );
    }
    return leads.length === 1 ? [first] : [first, ...leads.slice(1).filter(({ way }) => asksIn(parts, way, call))];
  };
}

/** Whether an upstream at the end of this way is asked in so many requests; one that cannot be asked at all is not. */
function asksIn<O extends Operation>(parts: number, way: Way, call: Call<Input<O>>): boolean {
  try {
    return partsOf(way, call) === parts;
  } catch {
    return false;
  }
}

/** How a request of any operation names its models. */
interface Named {
  readonly model?: string | null;
  readonly models?: readonly string[] | null;
}

/** Reads them also where the operation's contract has no `models`: then nobody has held it to a type. Throws a Refusal. */
function namedIn({ model, models }: JsonObject): Named {
  const isList = Array.isArray(models) && models.every((name) => typeof name === "string");
  if ((models ?? null) !== null && !isList) throw invalidType("models", "expected a list of names");
  return { model: typeof model === "string" ? model : null, models: isList ? (models as string[]) : null };
}

/** Returns the models that a call names, in its order, each once. Throws a Refusal where its key may not call one of them. */
export function modelsOf<O extends Operation>(
  asked: O,
  call: Pick<Call<Input<O>>, "caller" | "request">,
  catalog: Catalog,
): readonly [Model, ...Model[]] {
  const { kind } = operations[asked];
  const { model, models } = namedIn(call.request.outline());
  const find = (name: string) => {
    // Of what kind it is, too, is told to those only who may use it.
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

/** Returns the lead for what is asked; undefined where the target cannot be asked that. */
type LeadAt = (asked: Operation, model: Model, target: Target, call: Pick<Call, "request">) => Candidate | undefined;

/** The leads of a target: nearly always one. */
interface LeadsAt {
  readonly usual: Candidate;
  readonly other?: { readonly lead: Candidate; readonly takes: (request: JsonObject) => boolean } | undefined;
}

/** What upstreams speak never changes: the leads of a model are found once, by the first call that asks for them. */
function createLeadAt(options: CandidatesOptions): LeadAt {
  const found = new WeakMap<Model, Map<Operation, Map<Target, LeadsAt>>>();
  return (asked, model, target, { request }) => {
    const ofModel = found.get(model) ?? new Map<Operation, Map<Target, LeadsAt>>();
    const known = ofModel.get(asked);
    const leads = known ?? leadsOfAll(asked, model, options);
    if (!known) found.set(model, ofModel.set(asked, leads));
    const { usual, other } = leads.get(target) ?? {};
    return other?.takes(request.outline()) ? other.lead : usual;
  };
}

function leadsOfAll(asked: Operation, model: Model, { providers, targets }: CandidatesOptions): Map<Target, LeadsAt> {
  const leads = new Map<Target, LeadsAt>();
  for (const target of model.targets) {
    const provider = providerOf(target, providers);
    const { speaks, kind, hasQueue = false } = provider;
    const fitting = provider.fitter?.(target.model, model.reasons);
    const state = targets.of(target);
    const ways = waysTo(asked, model, provider, fitting);
    if (!ways) continue;
    const leadBy = (way: Way, spareWay?: Way): Candidate => {
      const operation = way.at(-1)?.to ?? asked;
      const speak = speaks[operation] as Speak<Operation>;
      const spare = spareWay && operation === "responses" ? leadBy(spareWay) : undefined;
      return { model, target, kind, way, operation, speak, fitting, hasQueue, state, spare };
    };
    const { usual, other, spare } = ways;
    const further = other && { lead: leadBy(other.way, spare), takes: other.takes };
    leads.set(target, { usual: leadBy(usual, spare), other: further });
  }
  return leads;
}

function providerOf({ upstream }: Target, providers: CandidatesOptions["providers"]): Provider {
  const provider = providers.get(upstream);
  if (!provider) throw internal(new Error(`no provider for the upstream ${upstream}`));
  return provider;
}
