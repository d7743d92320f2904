/** The entry that a model's form begins with, wherever the gateway knows the model from. */
import { ModelKind } from "../../../../gen/modelgateway/v1/accounts_pb.ts";
import type { BuiltInModel } from "../../../../gen/modelgateway/v1/configuration_pb.ts";
import type { DescribedModel } from "../../../../gen/modelgateway/v1/measures_pb.ts";
import { type JsonObject, objectsAt, withValues } from "../../configuration/document.ts";

const kindWords: Readonly<Record<ModelKind, string>> = {
  [ModelKind.UNSPECIFIED]: "chat",
  [ModelKind.CHAT]: "chat",
  [ModelKind.EMBEDDING]: "embedding",
  [ModelKind.SPEECH]: "speech",
};

/** entryFor returns the stored entry, or else one of what is known: the catalogue's, with the targets in force. */
export function entryFor(
  written: JsonObject | undefined,
  builtIn: BuiltInModel | undefined,
  described: DescribedModel | undefined,
): JsonObject {
  if (written) return written;
  const targets = (described?.targets ?? []).map(({ upstream, model, priority, weight }) => ({
    ...{ upstream, model, priority, weight },
  }));
  if (builtIn?.model) {
    const hasTargets = objectsAt(builtIn.model, "targets").length > 0 || targets.length === 0;
    return hasTargets ? builtIn.model : withValues(builtIn.model, { targets });
  }
  const { id = "", aliases = [], family = "", kind = ModelKind.CHAT, vendor = "" } = described?.model ?? {};
  const { contextWindow, maxOutputTokens } = described?.model ?? {};
  return withValues(
    {},
    {
      ...{ id, family, kind: kindWords[kind], targets },
      aliases: aliases.length > 0 ? [...aliases] : undefined,
      vendor: vendor || undefined,
      context_window: contextWindow,
      max_output_tokens: maxOutputTokens,
    },
  );
}
