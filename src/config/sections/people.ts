/** The section of gateway.yaml about operators, users, keys and tiers. */
import { z } from "zod";
import { faultTexts, issueOf, problem } from "../fault-texts.ts";
import { credentialSchema, moneySchema } from "../values.ts";

const rate = z.number().int().min(1).max(4_294_967_295);

/** tierSchema is a tier of accounts, by what they have recharged. */
export const tierSchema = z.strictObject({
  name: z
    .string()
    .regex(/^[^\p{Cc}]{1,100}$/u, faultTexts.TIER_NAME_EXPECTED)
    .meta({ description: "The name that accounts see.", examples: ["Team"] }),
  recharge: moneySchema.meta({
    description: `The cumulative recharge at which the tier begins, in units. "0" for the first tier, and more for each after it.`,
    examples: ["1000"],
  }),
  requests_per_minute: rate.meta({ description: "Requests a minute.", examples: [30_000] }),
  tokens_per_minute: rate.optional().meta({
    description: "Input and output tokens a minute. Without it tokens are not bounded.",
    examples: [5_000_000],
  }),
});

const tiers = z
  .array(tierSchema)
  .min(1)
  .superRefine((list, context) => {
    const names = new Set<string>();
    for (const [i, { name, recharge }] of list.entries()) {
      const before = list[i - 1];
      if (i === 0 && recharge !== 0) context.addIssue(issueOf(problem("TIER_NOT_FROM_ZERO"), [0, "recharge"]));
      if (before && recharge <= before.recharge)
        context.addIssue(issueOf(problem("TIER_NOT_ASCENDING"), [i, "recharge"]));
      if (names.has(name)) context.addIssue(issueOf(problem("TIER_TAKEN", { name }), [i, "name"]));
      names.add(name);
    }
  });

export const peopleSettings = {
  operator_key: credentialSchema
    .min(32)
    .optional()
    .meta({
      description: `The credential for OperatorService (accounts, recharges, redeem codes), at least 32 characters. Without one only
      operators who are signed in reach it, and the command line does the same.`,
      examples: [`\${OPERATOR_KEY}`],
    }),
  registration: z
    .enum(["open", "invitation", "closed"])
    .optional()
    .meta({
      description: `Who may register in the dashboard: everybody (open), people with a link from the operator (invitation), or nobody
      (closed).`,
      default: "invitation",
    }),
  max_keys_per_account: z.number().int().min(1).max(1_000_000).optional().meta({
    description: "How many API keys an account may have.",
    default: 5000,
  }),
  failed_credentials: z
    .strictObject({
      per_minute: z.number().int().min(1).max(1_000_000).meta({
        description: "How many an address may send at once, and how many more in each minute.",
        default: 30,
      }),
    })
    .optional()
    .meta({
      description: `How many wrong credentials (API keys, the operator key, sessions, redeem codes) an address may send; a network may
        send four times as many, and a repeated one counts a quarter. Each is answered later than the one before; beyond the bound by
        429, with a line in the audit log once a minute. A right credential always works at once. Sign-in and links have bounds of
        their own.`,
    }),
  tiers: tiers.optional().meta({
    description: `How fast an account may call. Its tier follows from everything that was ever recharged to it, less refunds; grants do
      not count. The first tier holds from "0".`,
    default: [
      { name: "Free", recharge: "0", requests_per_minute: 60 },
      { name: "VIP", recharge: "20", requests_per_minute: 1200 },
      { name: "Premium", recharge: "300", requests_per_minute: 10_000 },
    ],
  }),
};
