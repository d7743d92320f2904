/** The first step of the sign-in. */
import { Button, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useEffect, useRef } from "react";
import { texts, useTexts } from "../../language/language.tsx";
import { Password } from "../../parts/password.tsx";
import { Refused } from "./refused.tsx";

const said = texts(
  {
    email: "E-mail address",
    noEmail: "Enter your e-mail address",
    noPassword: "Enter your password",
    signIn: "Sign in",
  },
  { email: "邮箱", noEmail: "请输入邮箱", noPassword: "请输入密码", signIn: "登录" },
);

export interface Credentials {
  readonly email: string;
  readonly password: string;
}

interface Props {
  readonly busy: boolean;
  readonly error: unknown;
  /** email is who signs in, where that is known. */
  readonly email?: string;
  readonly onSubmit: (credentials: Credentials) => void;
}

export function PasswordForm({ busy, error, email: known, onSubmit }: Props) {
  const t = useTexts(said);
  const form = useForm({
    initialValues: { email: known ?? "", password: "" },
    validate: {
      email: (value) => (value.trim() ? null : t.noEmail),
      password: (value) => (value ? null : t.noPassword),
    },
  });
  const first = useRef<HTMLInputElement>(null);
  useEffect(() => first.current?.focus(), []);
  return (
    <form onSubmit={form.onSubmit(({ email, password }) => onSubmit({ email: email.trim(), password }))} noValidate>
      <Stack>
        <Refused error={error} />
        <TextInput
          {...(known === undefined ? { ref: first } : { readOnly: true, variant: "filled" })}
          label={t.email}
          type="email"
          autoComplete="username"
          required
          withAsterisk={false}
          {...form.getInputProps("email")}
        />
        <Password
          {...(known === undefined ? {} : { ref: first, "data-autofocus": true })}
          required
          withAsterisk={false}
          {...form.getInputProps("password")}
        />
        <Button type="submit" loading={busy} fullWidth>
          {t.signIn}
        </Button>
      </Stack>
    </form>
  );
}
