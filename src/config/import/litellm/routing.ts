/** Carries LiteLLM's fallbacks and aliases over to models: fallbacks are targets of a later priority. */
import { modelNameSchema } from "../../values.ts";
import type { ModelDraft, TargetDraft } from "../draft.ts";
import type { Notes } from "../notes.ts";
import { memberOf, type Source, textOf } from "../source.ts";

/** settingOf returns a setting of the router, which may stand in either section. */
export function settingOf(root: Source, key: string): Source | undefined {
  return memberOf(root, "router_settings", key) ?? memberOf(root, "litellm_settings", key);
}

/** addAliases gives models the other names that callers use: `model_group_alias`, and `model_alias_map`. */
export function addAliases(root: Source, models: readonly ModelDraft[], notes: Notes): void {
  const byId = new Map(models.map((model) => [model.id, model]));
  const taken = new Set(byId.keys());
  for (const key of ["model_group_alias", "model_alias_map"]) {
    const written = settingOf(root, key);
    if (written && !written.members) notes.leftOut(written, `${key}: expected a map of aliases to models`);
    for (const [alias, value] of written?.members ?? []) {
      const name = textOf(value) ?? textOf(memberOf(value, "model"));
      const model = name === undefined ? undefined : byId.get(name);
      if (!model || taken.has(alias) || !modelNameSchema.safeParse(alias).success) {
        const why = model ? "a model has this name already, or it cannot be a name" : "its model is not served here";
        notes.leftOut(value, `the alias "${alias}": ${why}`);
        continue;
      }
      taken.add(alias);
      model.aliases = [...(model.aliases ?? []), alias];
      if (memberOf(value, "hidden")) notes.changed(value, `the alias "${alias}" is listed by GET /v1/models`);
    }
  }
}

/** addFallbacks adds the targets of a model's fallbacks behind its own. */
export function addFallbacks(root: Source, models: readonly ModelDraft[], notes: Notes): void {
  const own = new Map(models.map(({ id, targets }) => [id, [...targets]]));
  const byName = new Map(models.flatMap((model) => [model.id, ...(model.aliases ?? [])].map((name) => [name, model])));
  const written = settingOf(root, "fallbacks");
  if (written && !written.items)
    notes.leftOut(written, "fallbacks: expected a list of maps, of a model to its fallbacks");
  for (const { of, names, place } of fallbacksOf(root)) {
    const isForAll = of === "*";
    const named = byName.get(of);
    for (const model of isForAll ? models : named ? [named] : []) {
      for (const name of names) addFallback({ model, name, byName, own, place, isForAll }, notes);
    }
    if (!isForAll && !named) notes.leftOut(place, `the fallbacks of "${of}": it is not served here`);
  }
  for (const key of ["context_window_fallbacks", "content_policy_fallbacks"]) {
    const written = settingOf(root, key);
    if (written)
      notes.leftOut(written, `${key}: the caller is told. It may name further models in the request: "models": […]`);
  }
}

interface Fallbacks {
  /** of is the model that they are for; `*` for all. */
  readonly of: string;
  readonly names: readonly string[];
  readonly place: Source;
}

function fallbacksOf(root: Source): Fallbacks[] {
  const lists = (settingOf(root, "fallbacks")?.items ?? []).flatMap((item) =>
    [...(item.members ?? [])].map(([of, list]) => ({ of, names: namesIn(list), place: list })),
  );
  const all = settingOf(root, "default_fallbacks");
  return all ? [...lists, { of: "*", names: namesIn(all), place: all }] : lists;
}

const namesIn = ({ items = [] }: Source) =>
  items.flatMap((item) => textOf(item) ?? textOf(memberOf(item, "model")) ?? []);

interface Fallback {
  readonly model: ModelDraft;
  readonly name: string;
  /** byName has each model by its id and its aliases, which no two share. */
  readonly byName: ReadonlyMap<string, ModelDraft>;
  /** own are the targets that each model has without fallbacks. */
  readonly own: ReadonlyMap<string, readonly TargetDraft[]>;
  readonly place: Source;
  readonly isForAll: boolean;
}

function addFallback({ model, name, byName, own, place, isForAll }: Fallback, notes: Notes): void {
  const other = byName.get(name);
  if (!other || other.kind !== model.kind) {
    // Fallbacks for all models are meant for those that they fit.
    if (!other || !isForAll) {
      notes.leftOut(
        place,
        `the fallback of "${model.id}" to "${name}": ${other ? "it is of another kind" : "it is not served here"}`,
      );
    }
    return;
  }
  if (other === model) return;
  const behind = 1 + Math.max(...model.targets.map(({ priority = 0 }) => priority));
  const more = (own.get(other.id) ?? []).filter(
    (target) => !model.targets.some((known) => known.upstream === target.upstream && known.model === target.model),
  );
  model.targets.push(...more.map((target) => ({ ...target, priority: behind + (target.priority ?? 0) })));
  const isSame = JSON.stringify(other.price) === JSON.stringify(model.price);
  const price = isSame
    ? ""
    : `, and is charged at the price of "${model.id}". Callers who name both in "models" pay for the one that answers`;
  notes.changed(place, `the fallback of "${model.id}" to "${other.id}" is a target of it${price}`);
}
