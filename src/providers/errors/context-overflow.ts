/**
 * Recognises a conversation that exceeds the context window in any vendor's words, and words it as the other family's
 * clients expect: they shorten the conversation and retry.
 */
import { countOf } from "../usage/count.ts";
import type { ErrorFields } from "./error-fields.ts";
import { withoutQuotations } from "./quotations.ts";

/** ContextOverflow holds the refusal's words for either family. */
export interface ContextOverflow {
  readonly param: "messages";
  readonly openaiCode: "context_length_exceeded";
  /** The message in the form that Anthropic's clients know. */
  readonly vendorMessage: string;
}

/** Error codes and types. Servers without any say it in the message only. */
const codes: ReadonlySet<string> = new Set([
  ...["context_length_exceeded", "exceed_context_size_error", "contextwindowexceedederror", "context_window_exceeded"],
  ...["prompt_too_long", "tokens_limit_reached", "model_max_prompt_tokens_exceeded", "1261"],
  ...["model_context_window_exceeded", "tokens_limit_exceeded", "input_too_long"],
  "too_many_prompt_tokens", // Perplexity
]);

/** Anthropic's own message. */
const anthropic = /prompt is too long: [\d,]+ tokens|input length and `?max_tokens`? exceed context limit/i;

/**
 * Messages with counts. Groups: `sent` is the input, `most` the model's limit, `output` the output asked for, `all`
 * input and output together. `#` stands for a number.
 */
const counted: readonly RegExp[] = [
  // DeepSeek, OpenRouter, OpenAI's completions.
  "context length is (?<most>#) tokens.{0,40}you requested (?:about )?(?<all>#) tokens \\([^)]{0,100}?(?<output>#) (?:in|for) the (?:completion|output)",
  // vLLM, three of its versions.
  "context length is (?<most>#) tokens.{0,40}you requested (?<output>#) output tokens and your prompt contains (?:at least )?(?<sent>#)",
  "too large: (?<output>#)\\. this model's maximum context length is (?<most>#) tokens and your request has (?<sent>#)",
  "you passed (?<sent>#) input tokens and requested (?<output>#) output tokens.{0,100}?context length is only (?<most>#)",
  "decoder prompt \\(length (?<sent>#)\\) is longer than the maximum model length of (?<most>#)",
  // SGLang.
  "maximum context length of (?<most>#) tokens.{0,60}?total of (?<all>#) tokens: # tokens from the input messages and (?<output>#)",
  "input \\((?<sent>#) tokens\\) is longer than the model's context length \\((?<most>#)",
  // OpenAI, and many like it.
  "context length is (?<most>#) tokens.{0,120}?(?<sent>#) (?:input )?tokens",
  "configured limit of (?<most>#) tokens.{0,60}?resulted in (?<sent>#) tokens",
  // xAI, Google, Mistral, Moonshot.
  "maximum prompt length is (?<most>#) but the request contains (?<sent>#)",
  "input token count \\(?(?<sent>#)\\)? ?exceeds the maximum number of tokens allowed \\(?(?<most>#)",
  "prompt contains (?<sent>#) tokens.{0,120}?too large for model with (?<most>#) maximum context",
  "exceeded model token limit: (?<most>#) \\(requested: (?<sent>#)\\)",
  // Vertex AI, GitHub Copilot, SiliconFlow, TensorRT-LLM.
  "input token count is (?<sent>#) but (?:the )?model only supports up to (?<most>#)",
  "prompt token count of (?<sent>#) exceeds the limit of (?<most>#)",
  "length of prompt_tokens \\((?<sent>#)\\) must be less than max_seq_len \\((?<most>#)",
  "sum of prompt length \\((?<sent>#).{0,60}should not exceed max_num_tokens \\((?<most>#)",
  // TabbyAPI, DeepInfra, Volcengine, and others that compare two lengths.
  "(?:prompt|input|prefill) (?:length|tokens) \\(?(?<sent>#)\\)? (?:exceeds?|is (?:greater|longer|larger) than) .{0,40}?(?:length|len|context|limit|window)(?: of)? \\(?(?<most>#)",
  // llama.cpp, also of embeddings, whose text must fit into one batch; LM Studio.
  "\\((?<sent>#) tokens\\) exceeds the available context size \\((?<most>#)",
  "input \\((?<sent>#) tokens\\) is too large to process.{0,60}?batch size: (?<most>#)",
  "first (?<sent>#) tokens when context the overflows.{0,200}?context length of only (?<most>#)",
  "prompt has (?<sent>#) tokens, but the configured context size is (?<most>#)",
  "requested tokens \\((?<sent>#)\\) exceed context window of (?<most>#)",
  // Text Generation Inference and Together, Cohere, Anthropic through others.
  "must be <= (?<most>#)\\. given: (?<sent>#) `inputs` tokens and (?<output>#)",
  "`inputs` must have less than (?<most>#) tokens\\. given: (?<sent>#)",
  "tokens in the prompt cannot exceed (?<most>#) - received (?<sent>#)",
  "prompt is too long: (?<sent>#) tokens > (?<most>#)",
  // Any two counts of which one is said to be more.
  "(?<sent>#)(?: (?:input |prompt |total )?tokens)?\\)?,? (?:which )?(?:exceed(?:s|ing|ed)?|>|is (?:longer|greater|larger|more) than|is too (?:large|long)|over)(?![a-z]).{0,60}?(?<most>#)",
].map((pattern) => new RegExp(pattern.replaceAll("#", "\\d[\\d,]{0,14}"), "is"));

