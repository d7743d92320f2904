/** Tells in the reader's language why an attempt at an upstream failed. The gateway keeps it in English; what is not known here stays so. */

/** chinese has the whole texts; what is a part of them stands in brackets in `patterns`. */
const chinese: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "it answered with an error": "上游应答了错误",
    "it broke off its answer": "上游中断了应答",
    "it broke off its answer by an error": "上游以错误中断了应答",
    "it cancelled its answer": "上游取消了应答",
    "its answer is empty": "上游的应答为空",
    "it answered without audio": "上游的应答没有音频",
    "its answer lacks vectors": "上游的应答缺少向量",
    "its answer is not over": "上游的应答尚未结束",
    "its answer is too large": "上游的应答过大",
    "its answer is far larger than what was sent of it": "上游的应答远大于实际传输的大小",
    "its answer cannot be read": "无法解析上游的应答",
    "its answer cannot be decompressed": "无法解压上游的应答",
    "its answer has a coding that nobody asked for": "上游的应答使用了未请求的编码",
    "its vectors cannot be read": "无法解析上游返回的向量",
    "it answered with a stream": "上游以流应答，而请求的不是流",
    "it did not answer with a stream": "上游没有以流应答",
    "it ended its answer without a response": "上游结束应答时没有给出结果",
    "it began another answer within one": "上游在一个应答之中又开始了另一个应答",
    "it went on with a tool call that had ended": "上游继续了已结束的工具调用",
    "it did not sum the conversation up": "上游没有总结对话",
    "it cannot be reached": "无法连接上游",
    "the connection to it broke": "与上游的连接中断",
    "it answered whole": "上游一次性应答，而请求的是流",
    "nobody waits for it": "已无人等待该应答",
    "the gateway is shutting down": "网关正在关闭",
    "the speech worker died": "语音工作线程已终止",
    "the text could not be spoken": "文本无法转为语音",
    "a simulated break of the answer": "模拟的应答中断",
    "a simulated break of the stream": "模拟的流中断",
    "it did not answer in time": "上游未及时应答",
    "it rejected the request": "上游认为请求有误而拒绝",
    "another attempt was quicker": "另一次尝试更快返回",
    "it has as many calls as it may have": "上游的并发调用已达上限",
  }),
);

const patterns: readonly (readonly [RegExp, (...parts: string[]) => string])[] = [
  [/^it answered with status (\d+)$/, (status) => `上游返回状态码 ${status}`],
  [/^no connection in ([\d.]+) s$/, (seconds) => `${seconds} 秒内未能建立连接`],
  [/^no answer in ([\d.]+) s$/, (seconds) => `${seconds} 秒内没有应答`],
  [/^nothing more of its answer in ([\d.]+) s$/, (seconds) => `${seconds} 秒内没有后续内容`],
  [/^no end of its answer in ([\d.]+) s$/, (seconds) => `${seconds} 秒内应答未结束`],
  [/^no end of its answer within `x-gateway-timeout`$/, () => "在 x-gateway-timeout 内应答未结束"],
  [/^it serves no (.+)$/, (operation) => `上游不提供 ${operation}`],
];

/** failureText returns the text in a language. An error's code, such as ECONNRESET, stays behind it in brackets. */
export function failureText(text: string, language: string): string {
  if (language !== "zh-CN") return text;
  const [, words = text, code] = /^(.*?)(?: \(([A-Z_0-9]+)\))?$/.exec(text) ?? [];
  const aside = code === undefined ? "" : `（${code}）`;
  const whole = chinese.get(words);
  if (whole !== undefined) return `${whole}${aside}`;
  for (const [pattern, tell] of patterns) {
    const found = pattern.exec(words);
    if (found) return `${tell(...found.slice(1))}${aside}`;
  }
  return text;
}
