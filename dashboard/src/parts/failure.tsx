/**
 * Shows why something failed: in the reader's language if the reason is enough, else with the gateway's message; with
 * the request id, by which the operator finds it in the log.
 */
import { Alert, Button, Code, Group, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { conflictInChinese } from "../language/conflict-texts.ts";
import { texts, useLanguage, useTexts } from "../language/language.tsx";
import { useReasonText } from "../language/use-reason-text.ts";
import { Reason, type Refusal, refusalOf } from "../refusal.ts";

const said = texts(
  {
    title: "That did not work",
    again: "Try again",
    request: "Request",
    unreachable: "The gateway cannot be reached. Check your connection and try again.",
  },
  {
    title: "操作未成功",
    again: "重试",
    request: "请求 ID：",
    unreachable: "无法连接到网关。请检查网络后重试。",
  },
);

/** chinese are the reasons that need no further detail. Others have names and amounts in the message. */
const chinese: Partial<Record<Reason, string>> = {
  [Reason.SIGN_IN_FAILED]: "邮箱、密码或验证码不正确。",
  [Reason.SECOND_FACTOR_NEEDED]: "请输入身份验证器中的验证码，或一个恢复代码。",
  [Reason.SESSION_ENDED]: "您尚未登录，或登录已过期。",
  [Reason.ACCOUNT_SUSPENDED]: "您的账户已被停用，请联系网关管理员。",
  [Reason.LINK_INVALID]: "此链接无效、已被使用或已过期，请联系网关管理员获取新链接。",
  [Reason.REGISTRATION_CLOSED]: "此处不开放注册，请联系网关管理员。",
  [Reason.RATE_LIMITED]: "请求过于频繁，请稍后再试。",
  [Reason.UPSTREAM_BUSY]: "该模型的上游正忙，请稍后再试。",
  [Reason.GATEWAY_BUSY]: "网关繁忙，请稍后再试。",
  [Reason.STORAGE_UNAVAILABLE]: "网关暂时无法写入存储，请稍后再试。",
  [Reason.IDEMPOTENCY_RUNNING]: "使用同一 Idempotency-Key 的调用仍在进行，请稍后再试。",
  [Reason.NOT_CACHED]: "缓存中没有此请求的应答。",
  [Reason.INTERNAL]: "网关内部出错。报告问题时请附上请求 ID。",
};

/** useReasonMessage returns the message of a failure. */
export function useReasonMessage(): (refusal: Refusal) => string {
  const t = useTexts(said);
  const { language } = useLanguage();
  const tellConflict = useReasonText(conflictInChinese);
  return ({ reason, message, requestId, conflict, parameters }) => {
    if (reason === Reason.UNSPECIFIED && requestId === "") return t.unreachable;
    if (reason === Reason.CONFLICT) return tellConflict({ reason: conflict, parameters, message });
    return (language === "zh-CN" ? chinese[reason] : undefined) ?? message;
  };
}

interface Props {
  readonly error: unknown;
  /** retry tries again. */
  readonly retry?: (() => void) | undefined;
}

export function Failure({ error, retry }: Props) {
  const t = useTexts(said);
  const tell = useReasonMessage();
  const refusal = refusalOf(error);
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={t.title} role="alert">
      <Text size="sm" style={{ overflowWrap: "anywhere" }}>
        {tell(refusal)}
      </Text>
      {refusal.requestId && (
        <Text size="xs" mt={4}>
          {t.request} <Code>{refusal.requestId}</Code>
        </Text>
      )}
      {retry && (
        <Group mt="sm">
          <Button size="xs" variant="default" onClick={retry}>
            {t.again}
          </Button>
        </Group>
      )}
    </Alert>
  );
}
