/** Signs in with e-mail address and password, and a code if the user has a second factor. */
import { Alert, Anchor, Text } from "@mantine/core";
import { IconRocket } from "@tabler/icons-react";
import { getRouteApi, Link, Navigate, useRouter } from "@tanstack/react-router";
import { memo, useState } from "react";
import { BareFrame } from "../../frame/bare-frame.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Registration, useSession } from "../../session.tsx";
import { CodeForm } from "./code-form.tsx";
import { readDestination } from "./destination.ts";
import { PasswordForm } from "./password-form.tsx";
import { useSignIn } from "./use-sign-in.ts";

const said = texts(
  {
    title: "Sign in",
    second: "Second step",
    secondAbout: (email: string) => `The password of ${email} is right. One more step is needed.`,
    first: "The gateway waits for its first user",
    firstHow: "Open the link that the gateway printed when it started. It is in the terminal, or in the log.",
    new: "No account yet?",
    register: "Register",
    invitation: "No account yet? Ask the operator of the gateway for an invitation.",
  },
  {
    title: "登录",
    second: "两步验证",
    secondAbout: (email: string) => `${email} 的密码正确，还需要一步验证。`,
    first: "网关正在等待首个用户",
    firstHow: "请打开网关启动时打印的链接，可在终端或日志中找到。",
    new: "还没有账户？",
    register: "注册",
    invitation: "还没有账户？请联系网关管理员获取邀请。",
  },
);

const route = getRouteApi("/sign-in");

export function SignInPage() {
  const t = useTexts(said);
  const { to } = route.useSearch();
  const { user, hasEnded, awaitsSetUp, registration, refresh } = useSession();
  const { known, passwordForm, codeForm } = useSignIn(refresh);
  if (user && !hasEnded) return <GoOn wanted={to} />;
  if (known)
    return (
      <BareFrame title={t.second} about={t.secondAbout(known.email)}>
        <CodeForm {...codeForm} />
      </BareFrame>
    );
  return (
    <BareFrame title={t.title}>
      {awaitsSetUp && (
        <Alert color="indigo" icon={<IconRocket aria-hidden />} title={t.first}>
          {t.firstHow}
        </Alert>
      )}
      <PasswordForm {...passwordForm} />
      {registration === Registration.OPEN && (
        <Text size="sm">
          {t.new}{" "}
          <Anchor component={Link} to="/register" underline="always">
            {t.register}
          </Anchor>
        </Text>
      )}
      {registration === Registration.INVITATION && !awaitsSetUp && (
        <Text size="sm" c="dimmed">
          {t.invitation}
        </Text>
      )}
    </BareFrame>
  );
}

/** GoOn redirects once: while the other page loads, this component stays and renders again. */
const GoOn = memo(function GoOn({ wanted }: { readonly wanted: string | undefined }) {
  const { parseSearch } = useRouter().options;
  const [destination] = useState(() => readDestination(wanted, parseSearch));
  return <Navigate {...destination} replace />;
});
