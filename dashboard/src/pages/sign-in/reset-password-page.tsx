/** Sets a new password by a one-time link. The user signs in with it afterwards: the second factor stays. */
import { useMutation } from "@connectrpc/connect-query";
import { Alert, Button, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { IconCheck } from "@tabler/icons-react";
import { Link } from "@tanstack/react-router";
import { LinkKind, SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { BareFrame } from "../../frame/bare-frame.tsx";
import { texts, useTexts } from "../../language/language.tsx";
import { Password, useNewPasswordCheck } from "../../parts/password.tsx";
import { useSession } from "../../session.tsx";
import { useLink } from "./link.ts";
import { OpenLink } from "./open-link.tsx";
import { Refused } from "./refused.tsx";

const said = texts(
  {
    title: "Set a new password",
    about: "This signs you out everywhere.",
    email: "E-mail address",
    password: "New password",
    action: "Set the password",
    done: "Your password is set. Sign in with it.",
    signIn: "Sign in",
  },
  {
    title: "设置新密码",
    about: "设置后，您在所有设备上的登录都会失效。",
    email: "邮箱",
    password: "新密码",
    action: "设置密码",
    done: "密码已设置，请使用新密码登录。",
    signIn: "登录",
  },
);

export function ResetPasswordPage() {
  const t = useTexts(said);
  const link = useLink();
  const { refresh } = useSession();
  const reset = useMutation(SessionService.method.resetPassword, {
    onSuccess: () => {
      link.setUsed(true);
      return refresh();
    },
  });
  const checkPassword = useNewPasswordCheck();
  const form = useForm({ initialValues: { password: "" }, validate: { password: checkPassword } });
  return (
    <BareFrame title={t.title} about={t.about}>
      {link.used ? (
        <Stack>
          <Alert color="teal" icon={<IconCheck aria-hidden />} role="status">
            {t.done}
          </Alert>
          <Button component={Link} to="/sign-in">
            {t.signIn}
          </Button>
        </Stack>
      ) : (
        <OpenLink link={link} kind={LinkKind.PASSWORD}>
          {({ email }) => (
            <form onSubmit={form.onSubmit(({ password }) => reset.mutate({ link: link.secret, password }))} noValidate>
              <Stack>
                <Refused error={reset.error} />
                {/* Password managers keep the password under what stands in this field. */}
                <TextInput label={t.email} value={email ?? ""} readOnly variant="filled" autoComplete="username" />
                <Password label={t.password} fresh required withAsterisk={false} {...form.getInputProps("password")} />
                <Button type="submit" loading={reset.isPending} fullWidth>
                  {t.action}
                </Button>
              </Stack>
            </form>
          )}
        </OpenLink>
      )}
    </BareFrame>
  );
}
