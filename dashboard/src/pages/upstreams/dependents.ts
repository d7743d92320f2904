/** Finds what depends on an upstream, and the changes that its removal brings. */
import {
  type Documents,
  entriesOf,
  entryOf,
  type JsonObject,
  objectsAt,
  textAt,
  withValues,
} from "../../configuration/document.ts";
import type { Change } from "../../configuration/use-configuration.ts";

export interface Dependents {
  /** only are models that it alone serves. */
  readonly only: readonly string[];
  /** among are models that have other targets, too. */
  readonly among: readonly string[];
  /** inFile are those of both that are written in gateway.yaml, and keep a removal from being saved. */
  readonly inFile: readonly string[];
}

/** dependentsOf finds models of the configuration that name the upstream. Those of the catalogue follow by themselves. */
export function dependentsOf(documents: Documents, upstream: string): Dependents {
  const models = entriesOf(documents.effective, "models").filter((model) => names(model, upstream));
  const isOnly = (model: JsonObject) => othersOf(model, upstream).length === 0;
  const idOf = (model: JsonObject) => textAt(model, "id");
  return {
    only: models.filter(isOnly).map(idOf),
    among: models.filter((model) => !isOnly(model)).map(idOf),
    inFile: models.map(idOf).filter((id) => entryOf(documents.file, "models", id) !== undefined),
  };
}

/** removalOf returns the changes: the models that it alone serves go, and others lose their target there. */
export function removalOf(documents: Documents, upstream: string): readonly Change[] {
  const stored = entriesOf(documents.document, "models").filter((model) => names(model, upstream));
  const models = stored.map((model): Change => {
    const others = othersOf(model, upstream);
    if (others.length === 0) return { removeModel: textAt(model, "id") };
    return { model: withValues(model, { targets: [...others] }) };
  });
  return [...models, { removeUpstream: upstream }];
}

function names(model: JsonObject, upstream: string): boolean {
  const targets = objectsAt(model, "targets");
  if (targets.length === 0) return model.vendor === upstream;
  return targets.some((target) => target.upstream === upstream);
}

function othersOf(model: JsonObject, upstream: string): readonly JsonObject[] {
  return objectsAt(model, "targets").filter((target) => target.upstream !== upstream);
}
