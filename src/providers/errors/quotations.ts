/** Removes quotations from an upstream's message: they may repeat what the caller wrote, which must not pass for the upstream's own words. */

/** Quotations, also unfinished ones. An apostrophe does not open one. */
const quoted = /(?<!\w)(['"`])[^\n]*?(?:\1(?!\w)|$)/g;
/** Addresses, which callers write, too. */
const addresses = /\b(?:https?|data|file|gs|s3):\S+/gi;

export function withoutQuotations(message: string): string {
  return message.replaceAll(quoted, "''").replaceAll(addresses, "''");
}
