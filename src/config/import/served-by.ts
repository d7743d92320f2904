/**
 * ServedBy says how the gateway asks a server that another gateway asks today. LiteLLM calls such a server a provider, new-api a channel;
 * the tables of both have these members.
 */
export interface ServedBy {
  /** kind is the API that is spoken there. Default: openai. */
  readonly kind?: "anthropic";
  /** vendor is its name in catalog/vendors.yaml, where it is there. */
  readonly vendor?: string;
  /** base_url is its address where the configuration has none. */
  readonly base_url?: string;
  /** suffix is the end of the address that the other gateway adds by itself. */
  readonly suffix?: string;
  /** keyIsOptional is whether it answers without a key, as local servers do. */
  readonly keyIsOptional?: boolean;
  /** refused is what to do instead, where the gateway cannot ask it. */
  readonly refused?: string;
}
