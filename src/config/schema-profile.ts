/**
 * The schema of a dialect profile: what a server with OpenAI's API accepts, in the catalogue and in gateway.yaml.
 *
 * A profile is flat: each key is one fact, and an omitted one has a careful default (`providers/profile.ts`). `models`
 * overrides facts for some models: all rules that match a model's name at the upstream apply, later ones over earlier
 * ones.
 */
import { z } from "zod";
import { faultTexts, issueOf, problem } from "./fault-texts.ts";

export const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

const effort = z.enum(efforts);
/** pattern matches models' names: `*` stands for any text, `?` for any character. */
const pattern = z.string().regex(/^[^\s]{1,200}$/, faultTexts.MODEL_PATTERN_EXPECTED);
const path = z.string().regex(/^\/[\x21-\x7e]*$/, faultTexts.OPERATION_PATH_EXPECTED);
const key = z.string().regex(/^[\w.[\]-]{1,100}$/, faultTexts.REQUEST_KEY_EXPECTED);

const facts = {
  output_bound: z
    .enum(["max_tokens", "max_completion_tokens"])
    .optional()
    .meta({
      description: "Its name for the bound of the output.",
      examples: ["max_tokens"],
    }),
  least_output: z
    .number()
    .int()
    .min(1)
    .max(1024)
    .optional()
    .meta({
      description: "The least bound of the output that it takes, in tokens.",
      examples: [1],
    }),
  developer: z
    .enum(["kept", "system"])
    .optional()
    .meta({
      description: "What becomes of messages of the role `developer`: they are kept, or become system messages.",
      examples: ["system"],
    }),
  system: z
    .enum(["anywhere", "first", "user"])
    .optional()
    .meta({
      description: `Where system messages may stand: anywhere, or only one, before all others; or nowhere, so that the user's first message begins
      with their texts (user).`,
      examples: ["first"],
    }),
  plain_text: z
    .array(z.enum(["system", "user", "assistant", "tool"]))
    .optional()
    .meta({
      description: `The roles whose content must be one text, not a list of parts. What is no text stays in its list; what tools show is shown by
      the user, unless \`result_media\` keeps it.`,
      examples: [["system", "assistant", "tool"]],
    }),
  refuses: z
    .array(key)
    .optional()
    .meta({
      description: "Keys of a chat request that it refuses, as `[logit_bias, messages[].name]`: left out, and named.",
      examples: [[]],
    }),
  request_keys: z
    .array(key)
    .optional()
    .meta({
      description: `All keys of a chat request that it takes, besides those that every call has: others are left out, and named. Without this
      all pass that it does not refuse.`,
      examples: [["temperature", "tools", "tool_choice"]],
    }),
  message_keys: z
    .array(key)
    .optional()
    .meta({
      description: `Keys that it takes of messages, their parts and calls besides OpenAI's, as \`[prefix]\`: all others are left out, and named.
      Without this all pass.`,
      examples: [[]],
    }),
  refuses_reasoning: z
    .array(key)
    .optional()
    .meta({ description: "Keys that it refuses only while the model reasons.", examples: [[]] }),
  refuses_responses: z
    .array(key)
    .optional()
    .meta({
      description: "Keys of a request to its /responses that it refuses, as `[truncation]`: left out, and named.",
      examples: [[]],
    }),
  responses: z
    .enum(["when_asked", "tools", "always", "never"])
    .optional()
    .meta({
      description: `Which calls go to its /responses, where it has one: \`when_asked\`, those of callers who ask for responses;
      \`tools\`, also others that have tools while the model reasons; \`always\`, all; \`never\`, none.`,
      examples: ["when_asked"],
    }),
  responses_items: z
    .enum(["any", "plain"])
    .optional()
    .meta({
      description: `Whether its /responses knows custom tools, namespaces and whatever else agents send (any) or only functions (plain);
      other requests then take another path.`,
      examples: ["plain"],
    }),
  reasoning_items: z
    .enum(["encrypted", "plain", "either"])
    .optional()
    .meta({
      description: "The form of the reasoning of earlier turns that its /responses takes.",
      examples: ["plain"],
    }),
  efforts: z
    .array(effort)
    .optional()
    .meta({
      description: "The reasoning efforts that it takes. An empty list: it refuses the key itself.",
      examples: [["low", "medium", "high"]],
    }),
  efforts_responses: z
    .array(effort)
    .optional()
    .meta({ description: "Further efforts that its /responses takes.", examples: [["max"]] }),
  efforts_instead: z
    .partialRecord(effort, effort)
    .optional()
    .meta({
      description: "What replaces the efforts that it does not take.",
      examples: [{ minimal: "low", xhigh: "high", max: "high" }],
    }),
  effort_key: key.optional().meta({
    description: "The request's key for the effort, or a path such as `thinking.effort`.",
    examples: ["reasoning_effort"],
  }),
  effort_default: effort.optional().meta({
    description: "The effort of a model that is given none.",
    examples: ["none"],
  }),
  effort_none: z
    .record(key, z.json())
    .optional()
    .meta({
      description: "What switches the reasoning off in its chat, in the place of the effort `none`.",
      examples: [{ thinking: { type: "disabled" } }],
    }),
  demanded_calls: z
    .enum(["any", "unnamed", "none", "ignored", "unreasoned"])
    .optional()
    .meta({
      description: `Which demands for a call of a tool it takes: any, only such as name no tool (unnamed), none, none and no other choice either (ignored), or
      any while the model does not reason (unreasoned). The tools are narrowed to the one that is named; a demand that is left out is named; where
      a choice is ignored no tools are offered to a model that may call none; and for the last, the request is sent with
      the effort \`none\`, where that is taken.`,
      examples: ["any"],
    }),
  tools: z
    .array(z.enum(["function", "custom"]))
    .optional()
    .meta({ description: "The types of the caller's tools that it takes.", examples: [["function"]] }),
  reasoned_tools: z
    .boolean()
    .optional()
    .meta({
      description:
        "Whether its chat takes tools while the model reasons. Where it does not, requests with tools have the effort `none`.",
      examples: [true],
    }),
  thoughts: z
    .enum(["reasoning_content", "reasoning", "none"])
    .optional()
    .meta({
      description: "The key for the reasoning of an earlier message; `none`: it is left out.",
      examples: ["reasoning_content"],
    }),
  thoughts_demanded: z
    .boolean()
    .optional()
    .meta({
      description: `Whether each earlier message of the model must have its reasoning, unless thinking is switched off: one without any gets a
      space.`,
      examples: [false],
    }),
  call_ids: z
    .enum(["any", "nine", "short"])
    .optional()
    .meta({
      description: `The form of the ids of calls: \`nine\` letters and digits, at most 40 signs in chat and 64 in responses (\`short\`), or
      any. Others are replaced, the same one always by the same.`,
      examples: ["any"],
    }),
  item_ids: z
    .enum(["any", "own"])
    .optional()
    .meta({
      description: `Which ids its /responses takes of items: any, or only such as its own (own), which begin by the item's type and stand once.
      Others are left out, or replaced where an item must have one.`,
      examples: ["any"],
    }),
  result_media: z
    .enum(["kept", "user"])
    .optional()
    .meta({
      description: `Where its chat takes images, files and sounds of tools: in their results (kept), or in a message of the user's behind them only
      (user).`,
      examples: ["kept"],
    }),
  after_calls: z
    .enum(["any", "results"])
    .optional()
    .meta({
      description: `What may follow the calls of a turn in its /responses: anything, or their results only (results). Others are put before what was
      said between.`,
      examples: ["any"],
    }),
  after_tools: z
    .enum(["any", "assistant"])
    .optional()
    .meta({
      description: `What may follow the results of tools: any message, or only one of the model's (assistant). Before another, a short one is
      put there.`,
      examples: ["any"],
    }),
  last_turn: z
    .enum(["any", "user"])
    .optional()
    .meta({
      description: `Whose turn may be the last: anybody's, or only the user's and results of tools (user). After one of the model's, the user
      asks it to go on.`,
      examples: ["any"],
    }),
  empty_turns: z
    .enum(["any", "none"])
    .optional()
    .meta({
      description: `Whether earlier messages of the model may neither say nor call anything. Where none may, such messages are left out.`,
      examples: ["any"],
    }),
  turns: z
    .enum(["any", "alternating"])
    .optional()
    .meta({
      description: `Whose turns may follow each other: anybody's, or only the user's and the model's in alternation, the user's first. Neighbours of
      one speaker become one.`,
      examples: ["any"],
    }),
  turn_calls: z
    .enum(["any", "one"])
    .optional()
    .meta({
      description:
        "How many calls an earlier turn of the model may have. Where it is one, further ones become turns of their own.",
      examples: ["any"],
    }),
  null_content: z
    .enum(["any", "text"])
    .optional()
    .meta({
      description:
        "What a content of null may be, or none, as beside calls. Where it is a text, it is sent as an empty one.",
      examples: ["any"],
    }),
  schemas: z
    .enum(["whole", "rooted", "plain", "nullable"])
    .optional()
    .meta({
      description: `What the parameters of functions may have: all of JSON Schema (whole), the same but for combinations at the root and patterns
      with properties of Unicode (rooted), or no references, no tuples, no \`type\` beside
      \`anyOf\`, no null, and the usual keywords only (plain), or these and \`nullable\`. What is left out is told in the description, and
      named.`,
      examples: ["whole"],
    }),
  cache_marks: z
    .enum(["any", "cache_control", "prompt_cache_breakpoint", "none"])
    .optional()
    .meta({
      description: `Which marks of the end of a cached prompt it takes: Anthropic's \`cache_control\`, OpenAI's
      \`prompt_cache_breakpoint\`, any of them, or none. One of the other kind becomes that one.`,
      examples: ["none"],
    }),
  include_usage: z
    .boolean()
    .optional()
    .meta({
      description: "Whether a stream may be asked for its usage.",
      examples: [true],
    }),
  response_formats: z
    .array(z.enum(["json_object", "json_schema"]))
    .optional()
    .meta({
      description: "The formats of answers that it takes, besides text.",
      examples: [["json_object", "json_schema"]],
    }),
};

