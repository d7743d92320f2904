/** The types of new-api's channels, by their numbers: where each is, and how the gateway asks it. */

import type { ServedBy } from "../served-by.ts";

/** ChannelType is one of them. Its `base_url` is without `suffix`. */
export interface ChannelType extends ServedBy {
  /** name names the upstream. */
  readonly name: string;
}

const own =
  "its API is not one that the gateway speaks. If it has an OpenAI-compatible address, add it as an upstream of kind openai";
const media = "the gateway serves chat, embeddings and speech only. Let its clients call the service";
const aws = "the gateway does not sign requests for AWS. Bedrock's OpenAI-compatible address takes a Bedrock API key";
const google = "the gateway does not sign in to Vertex AI. Gemini models are served with a key of Google AI Studio";

export const channelTypes: ReadonlyMap<number, ChannelType> = new Map<number, ChannelType>([
  [1, { name: "openai", vendor: "openai", base_url: "https://api.openai.com", suffix: "/v1" }],
  [2, { name: "midjourney", refused: media }],
  [3, { name: "azure", vendor: "azure", suffix: "/openai/v1" }],
  [4, { name: "ollama", vendor: "ollama", base_url: "http://localhost:11434", suffix: "/v1", keyIsOptional: true }],
  [5, { name: "midjourney-plus", refused: media }],
  [6, { name: "openaimax", base_url: "https://api.openaimax.com", suffix: "/v1" }],
  [7, { name: "ohmygpt", base_url: "https://api.ohmygpt.com", suffix: "/v1" }],
  [
    8,
    {
      name: "custom",
      refused: "a channel of type Custom has whole addresses. Add it as an upstream, with base_url up to /v1",
    },
  ],
  [9, { name: "ails", base_url: "https://api.caipacity.com", suffix: "/v1" }],
  [10, { name: "aiproxy", base_url: "https://api.aiproxy.io", suffix: "/v1" }],
  [11, { name: "palm", refused: own }],
  [12, { name: "api2gpt", base_url: "https://api.api2gpt.com", suffix: "/v1" }],
  [13, { name: "aigc2d", base_url: "https://api.aigc2d.com", suffix: "/v1" }],
  [
    14,
    { name: "anthropic", kind: "anthropic", vendor: "anthropic", base_url: "https://api.anthropic.com", suffix: "/v1" },
  ],
  [15, { name: "baidu", refused: own }],
  [16, { name: "zhipu", refused: own }],
  [
    17,
    { name: "alibaba", vendor: "alibaba", base_url: "https://dashscope.aliyuncs.com", suffix: "/compatible-mode/v1" },
  ],
  [18, { name: "xunfei", refused: own }],
  [19, { name: "ai360", base_url: "https://api.360.cn", suffix: "/v1" }],
  [20, { name: "openrouter", vendor: "openrouter", base_url: "https://openrouter.ai/api", suffix: "/v1" }],
  [21, { name: "aiproxy-library", refused: own }],
  [22, { name: "fastgpt", base_url: "https://fastgpt.run/api/openapi", suffix: "/v1" }],
  [23, { name: "tencent", refused: own }],
  [
    24,
    {
      name: "google",
      vendor: "google",
      base_url: "https://generativelanguage.googleapis.com",
      suffix: "/v1beta/openai",
    },
  ],
  [25, { name: "moonshot", vendor: "moonshot", base_url: "https://api.moonshot.cn", suffix: "/v1" }],
  [26, { name: "zhipu-v4", vendor: "zai", base_url: "https://open.bigmodel.cn", suffix: "/api/paas/v4" }],
  [27, { name: "perplexity", base_url: "https://api.perplexity.ai" }],
  [31, { name: "lingyiwanwu", base_url: "https://api.lingyiwanwu.com", suffix: "/v1" }],
  [33, { name: "aws", refused: aws }],
  [34, { name: "cohere", base_url: "https://api.cohere.ai", suffix: "/compatibility/v1" }],
  [35, { name: "minimax", base_url: "https://api.minimax.chat", suffix: "/v1" }],
  [36, { name: "suno", refused: media }],
  [37, { name: "dify", refused: own }],
  [38, { name: "jina", base_url: "https://api.jina.ai", suffix: "/v1" }],
  [39, { name: "cloudflare", refused: own }],
  [40, { name: "siliconflow", base_url: "https://api.siliconflow.cn", suffix: "/v1" }],
  [41, { name: "vertex", refused: google }],
  [42, { name: "mistral", vendor: "mistral", base_url: "https://api.mistral.ai", suffix: "/v1" }],
  [43, { name: "deepseek", vendor: "deepseek", base_url: "https://api.deepseek.com", suffix: "/v1" }],
  [44, { name: "moka", base_url: "https://api.moka.ai", suffix: "/v1" }],
  [45, { name: "volcengine", base_url: "https://ark.cn-beijing.volces.com", suffix: "/api/v3" }],
  [46, { name: "qianfan", base_url: "https://qianfan.baidubce.com", suffix: "/v2" }],
  [47, { name: "xinference", suffix: "/v1", keyIsOptional: true }],
  [48, { name: "xai", vendor: "xai", base_url: "https://api.x.ai", suffix: "/v1" }],
  [49, { name: "coze", refused: own }],
  [50, { name: "kling", refused: media }],
  [51, { name: "jimeng", refused: media }],
  [52, { name: "vidu", refused: media }],
  [53, { name: "submodel", base_url: "https://llm.submodel.ai", suffix: "/v1" }],
  [54, { name: "doubao-video", refused: media }],
  [55, { name: "sora", refused: media }],
  [56, { name: "replicate", refused: own }],
  [57, { name: "codex", refused: "the gateway does not sign in to ChatGPT: use a key of the API" }],
]);
