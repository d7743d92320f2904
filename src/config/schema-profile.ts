/**
 * The schema of a dialect profile: what a server with OpenAI's API accepts, in the catalogue and in gateway.yaml.
 *
 * A profile is flat: each key is one fact, and an omitted one has a careful default (`providers/profile.ts`). `models`
 * overrides facts for some models: all rules that match a model's name at the upstream apply, later ones over earlier
 * ones.
 */
import { z } from "zod";

export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

const effort = z.enum(efforts);
/** pattern matches models' names: `*` stands for any text, `?` for any character. */
const pattern = z.string().regex(/^[^\s]{1,200}$/, "expected a model's name, with * for any text and ? for any sign");
const path = z.string().regex(/^\/[\x21-\x7e]*$/, "expected a path below base_url, as /chat/completions");
const key = z.string().regex(/^[\w.[\]-]{1,100}$/, "expected a key of the request, as top_k or messages[].name");

const facts = {
  output_bound: z.enum(["max_tokens", "max_completion_tokens"]).optional(),
  /** least_output is the lowest output limit that the server accepts, in tokens. */
  least_output: z.number().int().min(1).max(1024).optional(),
  /** developer is whether messages keep the role `developer`, or become system messages. */
  developer: z.enum(["kept", "system"]).optional(),
  /** system is whether the server accepts system messages anywhere, or only one, as the first message. */
  system: z.enum(["anywhere", "first"]).optional(),
  /** plain_text are the roles whose content must be a string, not a list of parts. */
  plain_text: z.array(z.enum(["system", "assistant", "tool"])).optional(),
  /** refuses are the keys of a chat request that the server refuses. The gateway drops them and names them. */
  refuses: z.array(key).optional(),
  /** refuses_reasoning are the keys that the server refuses only while the model reasons. */
  refuses_reasoning: z.array(key).optional(),
  /** refuses_responses are the keys that the server refuses in a request for a response. */
  refuses_responses: z.array(key).optional(),
  /**
   * responses selects the calls that go to the server's `/responses`, if it has one: those of callers of the Responses
   * API; also those with tools while the model reasons; all; or none.
   */
  responses: z.enum(["when_asked", "tools", "always", "never"]).optional(),
  /**
   * responses_items is whether the server's `/responses` accepts everything that agents send (custom tools,
   * namespaces, tool search) or only functions; other requests then take another path.
   */
  responses_items: z.enum(["any", "plain"]).optional(),
  /**
   * reasoning_items is the form of earlier reasoning that its `/responses` accepts: encrypted, plain text, or either.
   */
  reasoning_items: z.enum(["encrypted", "plain", "either"]).optional(),
  /** efforts are the reasoning efforts that the server accepts. An empty list: it refuses the key itself. */
  efforts: z.array(effort).optional(),
  /** efforts_instead maps an unsupported effort to the one that the gateway sends instead. */
  efforts_instead: z.partialRecord(effort, effort).optional(),
  /** effort_key is the request's key for the effort, or a path such as `thinking.effort`. */
  effort_key: key.optional(),
  /** effort_default is the model's effort if the request has none. */
  effort_default: effort.optional(),
  /** tools are the supported types of tools that the caller runs. */
  tools: z.array(z.enum(["function", "custom"])).optional(),
  /** thoughts is the key for the reasoning of an earlier message. `none`: the gateway drops it. */
  thoughts: z.enum(["reasoning_content", "reasoning", "none"]).optional(),
  /** include_usage is whether a stream may be asked for its usage. */
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

/** checkEfforts adds an issue if `efforts_instead` names an effort that `efforts` lacks. */
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
    /** operations are the paths of the server's operations. It does not have an omitted one. */
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
