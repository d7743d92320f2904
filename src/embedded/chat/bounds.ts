/** The bounds of the embedded chat model, which the catalogue tells. */

/** maxOutputTokens is the most tokens of a choice, where the request sets no lower bound. */
export const maxOutputTokens = 16_384;
