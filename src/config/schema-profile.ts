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
  /** Whether messages keep the role `developer`, or become system messages. */
  developer: z.enum(["kept", "system"]).optional(),
  /** Whether the server takes system messages anywhere, or only one, as the first message. */
  system: z.enum(["anywhere", "first"]).optional(),
  /** The roles whose content must be one text, and no list of parts. */
  plain_text: z.array(z.enum(["system", "assistant", "tool"])).optional(),
  /** Keys of a chat request that the server refuses. The gateway leaves them out and names them. */
  refuses: z.array(key).optional(),
  /** Keys that the server refuses only while the model reasons. */
  refuses_reasoning: z.array(key).optional(),
  /** Keys of a request for a response that the server refuses. */
  refuses_responses: z.array(key).optional(),
  /**
   * Which calls go to the server's `/responses`, where it has it: those of callers who ask for responses; also those of others
   * whose request has tools while the model reasons; all of them; or none.
   */
  responses: z.enum(["when_asked", "tools", "always", "never"]).optional(),
  /**
   * Whether the server's `/responses` knows all that agents send (custom tools, namespaces, searches for tools), or only
   * functions: then a request that has more goes another way.
   */
  responses_items: z.enum(["any", "plain"]).optional(),
  /** The reasoning of earlier turns that its `/responses` takes: as it has encrypted it, as text, or either. */
  reasoning_items: z.enum(["encrypted", "plain", "either"]).optional(),
  /** The efforts of reasoning that the server takes. An empty list: it refuses the key itself. */
  efforts: z.array(effort).optional(),
  /** For an effort that the server does not take: the one that the gateway sends instead. */
  efforts_instead: z.partialRecord(effort, effort).optional(),
  /** The key of the request that holds the effort, or a path of keys, as `thinking.effort`. */
  effort_key: key.optional(),
  /** The effort that a model makes where the request names none. */
  effort_default: effort.optional(),
  /** The kinds of tools that the caller's side runs. */
  tools: z.array(z.enum(["function", "custom"])).optional(),
  /** The key that holds the thoughts of an earlier message. `none`: the gateway leaves them out. */
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

/** Adds an issue where `efforts_instead` names an effort that `efforts` does not have. */
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
    /** The path of each operation that the server has. It has no operation that is left out. */
    operations: z
      .partialRecord(z.enum(["chat", "responses", "completions", "embeddings", "speech"]), path)
      .refine((paths) => Object.keys(paths).length > 0, "expected at least one operation")
      .optional(),
    ...facts,
    models: z.array(rule).optional(),
  })
  .superRefine(checkEfforts);

export type ProfileConfig = z.output<typeof profileSchema>;
export type ProfileRule = z.output<typeof rule>;
