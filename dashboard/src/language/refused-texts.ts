/** Tells in Chinese why a call was refused, of which the gateway keeps the English message. What is not known here stays as it is. */

/** whose tells in Chinese whose a limit is, by the name that messages have for it. */
const whose: ReadonlyMap<string, string> = new Map([
  ["the account", "账户"],
  ["the API key", "此密钥"],
  ["the account's balance", "账户余额"],
  ["the API key's credit limit", "密钥的消费上限"],
]);

/** named tells whose limit it is; a budget without its amount and its window, which the page of the key or the account has. */
function named(name: string): string {
  if (name.includes("'s budget")) return name.startsWith("the account") ? "账户预算" : "密钥预算";
  return whose.get(name) ?? name;
}

/** allowed tells a rate, as "600 requests a minute". */
function allowed(rate: string): string {
  const [, count, what] = /^([\d,]+) (requests?|tokens?) a minute$/.exec(rate) ?? [];
  if (count === undefined) return rate;
  return what?.startsWith("request") ? `每分钟 ${count} 次请求` : `每分钟 ${count} 个 Token`;
}

/** patterns are the messages that are known here, each with its text. */
const patterns: readonly (readonly [RegExp, (...parts: string[]) => string])[] = [
  [
    /^Rate limit reached: (.+?) is allowed (.+)\. Try again in (\d+) s\.$/,
    (name = "", rate = "", seconds = "") =>
      `达到速率限制：${named(name)}上限为${allowed(rate)}，请在 ${seconds} 秒后重试。`,
  ],
  [
    /^This call needs at least ([\d.]+(?: [A-Z]+)?) and (-?[\d.]+(?: [A-Z]+)?) is left of (.+?)(?: until \S+)?\. (?:Wait|Recharge|Raise).*$/,
    (needed = "", left = "", name = "") => `此调用至少需要 ${needed}，而${named(name)}仅剩 ${left}。`,
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
];

export function refusedInChinese(message: string): string {
  for (const [pattern, tell] of patterns) {
    const found = pattern.exec(message);
    if (found) return tell(...found.slice(1).map((part) => part ?? ""));
  }
  return message;
}
