/**
 * Tells in Chinese why a call was refused. The gateway keeps the English message of a refused call, and no parameters beside it, so the
 * message is read. What is not known here stays as it is; a test holds that no message which the gateway keeps is unknown.
 */

/** whose tells in Chinese whose a limit is, by the name that messages have for it. */
const whose: ReadonlyMap<string, string> = new Map([
  ["the account", "账户"],
  ["the gateway", "网关"],
  ["the API key", "此密钥"],
  ["the account's balance", "账户余额"],
  ["the API key's credit limit", "密钥的消费上限"],
]);

/** named tells whose limit it is; a budget without its amount and its window, which the page of the key or the account has. */
function named(name: string): string {
  if (name.includes("'s budget")) return name.startsWith("the account") ? "账户预算" : "密钥预算";
  return whose.get(name) ?? name;
}

/** allowed tells a rate, as "600 requests a minute", which may be of one model or one RPC. */
function allowed(rate: string): string {
  const [, calls] = /^([\d,]+) calls? of this RPC a second$/.exec(rate) ?? [];
  if (calls !== undefined) return `每秒调用此 RPC ${calls} 次`;
  const [, count, what, family, model] =
    /^([\d,]+) (request|token)s? a minute(?: of (?:models of the family `(.+)`|the model `(.+)`))?$/.exec(rate) ?? [];
  if (count === undefined) return rate;
  const of = family === undefined ? (model === undefined ? "" : `模型 ${model} `) : `${family} 系列模型`;
  return `${of}每分钟 ${count} ${what === "request" ? "次请求" : "个 Token"}`;
}

/** unpriced are the parts of a request that may have no price, by the names that messages have for them. */
const unpriced: ReadonlyMap<string, string> = new Map([
  ["this service tier", "此服务等级"],
  ["this speed", "此速度模式"],
  ["a region", "指定区域"],
  ["web search", "网络搜索"],
]);

