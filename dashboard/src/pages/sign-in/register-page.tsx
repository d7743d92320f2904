/** Creates a user: by invitation, or for everybody if registration is open. */
import { useMutation } from "@connectrpc/connect-query";
import { Anchor, Text } from "@mantine/core";
import { Link, useNavigate } from "@tanstack/react-router";
import { LinkKind, SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { BareFrame } from "../../frame/bare-frame.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Waiting } from "../../parts/answer.tsx";
import { Registration, useSession } from "../../session.tsx";
import { useLink } from "./link.ts";
import { type NewUser, NewUserForm } from "./new-user-form.tsx";
import { NoLink, OpenLink } from "./open-link.tsx";

const said = texts(
  {
    title: "Create your account",
    action: "Register",
    have: "Registered already?",
    signIn: "Sign in",
    needs: "Registration needs an invitation",
    needsWhy: "Ask the operator of the gateway to invite you, and open the link that you get.",
    closed: "Registration is closed",
    closedWhy: "Nobody can register here at the moment. Ask the operator of the gateway.",
  },
  {
    title: "注册账户",
    action: "注册",
    have: "已有账户？",
    signIn: "登录",
    needs: "注册需要邀请",
    needsWhy: "请联系网关管理员获取邀请，并打开收到的链接。",
    closed: "注册已关闭",
    closedWhy: "目前无法在此注册。请联系网关管理员。",
  },
);

export function RegisterPage() {
  const t = useTexts(said);
  const link = useLink();
  const { refresh, registration } = useSession();
  const navigate = useNavigate();
  const register = useMutation(SessionService.method.register, {
    onSuccess: async () => {
      link.setUsed(true);
      await refresh();
      await navigate({ to: "/", replace: true });
    },
  });
  const form = (of: { readonly email?: string | undefined; readonly accountName?: string | undefined }) => (
    <NewUserForm
      email={of.email}
      accountName={of.accountName}
      action={t.action}
      busy={register.isPending}
      error={register.error}
      onSubmit={(user: NewUser) => register.mutate({ ...user, ...(link.secret ? { link: link.secret } : {}) })}
    />
  );
  return <BareFrame title={t.title}>{link.used ? <Waiting lines={3} /> : body()}</BareFrame>;

  function body() {
    if (registration === Registration.CLOSED) return <NoLink title={t.closed}>{t.closedWhy}</NoLink>;
    if (link.secret) {
      return (
        <OpenLink link={link} kind={LinkKind.INVITATION}>
          {form}
        </OpenLink>
      );
    }
    if (registration !== Registration.OPEN) return <NoLink title={t.needs}>{t.needsWhy}</NoLink>;
    return (
      <>
        {form({})}
        <Text size="sm">
          {t.have}{" "}
          <Anchor component={Link} to="/sign-in" underline="always">
            {t.signIn}
          </Anchor>
        </Text>
      </>
    );
  }
}
