/** The providers of LiteLLM's `litellm_params.model`, by the prefix of the model: where each is, and how the gateway asks it. */

import type { ServedBy } from "../served-by.ts";

/** Provider is one of them. */
export interface Provider extends ServedBy {
  /** address is the variable with its address where neither has one. */
  readonly address?: string;
  /** key is the variable that LiteLLM reads its key from where the configuration has none. */
  readonly key?: string;
  /** credential is the header for the key, where it is not `Authorization: Bearer`. */
  readonly credential?: string;
  /** prefix is put before the model's name where it lacks it. */
  readonly prefix?: string;
  /** completions is whether its models answer /v1/completions natively. */
  readonly completions?: "native";
  /** isFixed is whether an address of the configuration speaks another API than the default one. */
  readonly isFixed?: boolean;
}

const aws =
  "the gateway does not sign requests for AWS. Bedrock's OpenAI-compatible address takes a Bedrock API key: add it as an upstream of kind openai, or put a proxy that signs in front";
const google =
  "the gateway does not sign in to Vertex AI. Gemini models are served with a key of Google AI Studio (provider gemini)";
const own =
  "its API is not one that the gateway speaks. If the server also has an OpenAI-compatible address, write openai/ before the model and give that address as api_base";

const ollama: Provider = {
  vendor: "ollama",
  base_url: "http://localhost:11434/v1",
  key: "OLLAMA_API_KEY",
  keyIsOptional: true,
  suffix: "/v1",
};
const ai21: Provider = { base_url: "https://api.ai21.com/studio/v1", key: "AI21_API_KEY" };
const cohere: Provider = { base_url: "https://api.cohere.ai/compatibility/v1", key: "COHERE_API_KEY", isFixed: true };
const openai: Provider = { vendor: "openai", base_url: "https://api.openai.com/v1", key: "OPENAI_API_KEY" };
const azure: Provider = {
  vendor: "azure",
  key: "AZURE_API_KEY",
  address: "AZURE_API_BASE",
  credential: "api-key",
};

