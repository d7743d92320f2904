/**
 * Makes a gateway.yaml of new-api's channels (`GET /api/channel/`) and prices (`GET /api/pricing`). Users, tokens and quotas are in
 * its database, and in neither of these.
 */
import { basename } from "node:path";
import { modelIdSchema, modelNameSchema } from "../../values.ts";
import { type Catalogue, readCatalogue } from "../catalogue.ts";
import type { ModelDraft, TargetDraft } from "../draft.ts";
import type { Imported } from "../imported.ts";
import { modeByName } from "../modes.ts";
import { createNotes, type Notes, noteUnpriced } from "../notes.ts";
import { memberOf, type ReadText, readSource, type Source, textOf } from "../source.ts";
import { variablesIn, writeGatewayYaml } from "../write.ts";
import { type Channel, readChannels } from "./channels.ts";
import { priceOf } from "./ratios.ts";

/** importNewApi reads the channels, and the prices where there is a file of them. Throws a ConfigError where one cannot be read. */
export function importNewApi(file: string, prices: string | undefined, readText: ReadText): Imported {
  const notes = createNotes();
  const root = readSource(file, readText);
  const pricing = prices === undefined ? undefined : readSource(prices, readText);
  const items = memberOf(root, "data", "items")?.items ?? memberOf(root, "data")?.items ?? [];
  if (items.length === 0)
    notes.toDo(root, "there are no channels in it. Save the answer of GET /api/channel/?p=1&page_size=100");
  const channels = readChannels(items, notes);
  const entries = new Map(
    (memberOf(pricing, "data")?.items ?? []).map((entry) => [textOf(memberOf(entry, "model_name")), entry]),
  );
  if (pricing) noteGroups(pricing, notes);
  const names = [...new Set(channels.flatMap(({ models }) => models))];
  const catalogue = readCatalogue();
  const models = names.flatMap((name) => modelOf(name, channels, entries.get(name), catalogue, notes) ?? []);
  const used = new Set(models.flatMap(({ targets }) => targets.map(({ upstream }) => upstream)));
  const upstreams = channels.map(({ upstream }) => upstream).filter(({ name }) => used.has(name));
  const draft = { settings: {}, upstreams, models };
  const noted = notes.all();
  const text = writeGatewayYaml({ source: basename(file), command: "import new-api" }, draft, noted);
  return { text, notes: noted, variables: variablesIn(draft), models: models.length, upstreams: upstreams.length };
}

function modelOf(
  name: string,
  channels: readonly Channel[],
  entry: Source | undefined,
  catalogue: Catalogue,
  notes: Notes,
): ModelDraft | undefined {
  const serving = channels.filter(({ models }) => models.includes(name));
  const [{ place, vendor }] = serving as [Channel];
  const known = catalogue(name);
  const mode = known ? { kind: known.kind } : modeByName(name);
  if (!("kind" in mode) || !modelIdSchema.safeParse(name).success) {
    notes.leftOut(
      place,
      `"${name.slice(0, 100)}": ${"refused" in mode ? mode.refused : "a name with a space, or signs beyond ASCII"}`,
    );
    return undefined;
  }
  const targets = targetsOf(name, serving, mode.kind, notes);
  if (targets.length === 0) return undefined;
  const price = (entry && priceOf(entry, mode.kind, notes)) ?? (known?.vendor === vendor ? known?.price : undefined);
  if (!price) noteUnpriced(notes, place, name);
  return {
    id: name,
    family: known?.family ?? "openai-compatible",
    kind: mode.kind,
    ...(known?.context_window !== undefined && { context_window: known.context_window }),
    ...(known?.max_output_tokens !== undefined &&
      mode.kind === "chat" && { max_output_tokens: known.max_output_tokens }),
    ...(price && { price }),
    targets,
  };
}

/** targetsOf returns the targets of a model: new-api asks the highest priority first, the gateway the lowest. */
function targetsOf(name: string, serving: readonly Channel[], kind: string, notes: Notes): TargetDraft[] {
  const ranks = [...new Set(serving.map(({ priority }) => priority))].sort((a, b) => b - a);
  return serving.flatMap(({ place, upstream, mapping, priority, weight }) => {
    const model = mapping.get(name) ?? name;
    const isFit = modelNameSchema.safeParse(model).success && (kind === "chat" || upstream.kind !== "anthropic");
    if (!isFit) {
      notes.leftOut(place, `"${name}": ${upstream.name} cannot serve it, by its kind or its name`);
      return [];
    }
    const rank = ranks.indexOf(priority);
    return [{ upstream: upstream.name, model, ...(rank > 0 && { priority: rank }), ...(weight > 1 && { weight }) }];
  });
}

/** noteGroups notes groups that pay another price. */
function noteGroups(pricing: Source, notes: Notes): void {
  for (const [group, ratio] of memberOf(pricing, "group_ratio")?.members ?? []) {
    if (Number(ratio.text) !== 1)
      notes.changed(
        ratio,
        `the ratio of the group "${group}": one price holds for all accounts. Grant, or recharge less`,
      );
  }
}
