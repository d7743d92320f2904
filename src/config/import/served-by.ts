/** What the tables of other gateways say of the servers behind them, whatever they call such an entry. */

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