export const providers: ReadonlyMap<string, Provider> = new Map(
  Object.entries<Provider>({
    openai,
    "text-completion-openai": { ...openai, completions: "native" },
    custom_openai: { key: "OPENAI_API_KEY", address: "OPENAI_BASE_URL" },
    openai_like: { key: "OPENAI_LIKE_API_KEY", address: "OPENAI_LIKE_API_BASE", keyIsOptional: true },
    litellm_proxy: { key: "LITELLM_PROXY_API_KEY", address: "LITELLM_PROXY_API_BASE", keyIsOptional: true },
    azure,
    azure_text: { ...azure, completions: "native" },
    azure_ai: { key: "AZURE_AI_API_KEY", address: "AZURE_AI_API_BASE", credential: "api-key" },
    anthropic: {
      kind: "anthropic",
      vendor: "anthropic",
      base_url: "https://api.anthropic.com/v1",
      key: "ANTHROPIC_API_KEY",
      suffix: "/v1",
    },
    gemini: {
      vendor: "google",
      base_url: "https://generativelanguage.googleapis.com/v1beta/openai",
      key: "GEMINI_API_KEY",
      isFixed: true,
    },
    mistral: { vendor: "mistral", base_url: "https://api.mistral.ai/v1", key: "MISTRAL_API_KEY" },
    codestral: { vendor: "mistral", base_url: "https://codestral.mistral.ai/v1", key: "CODESTRAL_API_KEY" },
    deepseek: { vendor: "deepseek", base_url: "https://api.deepseek.com/v1", key: "DEEPSEEK_API_KEY" },
    xai: { vendor: "xai", base_url: "https://api.x.ai/v1", key: "XAI_API_KEY" },
    groq: { vendor: "groq", base_url: "https://api.groq.com/openai/v1", key: "GROQ_API_KEY" },
    together_ai: { vendor: "together", base_url: "https://api.together.xyz/v1", key: "TOGETHERAI_API_KEY" },
    openrouter: { vendor: "openrouter", base_url: "https://openrouter.ai/api/v1", key: "OPENROUTER_API_KEY" },
    moonshot: { vendor: "moonshot", base_url: "https://api.moonshot.ai/v1", key: "MOONSHOT_API_KEY" },
    dashscope: {
      vendor: "alibaba",
      base_url: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
      key: "DASHSCOPE_API_KEY",
    },
    zai: { vendor: "zai", base_url: "https://api.z.ai/api/paas/v4", key: "ZAI_API_KEY" },
    perplexity: { base_url: "https://api.perplexity.ai", key: "PERPLEXITYAI_API_KEY" },
    fireworks_ai: {
      base_url: "https://api.fireworks.ai/inference/v1",
      key: "FIREWORKS_API_KEY",
      prefix: "accounts/fireworks/models/",
    },
    cerebras: { base_url: "https://api.cerebras.ai/v1", key: "CEREBRAS_API_KEY" },
    deepinfra: { base_url: "https://api.deepinfra.com/v1/openai", key: "DEEPINFRA_API_KEY" },
    nvidia_nim: { base_url: "https://integrate.api.nvidia.com/v1", key: "NVIDIA_NIM_API_KEY" },
    sambanova: { base_url: "https://api.sambanova.ai/v1", key: "SAMBANOVA_API_KEY" },
    nebius: { base_url: "https://api.studio.nebius.ai/v1", key: "NEBIUS_API_KEY" },
    novita: { base_url: "https://api.novita.ai/v3/openai", key: "NOVITA_API_KEY" },
    hyperbolic: { base_url: "https://api.hyperbolic.xyz/v1", key: "HYPERBOLIC_API_KEY" },
    meta_llama: { base_url: "https://api.llama.com/compat/v1", key: "LLAMA_API_KEY" },
    volcengine: { base_url: "https://ark.cn-beijing.volces.com/api/v3", key: "VOLCENGINE_API_KEY" },
    friendliai: { base_url: "https://api.friendli.ai/serverless/v1", key: "FRIENDLI_TOKEN" },
    github: { base_url: "https://models.inference.ai.azure.com", key: "GITHUB_API_KEY" },
    ai21,
    ai21_chat: ai21,
    voyage: { base_url: "https://api.voyageai.com/v1", key: "VOYAGE_API_KEY" },
    jina_ai: { base_url: "https://api.jina.ai/v1", key: "JINA_AI_API_KEY" },
    cohere,
    cohere_chat: cohere,
    databricks: { address: "DATABRICKS_API_BASE", key: "DATABRICKS_API_KEY" },
    huggingface: { base_url: "https://router.huggingface.co/v1", key: "HF_TOKEN", suffix: "/v1" },
    hosted_vllm: { vendor: "vllm", address: "HOSTED_VLLM_API_BASE", key: "HOSTED_VLLM_API_KEY", keyIsOptional: true },
    ollama,
    ollama_chat: ollama,
    lm_studio: { vendor: "lmstudio", address: "LM_STUDIO_API_BASE", key: "LM_STUDIO_API_KEY", keyIsOptional: true },
    llamafile: { vendor: "llamacpp", base_url: "http://127.0.0.1:8080/v1", keyIsOptional: true },
    xinference: { base_url: "http://127.0.0.1:9997/v1", keyIsOptional: true },
    infinity: { address: "INFINITY_API_BASE", key: "INFINITY_API_KEY", keyIsOptional: true },
    bedrock: { refused: aws },
    bedrock_converse: { refused: aws },
    sagemaker: { refused: aws },
    sagemaker_chat: { refused: aws },
    vertex_ai: { refused: google },
    vertex_ai_beta: { refused: google },
    anthropic_text: {
      refused: "the old completions API of Anthropic is not spoken: use a newer Claude (provider anthropic)",
    },
    watsonx: { refused: own },
    snowflake: { refused: own },
    replicate: { refused: own },
    cloudflare: { refused: own },
    predibase: { refused: own },
    oci: { refused: own },
    sap: { refused: own },
    vllm: {
      refused: "LiteLLM ran it within its own process. Start `vllm serve`, and write hosted_vllm/ with its address",
    },
    petals: { refused: own },
    triton: { refused: own },
    nlp_cloud: { refused: own },
    aleph_alpha: { refused: own },
    baseten: { refused: own },
    clarifai: { refused: own },
    maritalk: { refused: own },
    github_copilot: { refused: "the gateway does not sign in to GitHub Copilot" },
    chatgpt: { refused: "the gateway does not sign in to ChatGPT: use a key of the API (provider openai)" },
  }),
);

/** bareNames are patterns for models without a prefix, with their providers. The first that matches holds. */
export const bareNames: readonly (readonly [name: RegExp, provider: string])[] = [
  [/^(?:gpt-3\.5-turbo-instruct|babbage-002|davinci-002)/, "text-completion-openai"],
  [/^(?:gpt-|o[1-9](?:-|$)|chatgpt-|ft:|text-embedding-(?:3|ada)|tts-|codex-|omni-|dall-e|whisper|sora)/, "openai"],
  [/^claude-(?:2|instant)/, "anthropic_text"],
  [/^claude-/, "anthropic"],
  [/^command-/, "cohere_chat"],
  [/^embed-/, "cohere"],
  [/^(?:gemini|text-bison|chat-bison|textembedding-gecko)/, "vertex_ai"],
  [/^(?:anthropic|amazon|meta|cohere|ai21)\./, "bedrock"],
  [/^(?:us|eu|apac)\.(?:anthropic|amazon|meta)\./, "bedrock"],
];
