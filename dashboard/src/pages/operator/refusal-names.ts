/** The reasons of refusals in plain language, by the names that the audit log has. */
import { texts, useTexts } from "../../language/language.tsx";

const said = texts(
  {
    SIGN_IN_FAILED: "wrong password or code",
    SECOND_FACTOR_NEEDED: "the code was missing",
    ACCOUNT_SUSPENDED: "the account is suspended",
    LINK_INVALID: "the link is not valid",
    REGISTRATION_CLOSED: "registration is closed",
    PERMISSION_DENIED: "not allowed",
    CONFLICT: "conflicts with what exists",
    IDEMPOTENCY_CONFLICT: "repeated with another request",
    RESOURCE_NOT_FOUND: "not found",
    INVALID_VALUE: "a value is wrong",
    INVALID_TYPE: "a value is wrong",
    MISSING_FIELD: "something is missing",
    SESSION_ENDED: "not signed in",
    INTERNAL: "the gateway failed",
    CROSS_SITE: "came from another site",
    ADDRESS_NOT_PERMITTED: "not from this address",
  },
  {
    SIGN_IN_FAILED: "密码或验证码错误",
    SECOND_FACTOR_NEEDED: "缺少验证码",
    ACCOUNT_SUSPENDED: "账户已停用",
    LINK_INVALID: "链接无效",
    REGISTRATION_CLOSED: "注册未开放",
    PERMISSION_DENIED: "没有权限",
    CONFLICT: "与现有内容冲突",
    IDEMPOTENCY_CONFLICT: "以不同内容重复提交",
    RESOURCE_NOT_FOUND: "对象不存在",
    INVALID_VALUE: "取值无效",
    INVALID_TYPE: "取值无效",
    MISSING_FIELD: "缺少必填项",
    SESSION_ENDED: "未登录",
    INTERNAL: "网关内部出错",
    CROSS_SITE: "来自其他网站",
    ADDRESS_NOT_PERMITTED: "不允许此地址",
  },
);

/** useRefusalNames returns the reason in plain language; its name if it has none. */
export function useRefusalNames(): (refused: string) => string {
  const names = new Map<string, string>(Object.entries(useTexts(said)));
  return (refused) => names.get(refused.toUpperCase()) ?? refused;
}
