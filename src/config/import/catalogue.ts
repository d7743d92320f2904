/** Finds what the built-in catalogue knows of a model: its kind, its limits, and its price in US dollars as it is written there. */
import { parse } from "yaml";
import { isSource, packageText } from "../../package/package-files.ts";
import type { PriceDraft } from "./draft.ts";

/** KnownModel is an entry of catalog/models.yaml. */
export interface KnownModel {
  readonly id: string;
  readonly family: string;
  readonly kind: "chat" | "embedding" | "speech";
  readonly vendor?: string;
  readonly context_window?: number;
  readonly max_output_tokens?: number;
  readonly dimensions?: number;
  readonly reasoning?: boolean;
  readonly price?: PriceDraft;
}

/** Catalogue finds a model by the name that a provider or a person gives it; undefined where it is not there. */
export type Catalogue = (name: string) => KnownModel | undefined;

export function readCatalogue(): Catalogue {
  // Bundling makes JSON of the catalogue.
  const file: unknown = isSource
    ? parse(packageText("catalog/models.yaml"))
    : JSON.parse(packageText("catalog/models.json"));
  const { models } = file as { readonly models: readonly KnownModel[] };
  const known = new Map(models.map((model) => [model.id, model]));
  return (name) => {
    const bare = name.slice(name.lastIndexOf("/") + 1);
    // Vendors date their models: claude-sonnet-4-5-20250929 costs what claude-sonnet-4-5 does.
    const undated = bare.replace(/-(?:20\d{6}|20\d\d-\d\d-\d\d|latest)$/, "");
    return known.get(name) ?? known.get(bare) ?? known.get(undated);
  };
}
