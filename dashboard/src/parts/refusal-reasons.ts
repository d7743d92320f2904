/** Names the reasons for which calls are refused, in plain language, by the names of the reasons. */
import { texts, useLanguage, useTexts } from "../language/language.tsx";
import { refusedInChinese } from "../language/refused-texts.ts";

const said = texts(
  {
    RATE_LIMITED: "Rate limit",
    INSUFFICIENT_CREDIT: "No credit",
    BUDGET_EXCEEDED: "Budget spent",
    ADDRESS_NOT_PERMITTED: "Address not allowed",
    MODEL_NOT_FOUND: "No such model",
    MODEL_NOT_PERMITTED: "Model not allowed",
    MODEL_UNPRICED: "Model without a price",
    INVALID_API_KEY: "Key disabled or expired",
    PERMISSION_DENIED: "Another credential needed",
    ACCOUNT_SUSPENDED: "Account suspended",
    INVALID_VALUE: "Invalid value",
    INVALID_TYPE: "Invalid type",
    MISSING_FIELD: "Missing field",
    MALFORMED_BODY: "Unreadable body",
    UNSUPPORTED_MEDIA_TYPE: "Wrong content type",
    REQUEST_TOO_LARGE: "Request too large",
    REQUEST_TIMEOUT: "Body came too slowly",
    WOULD_BE_DROPPED: "A field would be dropped",
    PREVIOUS_RESPONSE_NOT_FOUND: "No such response",
    NOT_STORED: "Response not kept",
    RESOURCE_NOT_FOUND: "Not found",
    CONFLICT: "Conflict",
    IDEMPOTENCY_CONFLICT: "Repeated with another request",
    IDEMPOTENCY_RUNNING: "Repeated while it runs",
    UPSTREAM_BUSY: "Upstream's queue full",
    GATEWAY_BUSY: "Gateway busy",
    STORAGE_UNAVAILABLE: "Database away",
    NOT_CACHED: "Not in the cache",
    INTERNAL: "The gateway failed",
  },
  {
    RATE_LIMITED: "超出速率限制",
    INSUFFICIENT_CREDIT: "余额不足",
    BUDGET_EXCEEDED: "预算已用尽",
    ADDRESS_NOT_PERMITTED: "地址不允许",
    MODEL_NOT_FOUND: "没有此模型",
    MODEL_NOT_PERMITTED: "模型未授权",
    MODEL_UNPRICED: "模型没有价格",
    INVALID_API_KEY: "密钥已停用或过期",
    PERMISSION_DENIED: "需要其他凭据",
    ACCOUNT_SUSPENDED: "账户已停用",
    INVALID_VALUE: "取值无效",
    INVALID_TYPE: "类型无效",
    MISSING_FIELD: "缺少字段",
    MALFORMED_BODY: "请求体无法读取",
    UNSUPPORTED_MEDIA_TYPE: "内容类型错误",
    REQUEST_TOO_LARGE: "请求过大",
    REQUEST_TIMEOUT: "请求体到达过慢",
    WOULD_BE_DROPPED: "有字段会被丢弃",
    PREVIOUS_RESPONSE_NOT_FOUND: "没有此应答",
    NOT_STORED: "应答未保留",
    RESOURCE_NOT_FOUND: "对象不存在",
    CONFLICT: "冲突",
    IDEMPOTENCY_CONFLICT: "以不同内容重复提交",
    IDEMPOTENCY_RUNNING: "重复提交，原请求仍在进行",
    UPSTREAM_BUSY: "上游队列已满",
    GATEWAY_BUSY: "网关繁忙",
    STORAGE_UNAVAILABLE: "数据库不可用",
    NOT_CACHED: "缓存中没有",
    INTERNAL: "网关内部出错",
  },
);

/** useReasonNames returns the names of reasons; the reason itself where it has none. */
export function useReasonNames(): (reason: string) => string {
  const names = new Map<string, string>(Object.entries(useTexts(said)));
  return (reason) => names.get(reason) ?? reason;
}

const fields = texts(
  { field: (name: string) => `Field ${name} of the request` },
  { field: (name: string) => `请求的字段 ${name}` },
);

/**
 * useRefusedDetail returns what a call's detail is in words. Of a message that may quote the request only the field at fault is kept,
 * which has no spaces.
 */
export function useRefusedDetail(): (detail: string) => string {
  const t = useTexts(fields);
  const { language } = useLanguage();
  return (detail) => {
    if (detail === "" || detail.includes(" ")) return language === "zh-CN" ? refusedInChinese(detail) : detail;
    return t.field(detail);
  };
}

/** reasonWords are the reasons that have a name. */
export const reasonWords: readonly string[] = Object.keys(said.en);