/** Messages without counts, or whose counts do not suffice. */
const uncounted = new RegExp(
  [
    "maximum (?:context|prompt) length|context[ _](?:length|window|size).{0,40}exceed",
    "exceeds? (?:the |this |available |model's |model )+.{0,20}context (?:length|window|size)",
    "(?:longer|greater) than the (?:model's )?(?:maximum model |context )length|context length is only \\d",
    "input token count.{0,40}exceeds the maximum number|exceeded model token limit|prompt exceeds max length",
    "range of input length should be|input tokens exceed the configured limit|exceeds? context limit",
    "prompt is too long|input is too long for requested model|reduce the length of the (?:messages|input|prompt)",
    "input token count \\+ max_tokens parameter must be|`?inputs`? (?:tokens \\+ `?max_new_tokens`? must be|must have less than)",
    "(?:too many tokens|number of tokens).{0,60}cannot exceed \\d",
    "(?:prompt|inputs?|conversation|prompt tokens?|input tokens?) (?:is |are )?too (?:long|large)",
    "too many tokens: size limit exceeded|total length of (?:all |the )*messages is too long",
    "(?:contains|has) too many tokens|too many (?:input|prompt) tokens|contextwindowexceeded",
    "max(?:imum)? context (?:length|window|size)|(?:longer|greater|larger) than (?:the |model's )*(?:max )?context",
    "exceeds? (?:the )?max(?:imum)?[ _](?:message|input|prompt|context|seq|model|num|total)[ _](?:tokens|length|len)",
    "(?:greater|longer|less) than max_(?:seq|model)_len|not exceed max_num_tokens|max tokens of \\d[\\d,]{0,14} exceeded",
    "(?:prompt|input|message|total)(?: message)? (?:tokens?|length|token (?:count|length)).{0,20} exceeds? (?:the |model )*(?:maximum|limit|model|context)",
    "^token count exceeds|number of input tokens.{0,20} exceeds|input token count is \\d|prompt token count of \\d",
    "tokens?.{0,12}exceeds? context window|tokens, the (?:model's )?context window is \\d",
    "(?:上下文|输入|提示词?)(?:的)?(?:长度|窗口| ?tokens?)? ?(?:超过|超出|过长|太长)|tokens? ?(?:超过|超出)(?:了)?(?:最大|限制|上限)",
  ].join("|"),
  "is",
);

/**
 * excessive finds the messages of which no server is known, by their parts: what is too long, that it is so, and of what. `excess` stands
 * for the second.
 */
const excessive = new RegExp(
  [
    "context[ _-]?(?:window|length|size|limit)\\b.{0,80}?(?:excess|\\breached\\b|\\b(?:you|your request) (?:requested|used)\\b)",
    "excess.{0,80}?(?:\\bcontext\\b|\\bn_ctx\\b|\\bmax_(?:seq|model|input|prompt)_len)",
    "\\b(?:prompts?|prompt_tokens|inputs?|input_tokens|messages|conversation|chat history|requests?|sequence length|token(?:s| count))\\b.{0,60}?excess",
    "max_(?:seq|model)_len exceeded|\\bn_keep\\b.{0,20}>= n_ctx|\\b(?:maximum|model) context (?:limit )?(?:was |is |has been )?reached",
    "\\btokens?\\b.{0,20}\\blimit (?:was |is |has been )?exceeded|\\bover the \\d[\\d,]* token limit|requires \\d[\\d,]* tokens, but",
  ]
    .join("|")
    .replaceAll(
      "excess",
      "(?:\\bexceed(?:s|ed|ing)?\\b|\\btoo (?:long|large|many)\\b|\\b(?:longer|greater|larger|more) than\\b|\\bdoes(?: not|n.t) fit\\b|(?<!-)>(?!=)|\\bbut the model only supports\\b)",
    ),
  "is",
);

/** isOfTokens is what such a message speaks of: other things may be too long as well. */
const isOfTokens =
  /\btokens?\b|_tokens\b|\bprompts?\b|\bcontext\b|\bconversation\b|\bchat history\b|\b(?:input|sequence) length\b|max_(?:seq|model)_len/i;

