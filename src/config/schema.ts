/**
 * The schema of gateway.yaml, of its sections. The description, default and example of each key become gateway.example.yaml,
 * docs/configuration.md and gen/gateway.schema.json by `npm run generate`; a test compares them.
 */
import { z } from "zod";
import { issueOf, problem } from "./fault-texts.ts";
import { modelSchema, upstreamSchema } from "./schema-models.ts";
import { callSettings } from "./sections/calls.ts";
import { doorSettings } from "./sections/doors.ts";
import { moneySettings } from "./sections/money.ts";
import { peopleSettings, type tierSchema } from "./sections/people.ts";
import { processSettings } from "./sections/process.ts";
import { responsesSettings } from "./sections/responses.ts";

const settingsSchema = z.strictObject({
  ...processSettings,
  ...doorSettings,
  ...peopleSettings,
  ...moneySettings,
  ...callSettings,
  ...responsesSettings,
  upstreams: z
    .array(upstreamSchema)
    .default([])
    .meta({
      description: `Where models run. An upstream that has the name of a vendor in catalog/vendors.yaml serves that vendor's models of
      catalog/models.yaml without listing them.`,
    }),
  models: z.array(modelSchema).default([]).meta({
    description: `What callers may ask for. A model with the id of one in catalog/models.yaml takes its place.`,
  }),
  catalogue: z
    .array(modelSchema)
    .superRefine(checkIds)
    .default([])
    .meta({
      description: `Models of the catalogue that are newer than the built-in ones, or beside them: entries as those of \`models\`, with
        prices in US dollars, which \`catalogue_prices\` makes units of. \`model-gateway models sync\` writes them.`,
      examples: [
        [{ id: "some-chat", family: "some", kind: "chat", vendor: "some", price: { input: "1.10", output: "4.40" } }],
      ],
    }),
});

function checkIds(list: readonly { readonly id: string }[], context: z.RefinementCtx): void {
  const ids = new Set<string>();
  for (const [i, { id }] of list.entries()) {
    if (ids.has(id)) context.addIssue(issueOf(problem("MODEL_TAKEN", { name: id }), [i, "id"]));
    ids.add(id);
  }
}

/** settingGroups are the keys of the file, under the headings of the reference. */
export const settingGroups = {
  "The process": Object.keys(processSettings),
  "Connections and bodies": Object.keys(doorSettings),
  "People, keys and tiers": Object.keys(peopleSettings),
  Money: Object.keys(moneySettings),
  Calls: Object.keys(callSettings),
  Responses: Object.keys(responsesSettings),
  Upstreams: ["upstreams"],
  Models: ["models", "catalogue"],
} as const;

/** minBodiesFactor: a body of the largest size must fit besides the memory reserved for small ones. */
const minBodiesFactor = 4 / 3;
export const defaultMaxBodyBytes = 16 * 1024 * 1024;

export const fileSchema = settingsSchema.superRefine(({ max_body_bytes, bodies_in_flight }, context) => {
  const largest = max_body_bytes ?? defaultMaxBodyBytes;
  const least = { max_bytes: Math.ceil(largest * minBodiesFactor), max_bytes_per_account: largest };
  for (const [key, bytes] of Object.entries(least)) {
    const written = bodies_in_flight?.[key as keyof typeof least];
    if (written === undefined || written >= bytes) continue;
    context.addIssue(issueOf(problem("BODIES_TOO_SMALL", { least: bytes, largest }), ["bodies_in_flight", key]));
  }
});

export type FileConfig = z.output<typeof fileSchema>;
export type TierConfig = z.output<typeof tierSchema>;
