/** Makes models of LiteLLM's deployments: those of a name are the targets of one model. */
import { modelIdSchema, modelNameSchema, nameSchema } from "../../values.ts";
import type { Catalogue, KnownModel } from "../catalogue.ts";
import type { ModelDraft, PriceDraft, TargetDraft } from "../draft.ts";
import { type Mode, modeByName, modes } from "../modes.ts";
import { type Notes, noteUnpriced } from "../notes.ts";
import { memberOf, numberOf, type Source, textOf } from "../source.ts";
import type { Deployment } from "./deployments.ts";
import { hasCosts, priceOf } from "./prices.ts";
import { dropParams, type Upstreams } from "./upstreams.ts";

export interface ModelOptions {
  readonly upstreams: Upstreams;
  readonly catalogue: Catalogue;
  readonly notes: Notes;
}

/** modelsOf returns the models, in the order in which their names come. */
export function modelsOf(deployments: readonly Deployment[], options: ModelOptions): ModelDraft[] {
  const named = Map.groupBy(deployments, ({ name }) => name);
  return [...named].flatMap(([name, group]) => {
    if (name.includes("*")) {
      for (const deployment of group) discover(deployment, options);
      return [];
    }
    return modelOf(name, group, options) ?? [];
  });
}

/** discover serves all models that an upstream lists, as a wildcard asks. */
function discover(deployment: Deployment, { upstreams, notes }: ModelOptions): void {
  const { name, place, model } = deployment;
  const upstream = upstreams.of(deployment);
  if (!upstream) return;
  upstream.discover = true;
  const isPart = model !== "*" ? ", whatever they begin with" : "";
  notes.changed(
    place,
    `"${name}": all models that the upstream lists are served${isPart}, under their own names, without a prefix`,
  );
}

function modelOf(name: string, group: readonly Deployment[], options: ModelOptions): ModelDraft | undefined {
  const { notes, catalogue } = options;
  const [first] = group as [Deployment];
  if (!modelIdSchema.safeParse(name).success) {
    notes.leftOut(first.place, "a model_name with a space, or signs beyond ASCII. Give it another name");
    return undefined;
  }
  const known = knownOf(first, catalogue);
  const mode = modeOf(first, known?.model);
  if ("refused" in mode) {
    notes.leftOut(first.place, `"${name}": ${mode.refused}`);
    return undefined;
  }
  const targets = targetsOf(group, mode.kind, options);
  if (targets.length === 0) return undefined;
  const price = priceOfGroup(name, group, known, mode.kind === "chat", notes);
  const [input, output] = [first.info, first.params].flatMap((at) => limitsOf(at));
  const isChat = mode.kind === "chat";
  const [context, most] = [input ?? known?.model.context_window, output ?? known?.model.max_output_tokens];
  return {
    id: name,
    family: familyOf(first, known?.model),
    kind: mode.kind,
    ...(isChat && (mode.completions ?? first.provider.completions) && { completions: "native" }),
    ...(context !== undefined && { context_window: context }),
    ...(isChat && most !== undefined && { max_output_tokens: most }),
    ...(mode.kind === "embedding" && known?.model.dimensions && { dimensions: known.model.dimensions }),
    ...(known?.model.reasoning && { reasoning: true }),
    ...(price && { price }),
    targets,
  };
}

/** Known is a model's entry in the catalogue. Its price holds where the same vendor serves it, or the file says what it is. */
interface Known {
  readonly model: KnownModel;
  readonly hasPrice: boolean;
  readonly isDated: boolean;
}

function knownOf({ info, params, model: at, provider }: Deployment, catalogue: Catalogue): Known | undefined {
  const base = textOf(memberOf(info, "base_model")) ?? textOf(memberOf(params, "base_model"));
  const model = catalogue(base ?? at);
  if (!model) return undefined;
  const hasPrice = base !== undefined || provider.vendor === model.vendor || provider.vendor === "azure";
  return { model, hasPrice, isDated: !(base ?? at).endsWith(model.id) };
}

/** modeOf returns what a deployment serves: by its `mode`, by the catalogue, or by its name. */
function modeOf({ info, model }: Deployment, known: KnownModel | undefined): Mode {
  const written = textOf(memberOf(info, "mode"));
  if (written !== undefined) {
    const refused = `the gateway has no endpoint for the mode ${JSON.stringify(written.slice(0, 40))}`;
    return modes.get(written) ?? { refused };
  }
  if (known) return { kind: known.kind };
  return modeByName(model);
}

