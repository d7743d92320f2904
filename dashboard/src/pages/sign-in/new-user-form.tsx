/** The form of a new user: e-mail address, account name, password. Values set by the link cannot be changed. */
import { Button, Stack, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { texts, useTexts } from "../../language/language.tsx";
import { Password, useNewPasswordCheck } from "../../parts/password.tsx";
import { Refused } from "./refused.tsx";

const said = texts(
  {
    email: "E-mail address",
    fixed: "The invitation is for this address",
    noEmail: "Enter an e-mail address, such as name@example.com",
    account: "Account name",
    accountHint: "Your organisation or yourself. Leave it empty to use your e-mail address.",
    joins: "You join this account",
    longName: "Use at most 200 characters",
  },
  {
    email: "邮箱",
    fixed: "邀请仅适用于此邮箱",
    noEmail: "请输入邮箱地址，例如 name@example.com",
    account: "账户名称",
    accountHint: "您的组织或个人名称。留空则使用您的邮箱。",
    joins: "您将加入此账户",
    longName: "请使用不超过 200 个字符",
  },
);

export interface NewUser {
  readonly email: string;
  readonly password: string;
  readonly accountName?: string;
}

interface Props {
  /** email is the address that the link is for. */
  readonly email?: string | undefined;
  /** accountName is the account that the link invites to. */
  readonly accountName?: string | undefined;
  readonly action: string;
  readonly busy: boolean;
  readonly error: unknown;
  readonly onSubmit: (user: NewUser) => void;
}

export function NewUserForm({ email, accountName, action, busy, error, onSubmit }: Props) {
  const t = useTexts(said);
  const checkPassword = useNewPasswordCheck();
  const form = useForm({
    initialValues: { email: email ?? "", accountName: accountName ?? "", password: "" },
    validate: {
      email: (value) => (/^[^\s@]+@[^\s@]+$/.test(value.trim()) ? null : t.noEmail),
      accountName: (value) => ([...value].length > 200 ? t.longName : null),
      password: checkPassword,
    },
  });
  const submit = form.onSubmit((values) => {
    const name = values.accountName.trim();
    onSubmit({
      email: values.email.trim(),
      password: values.password,
      ...(accountName === undefined && name !== "" ? { accountName: name } : {}),
    });
  });
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Refused error={error} />
        <TextInput
          label={t.email}
          type="email"
          autoComplete="username"
          required
          withAsterisk={false}
          readOnly={email !== undefined}
          variant={email === undefined ? "default" : "filled"}
          {...(email === undefined ? {} : { description: t.fixed })}
          {...form.getInputProps("email")}
        />
        <TextInput
          label={t.account}
          description={accountName === undefined ? t.accountHint : t.joins}
          autoComplete="organization"
          readOnly={accountName !== undefined}
          variant={accountName === undefined ? "default" : "filled"}
          {...form.getInputProps("accountName")}
        />
        <Password fresh required withAsterisk={false} {...form.getInputProps("password")} />
        <Button type="submit" loading={busy} fullWidth>
          {action}
        </Button>
      </Stack>
    </form>
  );
}