const rule = z
  .strictObject({
    match: z
      .array(pattern)
      .min(1)
      .meta({
        description: "Names of models at the upstream: `*` stands for any text, `?` for any sign.",
        examples: [["some-thinker*"]],
      }),
    ...facts,
  })
  .superRefine(checkEfforts);

interface Efforts {
  readonly efforts?: readonly string[] | undefined;
  readonly efforts_instead?: Readonly<Record<string, string | undefined>> | undefined;
  readonly effort_default?: string | undefined;
}

/** checkEfforts adds an issue if `efforts_instead` or `effort_default` names an effort that `efforts` lacks. */
function checkEfforts(written: Efforts, context: z.RefinementCtx): void {
  const { efforts: taken, efforts_instead: instead = {}, effort_default: byDefault = "none" } = written;
  if (!taken) return;
  const named = Object.entries(instead).map(([word, other]) => ({ other, path: ["efforts_instead", word] }));
  // A model may reason not at all without being asked, and not take that as an effort.
  if (byDefault !== "none") named.push({ other: byDefault, path: ["effort_default"] });
  for (const { other, path } of named) {
    if (other === undefined || taken.includes(other)) continue;
    const what =
      taken.length === 0
        ? problem("EFFORTS_EMPTY", { effort: other })
        : problem("EFFORT_NOT_TAKEN", { efforts: taken.join(", "), effort: other });
    context.addIssue(issueOf(what, path));
  }
}