/** ofSomethingElse are the limits of a while, of money, of the output and of credentials. */
const ofSomethingElse =
  /\b(?:rate|quota|throttl\w*|concurren\w*|daily|hourly|weekly|monthly|budget|credits?|balance|wait|plan|subscription|usage limit|score|blocked|took|timed? ?out|seconds?|logit_bias)\b|\bper[ _-](?:second|minute|min|hour|day|week|month)\b|\/(?:min|day)\b|\b(?:api|access|bearer|auth\w*|refresh|id) token|\bcharacters?\b|\bimages?\b|\baudio\b|\bfiles?\b|\btools?\b/i;
const ofOutput =
  /max_(?:completion_|output_|new_)?tokens|(?:output|completion|generated|reasoning|thinking)[ _](?:tokens?|length)/i;
const ofInput = /prompt|input|messages\b|context/i;

/** leavesNothing finds vLLM's message where the prompt is longer than the model's window, so that less than no token is left for the output. */
const leavesNothing = /max_(?:completion_|output_|new_)?tokens.{0,60}(?:got |\(|= ?)-\d/is;

const chinese =
  /(?:上下文|输入|提示词?|prompt|对话|tokens?|文本)[^。，\n]{0,16}(?:超过|超出|超限|超长|过长|太长)|(?:超过|超出)[^。，\n]{0,12}(?:上下文|最大输入|最大 ?tokens?)/i;
const chineseOther = /频率|每分钟|每秒|每天|限流|余额|额度|配额|次数|并发|输出|图片|音频|文件/;

/** The characters of a message that are searched for its parts. */
const lookedAtInParts = 500;

function saysExcess(whole: string): boolean {
  const message = withoutQuotations(whole.slice(0, lookedAtInParts));
  if (leavesNothing.test(message)) return true;
  if (chinese.test(message) && !chineseOther.test(message)) return true;
  if (!isOfTokens.test(message) || ofSomethingElse.test(message)) return false;
  return excessive.test(message) && (!ofOutput.test(message) || ofInput.test(message.replaceAll(/max_input/gi, "")));
}

/** Limits on tokens a minute, or on the output alone, do not concern the conversation. */
const another =
  /tokens per (?:second|minute|hour|day)|\bTPM\b|(?<!input and )maximum output|max_tokens.{0,60}must be less than or equal/is;

/** Characters of a message that are searched: the patterns may take quadratic time. */
const lookedAt = 2000;

/** readOverflow returns undefined for any other error. */
export function readOverflow(words: ErrorFields): ContextOverflow | undefined {
  const message = (words.message ?? "").slice(0, lookedAt);
  const isNamed = words.codes.some((code) => codes.has(`${code}`.toLowerCase()));
  if (!isNamed && (another.test(message) || !saysOverflow(message))) return undefined;
  return { param: "messages", openaiCode: "context_length_exceeded", vendorMessage: vendorMessage(words, message) };
}

function saysOverflow(message: string): boolean {
  return (
    uncounted.test(message) || saysExcess(message) || counted.slice(0, -1).some((pattern) => pattern.test(message))
  );
}

function vendorMessage(words: ErrorFields, message: string): string {
  const own = message.search(anthropic);
  if (own !== -1) return message.slice(own);
  const { sent, most, output } = countsIn(words, message);
  if (sent === undefined || most === undefined) return `prompt is too long: ${message}`;
  if (sent > most) return `prompt is too long: ${sent} tokens > ${most} maximum`;
  if (output === undefined) return `prompt is too long: ${message}`;
  const remedy = "decrease input length or `max_tokens` and try again";
  return `input length and \`max_tokens\` exceed context limit: ${sent} + ${output} > ${most}, ${remedy}`;
}

interface CountsIn {
  readonly sent?: number | undefined;
  readonly most?: number | undefined;
  readonly output?: number | undefined;
}

function countsIn({ error }: ErrorFields, message: string): CountsIn {
  // llama.cpp has the counts beside its message.
  const reported = { sent: countOf(error.n_prompt_tokens), most: countOf(error.n_ctx) };
  if (reported.sent !== undefined && reported.most !== undefined) return reported;
  for (const pattern of counted) {
    const groups = pattern.exec(message)?.groups;
    if (groups) return countsOf(groups);
  }
  return {};
}

function countsOf({ sent, most, output, all }: { readonly [group: string]: string | undefined }): CountsIn {
  const out = numberOf(output);
  const together = numberOf(all);
  const input = together === undefined ? numberOf(sent) : together - (out ?? 0);
  return { sent: input, most: numberOf(most), output: out };
}

function numberOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits.replaceAll(",", ""));
}