/** familyOf returns the name that permissions of keys use: the only access group, the catalogue's family, or the provider. */
function familyOf({ info, providerName }: Deployment, known: KnownModel | undefined): string {
  const groups = memberOf(info, "access_groups")?.items ?? [];
  const [group] = groups.length === 1 ? groups.flatMap((item) => textOf(item) ?? []) : [];
  return group !== undefined && nameSchema.safeParse(group).success ? group : (known?.family ?? providerName);
}

function limitsOf(at: Source | undefined): [input: number | undefined, output: number | undefined] | [] {
  const whole = (key: string) => {
    const tokens = numberOf(memberOf(at, key));
    return tokens !== undefined && Number.isInteger(tokens) && tokens >= 1 ? tokens : undefined;
  };
  const limits = [whole("max_input_tokens"), whole("max_output_tokens")] as [number | undefined, number | undefined];
  return limits.some((limit) => limit !== undefined) ? limits : [];
}

/** targetsOf returns a target for each deployment, with their weights: `weight`, or else `rpm`, or else `tpm`. */
function targetsOf(group: readonly Deployment[], kind: string, { upstreams, notes }: ModelOptions): TargetDraft[] {
  const key = ["weight", "rpm", "tpm"].find((name) => group.some(({ params }) => memberOf(params, name)));
  const weights = weightsOf(group.map(({ params }) => numberOf(memberOf(params, key ?? ""))));
  return group.flatMap((deployment, i) => {
    const { params, provider, place, name } = deployment;
    const upstream = upstreams.of(deployment);
    if (!upstream) return [];
    for (const rate of ["rpm", "tpm"]) if (memberOf(params, rate)) notes.changed(place, rateNote);
    if (upstream.kind === "anthropic" && kind !== "chat") {
      notes.leftOut(place, `"${name}": an upstream of kind anthropic serves chat models only`);
      return [];
    }
    dropParams(upstream, deployment, notes);
    const { prefix = "" } = provider;
    const model = deployment.model.includes("/") ? deployment.model : `${prefix}${deployment.model}`;
    if (!modelNameSchema.safeParse(model).success) {
      notes.leftOut(place, `"${name}": its model has a space in its name, or none`);
      return [];
    }
    const order = numberOf(memberOf(params, "order"));
    const priority = order !== undefined && Number.isInteger(order) && order > 0 ? order : 0;
    const weight = weights[i] ?? 1;
    return [{ upstream: upstream.name, model, ...(priority && { priority }), ...(weight > 1 && { weight }) }];
  });
}

const rateNote =
  "rpm and tpm of a deployment say how calls are shared among targets; they are no limit. `queue` bounds the calls an upstream has at a time";

/** weightsOf makes whole numbers of weights: 0.9 and 0.1 are 9 and 1. What has none gets the smallest. */
function weightsOf(written: readonly (number | undefined)[]): number[] {
  const positive = written.filter((weight): weight is number => weight !== undefined && weight > 0);
  if (positive.length === 0) return written.map(() => 1);
  const least = Math.min(...positive);
  const exact = positive.every(Number.isInteger) ? 1 : 1000;
  const scaled = written.map((weight) => Math.max(1, Math.round((weight || least) * exact)));
  const divisor = scaled.reduce(greatestDivisor);
  return scaled.map((weight) => weight / divisor);
}

function greatestDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestDivisor(b, a % b);
}

/** priceOfGroup returns the price of a model. All its targets cost the same: the first one's price holds. */
function priceOfGroup(
  name: string,
  group: readonly Deployment[],
  known: Known | undefined,
  isChat: boolean,
  notes: Notes,
): PriceDraft | undefined {
  const [first] = group as [Deployment];
  const inCatalogue = known?.hasPrice ? known.model.price : undefined;
  const price = priceOf([first.info, first.params], inCatalogue, isChat, notes);
  for (const other of group.slice(1)) {
    const theirs = priceOf([other.info, other.params], undefined, isChat, notes);
    if (!theirs || JSON.stringify(theirs) === JSON.stringify(price)) continue;
    notes.changed(
      other.place,
      `"${name}": its deployments have different costs. A model has one price: that of the first`,
    );
  }
  if (!price) noteUnpriced(notes, first.place, name);
  if (known?.isDated && inCatalogue && !hasCosts([first.info, first.params])) {
    notes.changed(
      first.place,
      `"${name}": it has the price of ${known.model.id} in the catalogue. See whether that is its own`,
    );
  }
  return price;
}
