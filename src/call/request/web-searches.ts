/** Finds the web searches that a request makes by what is no tool: by settings of Alibaba, xAI and OpenRouter, and by names of models. */
import { isObject } from "../../wire/is-object.ts";
import type { JsonObject } from "../../wire/json.ts";

/** SearchSettings are those settings of a request that have the web searched. */
export interface SearchSettings {
  /** isSwitchedOn is whether Alibaba's switch is on, whatever a server may read as true for it. */
  readonly isSwitchedOn: boolean;
  /** parameters are xAI's, unless they say that nothing is searched. */
  readonly parameters: JsonObject | undefined;
  /** plugins is how many plugins of OpenRouter's search. */
  readonly plugins: number;
}

export function searchSettingsOf({ enable_search, search_parameters, plugins }: JsonObject): SearchSettings {
  const isOn = isObject(search_parameters) && search_parameters.mode !== "off";
  const searching = Array.isArray(plugins) ? plugins.filter((plugin) => isObject(plugin) && plugin.id === "web") : [];
  return {
    isSwitchedOn: (enable_search ?? false) !== false,
    parameters: isOn ? search_parameters : undefined,
    plugins: searching.length,
  };
}

/** searchesBySettings reports whether any of a request's settings has the web searched. */
export function searchesBySettings(request: JsonObject): boolean {
  const { isSwitchedOn, parameters, plugins } = searchSettingsOf(request);
  return isSwitchedOn || parameters !== undefined || plugins > 0;
}

/** isSearchedFor reports a name of a model for which OpenRouter searches, and puts what it finds into the prompt. */
export function isSearchedFor(model: string): boolean {
  return /:online$/.test(model);
}
