/**
 * What a server of chat completions takes, where servers differ: for translations, which choose their words by it.
 */

export interface ChatTakes {
  /** Tools of kind `custom`, which take free text. */
  readonly customTools: boolean;
  /** The role `developer`; where it is not known, it is said as `system`. */
  readonly developer: boolean;
  /** Whether instructions may stand nowhere but in one first message, as the templates of most open models want it. */
  readonly systemFirst: boolean;
}

const all: ChatTakes = { customTools: true, developer: true, systemFirst: false };
const careful: ChatTakes = { customTools: false, developer: false, systemFirst: true };

const ownHosts = /(^|\.)(openai\.com|openai\.azure\.com|services\.ai\.azure\.com|cognitiveservices\.azure\.com)$/i;

/** Returns what the server at this address takes: OpenAI's own everything, any other what all of them do. */
export function chatTakesOf(baseUrl: string): ChatTakes {
  return ownHosts.test(new URL(baseUrl).hostname) ? all : careful;
}