/** needed are the keys that every call has. */
const needed: ReadonlySet<string> = new Set(["model", "messages", "input"]);
const refusals = ["refuses", "refuses_reasoning", "refuses_responses"] as const;

type Refusing = { readonly [key in (typeof refusals)[number]]?: readonly string[] | undefined } & {
  readonly output_bound?: string | undefined;
};

interface RefusingProfile extends Refusing {
  readonly models?: readonly Refusing[] | undefined;
}

/** checkRefusals adds an issue for keys that are refused and cannot be left out, among them the one that `output_bound` names. */
function checkRefusals({ models = [], ...all }: RefusingProfile, context: z.RefinementCtx): void {
  const places = [{ one: all, at: [] }, ...models.map((one, i) => ({ one, at: ["models", i] }))];
  for (const { one, at } of places) {
    const bound = one.output_bound ?? all.output_bound;
    for (const list of refusals) {
      // `/responses` bounds its output by another key.
      const isNeeded = (key: string) => needed.has(key) || (key === bound && list !== "refuses_responses");
      const wrong = [...(one[list]?.entries() ?? [])].filter(([, key]) => isNeeded(key));
      for (const [i] of wrong) context.addIssue(issueOf(problem("KEY_INDISPENSABLE"), [...at, list, i]));
    }
  }
}

export const profileSchema = z
  .strictObject({
    operations: z
      .partialRecord(z.enum(["chat", "responses", "completions", "embeddings", "speech"]), path)
      .refine((paths) => Object.keys(paths).length > 0, faultTexts.OPERATION_NEEDED)
      .optional()
      .meta({
        description: `The paths of its operations, below \`base_url\`. It does not have an omitted one. Without this key it has all but
          \`responses\`, at the usual paths.`,
        examples: [
          {
            chat: "/chat/completions",
            responses: "/responses",
            completions: "/completions",
            embeddings: "/embeddings",
            speech: "/audio/speech",
          },
        ],
      }),
    ...facts,
    models: z
      .array(rule)
      .optional()
      .meta({
        description: `What is different for some models: all rules that match their names hold, the later before the earlier. A rule
          may have any of the keys above but \`operations\`.`,
        examples: [[{ match: ["some-thinker*"], effort_default: "medium" }]],
      }),
  })
  .superRefine(checkEfforts)
  .superRefine(checkRefusals);

export type ProfileConfig = z.output<typeof profileSchema>;
export type ProfileRule = z.output<typeof rule>;
