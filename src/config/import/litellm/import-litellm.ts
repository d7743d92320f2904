/**
 * Makes a gateway.yaml of the configuration of a LiteLLM proxy. What has no counterpart is left out and noted, with the line of the
 * source; no secret is carried over but as a reference to the environment.
 */
import { basename } from "node:path";
import { readCatalogue } from "../catalogue.ts";
import type { Imported } from "../imported.ts";
import { createNotes } from "../notes.ts";
import { memberOf, type ReadText, readSource } from "../source.ts";
import { variablesIn, writeGatewayYaml } from "../write.ts";
import { readDeployments } from "./deployments.ts";
import { modelsOf } from "./models.ts";
import { noteParams } from "./params.ts";
import { addAliases, addFallbacks, settingOf } from "./routing.ts";
import { noteVariables, settingsOf } from "./settings.ts";
import { createUpstreams } from "./upstreams.ts";

/** importLiteLlm reads the file and what it includes. Throws a ConfigError where it cannot be read. */
export function importLiteLlm(file: string, readText: ReadText): Imported {
  const root = readSource(file, readText);
  const notes = createNotes();
  const catalogue = readCatalogue();
  const timeout = memberOf(root, "router_settings", "timeout") ?? memberOf(root, "litellm_settings", "request_timeout");
  const streamTimeout = settingOf(root, "stream_timeout");
  const maxParallel = memberOf(root, "router_settings", "default_max_parallel_requests");
  const upstreams = createUpstreams({ timeout, streamTimeout, maxParallel }, notes);
  const deployments = readDeployments(root, notes);
  for (const deployment of deployments) noteParams(deployment, notes);
  const models = modelsOf(deployments, { upstreams, catalogue, notes });
  addAliases(root, models, notes);
  addFallbacks(root, models, notes);
  const settings = settingsOf(root, models, notes);
  const draft = { settings, upstreams: upstreams.all, models };
  const variables = variablesIn(draft);
  noteVariables(root, variables, notes);
  const noted = notes.all();
  const text = writeGatewayYaml({ source: basename(file), command: "import litellm" }, draft, noted);
  return { text, notes: noted, variables, models: models.length, upstreams: upstreams.all.length };
}
