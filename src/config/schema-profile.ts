/**
 * The form of a dialect profile: what a server that speaks OpenAI's API takes, in the catalogue and in gateway.yaml.
 *
 * A profile is flat: each key is one fact, and one that is left out has its careful default (`providers/profile.ts`). `models` says
 * what is different for some models: all of its rules that match a model's name at the upstream hold, the later before the earlier.
 */
import { z } from "zod";

export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

const effort = z.enum(efforts);
/** `*` stands for any text, `?` for any sign. */
const pattern = z.string().regex(/^[^\s]{1,200}$/, "expected a model's name, with * for any text and ? for any sign");
const path = z.string().regex(/^\/[\x21-\x7e]*$/, "expected a path below base_url, as /chat/completions");
const key = z.string().regex(/^[\w.[\]-]{1,100}$/, "expected a key of the request, as top_k or messages[].name");

const facts = {
  output_bound: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
  /** The least bound of the output that is taken, in tokens. */
  least_output: z.number().int().min(1).max(1024).optional(),
  /** What becomes of messages of the role `developer`. */
  developer: z.enum(["kept", "system"]).optional(),
  /** Where system messages may stand. */
  system: z.enum(["anywhere", "first"]).optional(),
  /** The roles whose content must be one text, and no list of parts. */
  plain_text: z.array(z.enum(["system", "assistant", "tool"])).optional(),
  /** Keys that are refused, and so left out and named. */
  refuses: z.array(key).optional(),
  /** Those that are refused while the model reasons. */
  refuses_reasoning: z.array(key).optional(),
  /** The efforts of reasoning that are taken; none: the key itself is refused. */
  efforts: z.array(effort).optional(),
  /** Which of them stands for one that is not taken. */
  efforts_instead: z.partialRecord(effort, effort).optional(),
  /** Where it goes: a key, or a path of keys. */
  effort_key: key.optional(),
  /** What a model does that is told no effort. */
  effort_default: effort.optional(),
  /** The kinds of tools that the caller's side runs. */
  tools: z.array(z.enum(["function", "custom"])).optional(),
  /** Under which name a message of the history has its thoughts; `none`: they are left out. */
  thoughts: z.enum(["reasoning_content", "reasoning", "none"]).optional(),
  /** Whether a stream may be asked to tell its usage. */
  include_usage: z.boolean().optional(),
  response_formats: z.array(z.enum(["json_object", "json_schema"])).optional(),
};

const rule = z
  .strictObject({ match: z.array(pattern).min(1, "expected at least one name"), ...facts })
  .superRefine(checkEfforts);

interface Efforts {
  readonly efforts?: readonly string[] | undefined;
  readonly efforts_instead?: Readonly<Record<string, string | undefined>> | undefined;
}

/** What stands for another must be taken itself. */
function checkEfforts({ efforts: taken, efforts_instead: instead = {} }: Efforts, context: z.RefinementCtx): void {
  if (!taken) return;
  for (const [word, other] of Object.entries(instead)) {
    if (other === undefined || taken.includes(other)) continue;
    const message = `expected one of efforts (${taken.join(", ") || "none at all"}), got ${other}`;
    context.addIssue({ code: "custom", path: ["efforts_instead", word], message });
  }
}

export const profileSchema = z
  .strictObject({
    /** Where each operation is served; what is left out is not. */
    operations: z
      .partialRecord(z.enum(["chat", "completions", "embeddings", "speech"]), path)
      .refine((paths) => Object.keys(paths).length > 0, "expected at least one operation")
      .optional(),
    ...facts,
    models: z.array(rule).optional(),
  })
  .superRefine(checkEfforts);

export type ProfileConfig = z.output<typeof profileSchema>;
export type ProfileRule = z.output<typeof rule>;