/** patterns are the messages that are known here, each with its text. */
const patterns: readonly (readonly [RegExp, (...parts: string[]) => string])[] = [
  [
    /^Rate limit reached: (.+?) is allowed (.+)\. Try again in (\d+) s\.$/,
    (name = "", rate = "", seconds = "") =>
      `达到速率限制：${named(name)}上限为${allowed(rate)}，请在 ${seconds} 秒后重试。`,
  ],
  [/^Too many attempts\. Try again in (\d+) s\.$/, (seconds) => `尝试次数过多，请在 ${seconds} 秒后重试。`],
  [
    /^This call needs at least ([\d.]+(?: [A-Z]+)?) and (-?[\d.]+(?: [A-Z]+)?) is left of (.+?)(?: until \S+)?\. (?:Wait|Recharge|Raise).*$/,
    (needed = "", left = "", name = "") => `此调用至少需要 ${needed}，而${named(name)}仅剩 ${left}。`,
  ],
  [
    /^This call may cost (.+), and no call can be held more than (.+) for\. .*$/,
    (cost, most) => `此调用可能花费 ${cost}，而一次调用最多可预留 ${most}。请减少输出，或减少回答的数量。`,
  ],
  [
    /^The API key has (\d+) calls? running, .*$/,
    (count) => `此密钥已有 ${count} 个调用正在进行，达到上限，请在其中之一结束后重试。`,
  ],
  [
    /^This API key may not be used from (?:the address )?(.+?)\. Have .*$/,
    (address) => `此密钥不能从 ${address === "this address" ? "此地址" : address} 使用。`,
  ],
  [/^The account of this API key is suspended\. .*$/, () => "此密钥所属的账户已被停用，请联系网关管理员。"],
  [/^Your account is suspended\. .*$/, () => "您的账户已被停用，请联系网关管理员。"],
  [/^You didn't provide an API key\. .*$/, () => "未提供 API 密钥。"],
  [/^Incorrect API key provided: .*$/, () => "API 密钥不正确：密钥不存在或已被撤销。"],
  [/^This API key is disabled\. .*$/, () => "此密钥已停用，请启用，或改用其他密钥。"],
  [/^This API key has expired\. .*$/, () => "此密钥已过期，请改用其他密钥。"],
  [/^This call needs the operator key, and the credential is not it\. .*$/, () => "此调用需要运营密钥，请检查凭据。"],
  [/^This call needs the operator key, and none is configured: .*$/, () => "此调用需要运营密钥，但尚未配置。"],
  [/^This call needs another credential: .*$/, () => "此凭据不能用于此调用。"],
  [/^The model `(.+)` has no price, and .*$/, (model) => `模型 ${model} 没有价格，而此密钥须预先付费。`],
  [
    /^The model `(.+)` has no price for `(.+)`, a tool .*$/,
    (model, tool) => `模型 ${model} 没有 ${tool} 的价格，该工具会调用另一个模型。请不要使用该工具。`,
  ],
  [
    /^The model `(.+)` has no price for (.+?)\. .*$/,
    (model, what = "") => `模型 ${model} 没有${unpriced.get(what) ?? ` ${what} `}的价格，请不要使用。`,
  ],
  [/^A form may have (\d+) bytes at most\. .*$/, (most) => `表单最多 ${most} 字节，请以 JSON 发送请求。`],
  [/^The request body is larger than the limit of (\d+) bytes\.$/, (most) => `请求体超过 ${most} 字节的上限。`],
  [/^The request expands to more than the limit of (\d+) bytes\.$/, (most) => `请求展开后超过 ${most} 字节的上限。`],
  [
    /^The request body becomes more than (\d+) times its length .*$/,
    (times) => `请求体解压后超过原长度的 ${times} 倍，请不要压缩。`,
  ],
  [
    /^The kept responses that '(.+)' refers to have more than (\d+) bytes\. .*$/,
    (field, most) => `字段 ${field} 引用的应答超过 ${most} 字节，请改为发送其中的条目。`,
  ],
  [
    /^The response is larger than the (\d+) bytes that are kept\. .*$/,
    (most) => `应答超过可保留的 ${most} 字节，请减少输出，或改用流式应答。`,
  ],
  [
    /^The request has a text with the character NUL .*$/,
    () => "请求中的文本含有 NUL 字符（U+0000），数据库无法保存，请去掉该字符。",
  ],
  [/^The request body did not arrive in time\. .*$/, () => "请求体未能及时到达，请重新发送。"],
  [
    /^The bodies of the requests that (.+) has under way take all the room .*$/,
    (name = "") => `${named(name)}正在处理的请求体已占满内存，请在 1 秒后重试。`,
  ],
  [
    /^The gateway has no memory for so long an answer .*$/,
    () => "网关目前没有足够的内存容纳这么长的回答，请在 1 秒后重试。",
  ],
  [
    /^The limit of background responses of (.+) is reached\. .*$/,
    (name = "") => `${named(name)}的后台应答数已达上限，请等待其中一些结束，或将其取消。`,
  ],
  [/^The gateway was stopped before the response was complete\. .*$/, () => "网关在应答完成之前停止运行，请重新请求。"],
  [
    /^The upstream of this model has as many calls as it may have\. Try again in (\d+) s\.$/,
    (seconds) => `该模型的上游并发调用已达上限，请在 ${seconds} 秒后重试。`,
  ],
  [/^The gateway cannot write to its storage at the moment\. .*$/, () => "网关暂时无法写入存储，请稍后重试。"],
  [
    /^Another gateway does not answer, and may have calls of this key: .*$/,
    () => "另一个网关没有响应，它可能有此密钥的调用，因此其费用未知。请在 1 秒后重试，或先停用此密钥。",
  ],
  [/^The gateway cannot count rates at the moment\. .*$/, () => "网关暂时无法统计速率，请稍后重试。"],
  [/^There is no answer to this request in the cache, .*$/, () => "缓存中没有此请求的应答，而请求只接受缓存。"],
];

export function refusedInChinese(message: string): string {
  for (const [pattern, tell] of patterns) {
    const found = pattern.exec(message);
    if (found) return tell(...found.slice(1).map((part) => part ?? ""));
  }
  return message;
}
