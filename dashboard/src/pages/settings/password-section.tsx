/** Changes the password. */
import { useMutation } from "@connectrpc/connect-query";
import { Button, Group, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { SessionService } from "../../../../gen/modelgateway/v1/sessions_pb.ts";
import { texts, useTexts } from "../../language/language.tsx";
import { Failure } from "../../parts/failure.tsx";
import { notify } from "../../parts/notify.ts";
import { Password, useNewPasswordCheck } from "../../parts/password.tsx";
import { Section } from "../../parts/section.tsx";
import { Reason, refusalOf } from "../../refusal.ts";
import { useUser } from "../../session.tsx";
import { useForgetSessions } from "./forget.ts";
import { ownSections } from "./own-sections.ts";

const said = texts(
  {
    title: ownSections.en.password,
    about: "Changing it ends all your other sessions.",
    current: "Current password",
    fresh: "New password",
    none: "Enter your current password",
    wrong: "This is not your password",
    action: "Change password",
    done: "Your password is changed",
  },
  {
    title: ownSections["zh-CN"].password,
    about: "修改密码后，您的其他登录会话都会结束。",
    current: "当前密码",
    fresh: "新密码",
    none: "请输入当前密码",
    wrong: "当前密码不正确",
    action: "修改密码",
    done: "密码已修改",
  },
);

export function PasswordSection() {
  const t = useTexts(said);
  const user = useUser();
  const checkPassword = useNewPasswordCheck();
  const forgetSessions = useForgetSessions();
  const form = useForm({
    initialValues: { current: "", password: "" },
    validate: { current: (value) => (value ? null : t.none), password: checkPassword },
  });
  const change = useMutation(SessionService.method.changePassword, {
    onSuccess: () => {
      form.reset();
      notify(t.done);
      return forgetSessions();
    },
    onError: (error) => {
      if (isWrong(error)) form.setFieldError("current", t.wrong);
    },
  });
  return (
    <Section id="password" title={t.title} about={t.about}>
      <form onSubmit={form.onSubmit((values) => change.mutate(values))} noValidate>
        <Stack maw={400}>
          {/* Password managers keep the password under what stands in this field. */}
          <input type="text" hidden readOnly autoComplete="username" value={user.email} />
          <Password label={t.current} required withAsterisk={false} {...form.getInputProps("current")} />
          <Password label={t.fresh} fresh required withAsterisk={false} {...form.getInputProps("password")} />
          {change.error && !isWrong(change.error) && <Failure error={change.error} />}
          <Group>
            <Button type="submit" variant="default" loading={change.isPending}>
              {t.action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function isWrong(error: unknown): boolean {
  return refusalOf(error).reason === Reason.SIGN_IN_FAILED;
}
