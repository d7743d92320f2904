/** The section of gateway.yaml about amounts and prices. */
import { z } from "zod";
import { faultTexts } from "../fault-texts.ts";
import { priceSchema } from "../schema-models.ts";
import { factorSchema, priceFactorSchema } from "../values.ts";

/** unpricedValues: who may call models without a price for free: the first account, everybody, or nobody. */
const unpricedValues = ["free_for_first_account", "free", "refused"] as const;

export const moneySettings = {
  unit: z
    .strictObject({
      code: z
        .string()
        .regex(/^[A-Z]{3,10}$/, faultTexts.UNIT_CODE_EXPECTED)
        .meta({
          description: "Its code: 3 to 10 capital letters.",
          default: "JPY",
        }),
      symbol: z
        .string()
        .regex(/^[^\p{Cc}]{1,10}$/u, faultTexts.UNIT_SYMBOL_EXPECTED)
        .meta({
          description: "Its symbol: 1 to 10 characters.",
          default: "¥",
        }),
    })
    .optional()
    .meta({ description: "The unit of money: every amount and price of the configuration and of the API is in it." }),
  catalogue_prices: z
    .strictObject({
      dollar: factorSchema.optional().meta({ description: "How many units a US dollar is.", examples: ["155"] }),
      markup: priceFactorSchema.optional().meta({ description: "A factor besides.", examples: ["1.10"] }),
    })
    .optional()
    .meta({
      description: `How the catalogue's prices, which are in US dollars, become units. Without \`dollar\` a round figure is taken
        (catalog/currencies.yaml), or one unit where the unit is no currency, and the start says so.`,
      examples: [{ dollar: "155", markup: "1.10" }],
    }),
  unpriced_models: z
    .union(
      [
        z.enum(unpricedValues),
        z.strictObject({ price: priceSchema.meta({ description: "The price of all of them, as that of a model." }) }),
      ],
      faultTexts.UNPRICED_EXPECTED,
    )
    .optional()
    .meta({
      description: `What calls cost to models without a price, such as those of a local server: \`free_for_first_account\` (nothing
        for the operator's own first account: the oldest that an operator signs in to, or that belongs to no user; other prepaid
        accounts are refused), \`free\` (nothing for any), \`refused\`, or a price for all of them. Postpaid accounts may always call
        them, at no cost where they have no price.`,
      default: "free_for_first_account",
      examples: [{ price: { input: "1.00", output: "2.00" } }],
    }),
};
